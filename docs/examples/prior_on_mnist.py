"""What tuning a prior by the marginal likelihood does, on 10,000 images of MNIST with a two-layer network: ``make
example-laplace``.

The same network is trained three times: with prior precision 1e-4, with 1, and with one precision per tensor learnt while
training (every 5 epochs a KFAC-GGN fit and 20 Adam steps on the log precisions, starting from 1). No validation data are
used. Writes docs/figures/prior_on_mnist.png and .csv.
"""

import csv
import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from symlab.data.dataset import Dataset
from symlab.data.pipeline import build
from symlab.data.sources.mnist import Mnist
from symlab.kfac import Classification
from symlab.laplace import GaussianPrior, Laplace
from symlab.models import MLP

FIGURES = Path(__file__).resolve().parent.parent / "figures"
EPOCHS, BATCH, HIDDEN, EVERY, STEPS = 60, 250, 200, 5, 20


def batches(data: Dataset, order: Tensor) -> list[tuple[Tensor, Tensor]]:
    train = data.train
    return [(data.normalise(train.inputs[chosen]), train.targets[chosen]) for chosen in order.split(BATCH)]


def test_nll(model: nn.Module, data: Dataset) -> float:
    with torch.no_grad():
        return nn.functional.cross_entropy(model(data.normalise(data.test.inputs)), data.test.targets).item()


def train(data: Dataset, precision: float, learn: bool) -> dict[str, list[float]]:
    """Test NLL after every epoch, and the log marginal likelihood per data point before and after every prior step."""
    torch.manual_seed(0)
    model = MLP(data.input_shape, data.n_outputs, [HIDDEN])
    prior = GaussianPrior(model, "tensor", precision)
    size = len(data.train)
    weights = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(weights, EPOCHS)
    hyper = torch.optim.Adam(prior.parameters(), lr=0.1)
    history: dict[str, list[float]] = {"test_nll": [], "log_marginal_likelihood": [], "fits": []}
    for epoch in range(EPOCHS):
        for inputs, targets in batches(data, torch.randperm(size)):
            with torch.no_grad():
                decay = {name: prior.precision_of_parameter(name) / size for name, _ in model.named_parameters()}
            penalty = sum((decay[name] * p.square()).sum() / 2 for name, p in model.named_parameters())
            loss = nn.functional.cross_entropy(model(inputs), targets) + penalty
            weights.zero_grad()
            loss.backward()
            weights.step()
        schedule.step()
        history["test_nll"].append(test_nll(model, data))
        if (epoch + 1) % EVERY == 0:
            laplace = Laplace.fit(model, Classification(), batches(data, torch.arange(size)), prior=prior)
            history["fits"].append(len(history["log_marginal_likelihood"]))
            values = (
                laplace.optimise_prior(STEPS, optimizer=hyper).log_marginal_likelihood
                if learn
                else laplace.log_marginal_likelihood().detach().reshape(1)
            )
            history["log_marginal_likelihood"] += (values / size).tolist()
            print(
                f"precision {precision:g}{' learnt' if learn else ''}: epoch {epoch + 1:2d}  test NLL "
                f"{history['test_nll'][-1]:.4f}  log p(D)/N {history['log_marginal_likelihood'][-1]:.4f}",
                flush=True,
            )
    return history


def main() -> None:
    root = os.environ.get("SYMLAB_DATA", "data")
    data = build(Mnist(), root, train_size=10_000, class_balanced=True, normalisation="none")
    runs = {
        "precision 1e-4": train(data, 1e-4, learn=False),
        "precision 1": train(data, 1.0, learn=False),
        "learnt per tensor": train(data, 1.0, learn=True),
    }
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6))
    learnt = runs["learnt per tensor"]
    left.plot(learnt["log_marginal_likelihood"])
    for fit in learnt["fits"]:
        left.axvline(fit, color="0.85", linewidth=0.8, zorder=0)
    left.set(xlabel="prior step (a grey line: new fit, 5 epochs later)", ylabel="log p(D) / N", title="Learnt precisions")
    for name, run in runs.items():
        right.plot(range(1, EPOCHS + 1), run["test_nll"], label=name)
    right.set(xlabel="epoch", ylabel="test NLL", title="MNIST, 10,000 training images")
    right.legend()
    figure.tight_layout()
    figure.savefig(FIGURES / "prior_on_mnist.png", dpi=110)
    with (FIGURES / "prior_on_mnist.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["prior", "final_test_nll", "final_log_marginal_likelihood_per_point"])
        for name, run in runs.items():
            writer.writerow([name, f"{run['test_nll'][-1]:.4f}", f"{run['log_marginal_likelihood'][-1]:.4f}"])
    rises = torch.tensor(learnt["log_marginal_likelihood"]).diff()
    within = [i for i in range(len(rises)) if i + 1 not in learnt["fits"]]
    falls = rises[within].clamp(max=0).abs()
    print(
        f"within fits {int((falls > 0).sum())} of {len(within)} prior steps lowered log p(D)/N, by at most {falls.max():.1e}"
    )


if __name__ == "__main__":
    main()
