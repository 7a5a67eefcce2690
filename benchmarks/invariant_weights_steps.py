"""Training steps of invariant networks, ours and written down the straightforward way, on the same draws.

The straightforward step resamples every filter for each transformation (torch.linalg.matrix_exp, affine_grid, grid_sample),
samples the output layer from one masked tensor of factors and takes the divergence from torch.distributions' formula by
autograd; its optimiser is the same. Images are random: the time of neither depends on what is in them.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from invariant_weights.basis import FourierBasis, ReLUBasis
from invariant_weights.head import GaussianHead
from invariant_weights.learner import InvariantWeights
from invariant_weights.network import InvariantNetwork
from invariant_weights.sampling import Stochastic
from invariant_weights.transformations import affine
from symlab.data.dataset import Dataset, Split
from symlab.trainer.batches import derived_generator
from symlab.trainer.protocol import Batch, TrainingPlan

BASES = {"rff": FourierBasis, "relu": ReLUBasis}
CLASSES = 10
TRAIN_SIZE = 60000


def random_data(count: int, side: int) -> Dataset:
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (count, 1, side, side), generator=generator).to(torch.uint8)
    split = Split(images, torch.randint(CLASSES, (count,), generator=generator))
    return Dataset("random", split, None, split, n_classes=CLASSES, mean=(0.0,), std=(1.0,))


def build(kind: str, batch: int, units: int, samples: int, side: int = 28) -> tuple[InvariantWeights, Batch]:
    torch.manual_seed(0)
    data = random_data(batch, side)
    basis = partial(BASES[kind], units=units)
    network = InvariantNetwork((1, side, side), CLASSES, basis, affine(0.2), Stochastic(samples), GaussianHead)
    learner = InvariantWeights(network, TrainingPlan(TRAIN_SIZE, batch, 1), data, 0)
    return learner, Batch(data.normalise(data.train.inputs), data.train.targets)


class PlainStep:
    """The same parameters as a learner's network, copied; ``step`` returns the loss and leaves gradients."""

    def __init__(self, learner: InvariantWeights):
        self.learner, network = learner, learner.model
        self.activate: Callable[[Tensor], Tensor] = torch.cos if isinstance(network.basis, FourierBasis) else torch.relu
        self.amplitude = network.basis.amplitude
        self.filters, self.bias = (
            nn.Parameter(part.detach().clone()) for part in (network.basis.filters, network.basis.bias)
        )
        learnt = isinstance(network.basis, ReLUBasis)
        self.filters.requires_grad_(learnt)
        self.bias.requires_grad_(learnt)
        self.eta = nn.Parameter(network.transformations.values().float())
        self.mean = nn.Parameter(network.head.weights().detach().clone())
        assert isinstance(network.head, GaussianHead)
        self.factor = nn.Parameter(torch.stack([factor.detach().clone() for factor in network.head.factors]))
        trained = [each for each in (self.filters, self.bias, self.eta, self.mean, self.factor) if each.requires_grad]
        self.optimizer = torch.optim.Adam(trained, lr=0.001, fused=True)

    def step(self, batch: Batch, number: int) -> float:
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss(batch, number)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def loss(self, batch: Batch, number: int) -> Tensor:
        noise = self.learner.model.noise(derived_generator(0, "transformations", "step", number)).float()
        tx, ty, turn, sx, sy, shear = (noise * self.eta).unbind(-1)
        zero = torch.zeros_like(tx)
        rows = [[sx, shear - turn, tx], [shear + turn, sy, ty], [zero, zero, zero]]
        matrices = torch.linalg.matrix_exp(torch.stack([torch.stack(row, -1) for row in rows], -2))[:, :2]
        sheet = self.filters.transpose(0, 1).expand(len(noise), -1, -1, -1)
        grid = functional.affine_grid(matrices, list(sheet.shape), align_corners=True)
        banks = functional.grid_sample(sheet, grid, align_corners=True)  # (S, H, h, w)
        products = banks.flatten(2) @ batch.inputs.flatten(1).T + self.bias[:, None]
        features = (self.amplitude * self.activate(products).mean(0)).T
        epsilon = torch.randn(1, *self.mean.shape, generator=derived_generator(0, "weights", "step", number))[0]
        lower = self.factor.tril()
        weights = self.mean + torch.einsum("ci,cij->cj", epsilon, lower)
        log_det = 2 * lower.diagonal(dim1=-2, dim2=-1).abs().log().sum()
        divergence = 0.5 * (lower.square().sum() + self.mean.square().sum() - self.mean.numel() - log_det)
        return functional.cross_entropy(features @ weights.T, batch.targets) + divergence / TRAIN_SIZE


def relative_difference(found: Tensor, expected: Tensor) -> float:
    return ((found - expected).norm() / expected.norm()).item()
