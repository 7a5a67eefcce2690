"""What tuning a prior by the marginal likelihood does, on 10,000 images of MNIST with a two-layer network.

Part 1: a network trained with prior precision 1; on it one KFAC-GGN fit, whose precisions (one per tensor) are tuned by Adam
from 1e-4 and from 1; the linearised predictive is compared at both starts and at the end, on 2,000 test images.
Part 2: the same network trained three times: with precision 1e-4, with 1, and with precisions learnt while training (a fit
and 20 steps every 5 epochs); the network's own test NLL on all 10,000 test images. No validation data are used anywhere.

`make example-laplace` writes docs/figures/prior_on_mnist.png and .csv.
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
TUNING_STEPS, PREDICTED = 200, 2_000


def batches(data: Dataset, order: Tensor) -> list[tuple[Tensor, Tensor]]:
    train = data.train
    return [(data.normalise(train.inputs[chosen]), train.targets[chosen]) for chosen in order.split(BATCH)]


def test_nll(model: nn.Module, data: Dataset) -> float:
    with torch.no_grad():
        return nn.functional.cross_entropy(model(data.normalise(data.test.inputs)), data.test.targets).item()


def tune(model: nn.Module, data: Dataset) -> tuple[dict[float, list[float]], dict[str, float]]:
    """Part 1: log p(D) / N over the prior steps from each start, and the predictive's test NLL at each precision."""
    size = len(data.train)
    inputs, targets = data.normalise(data.test.inputs[:PREDICTED]), data.test.targets[:PREDICTED]
    curves: dict[float, list[float]] = {}
    nll = {"network (MAP)": nn.functional.cross_entropy(model(inputs), targets).item()}
    for start in (1e-4, 1.0):
        prior = GaussianPrior(model, "tensor", start)
        laplace = Laplace.fit(model, Classification(), batches(data, torch.arange(size)), prior=prior)
        nll[f"precision {start:g}"] = nn.functional.nll_loss(laplace.predict(inputs).log(), targets).item()
        curves[start] = (laplace.optimise_prior(TUNING_STEPS).log_marginal_likelihood / size).tolist()
        nll[f"tuned from {start:g}"] = nn.functional.nll_loss(laplace.predict(inputs).log(), targets).item()
        falls = torch.tensor(curves[start]).diff().clamp(max=0).abs()
        print(
            f"from {start:g}: log p(D)/N {curves[start][0]:.4f} -> {curves[start][-1]:.4f}; "
            f"{int((falls > 0).sum())} of {TUNING_STEPS} steps fell, by at most {falls.max():.1e}",
            flush=True,
        )
    return curves, nll


def train(data: Dataset, precision: float, learn: bool) -> tuple[nn.Module, dict[str, list[float]]]:
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
    return model, history


def main() -> None:
    root = os.environ.get("SYMLAB_DATA", "data")
    data = build(Mnist(), root, train_size=10_000, class_balanced=True, normalisation="none")
    runs: dict[str, list[float]] = {}
    runs["precision 1e-4"] = train(data, 1e-4, learn=False)[1]["test_nll"]
    model, history = train(data, 1.0, learn=False)
    runs["precision 1"] = history["test_nll"]
    runs["learnt while training"] = train(data, 1.0, learn=True)[1]["test_nll"]
    curves, nll = tune(model, data)
    draw(curves, nll, runs)
    with (FIGURES / "prior_on_mnist.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["part", "prior", "test_nll"])
        writer.writerows(["linearised predictive, 2,000 test images", name, f"{value:.4f}"] for name, value in nll.items())
        writer.writerows(["network, 10,000 test images", name, f"{values[-1]:.4f}"] for name, values in runs.items())
    print((FIGURES / "prior_on_mnist.csv").read_text())


def draw(curves: dict[float, list[float]], nll: dict[str, float], runs: dict[str, list[float]]) -> None:
    FIGURES.mkdir(parents=True, exist_ok=True)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 3.6))
    for start, curve in curves.items():
        left.plot(curve, label=f"from precision {start:g}")
    left.set(xlabel="prior step on one fit", ylabel="log p(D) / N", title="Log marginal likelihood")
    left.legend()
    middle.barh(list(nll), list(nll.values()))
    middle.invert_yaxis()
    middle.set(xlabel="test NLL", title="Linearised predictive", xscale="log")
    for name, values in runs.items():
        right.plot(range(1, EPOCHS + 1), values, label=name)
    right.set(xlabel="epoch", ylabel="test NLL", title="The network itself")
    right.legend()
    figure.tight_layout()
    figure.savefig(FIGURES / "prior_on_mnist.png", dpi=110)


if __name__ == "__main__":
    main()
