"""Train a small network, fit a Laplace approximation, tune its prior, predict: python
docs/examples/laplace_in_20_lines.py"""

import torch
from sklearn.datasets import load_digits
from torch import nn

from symlab.kfac import Classification
from symlab.laplace import Laplace

digits = load_digits()
inputs, targets = torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target)
train, test = slice(0, 1200), slice(1200, None)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 50), nn.Tanh(), nn.Linear(50, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1 / 1200)  # the prior of precision 1
for _ in range(300):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(inputs[train]), targets[train]).backward()
    optimizer.step()

laplace = Laplace.fit(model, Classification(), [(inputs[train], targets[train])])
print(f"log marginal likelihood with precision 1: {laplace.log_marginal_likelihood().item():.1f}")
laplace.optimise_prior(steps=100)
print(f"with one tuned precision per layer:       {laplace.log_marginal_likelihood().item():.1f}")
for method in ("probit", "monte_carlo"):
    nll = nn.functional.nll_loss(laplace.predict(inputs[test], method).log(), targets[test])
    print(f"test NLL, {method}: {nll.item():.3f}")
print(f"test NLL of the network: {nn.functional.cross_entropy(model(inputs[test]), targets[test]).item():.3f}")
