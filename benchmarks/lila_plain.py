"""The gradient of LILA's objective in eta, written down the straightforward way: one graph through everything.

    objective = sum_n log p(y_n | f^(x_n; eta)) - 1/2 sum_blocks log det (1/rows A(eta) (x) G(eta) + delta I)

Transformations by torch.linalg.matrix_exp and affine_grid, one backward pass with a graph per class, factors of Eq. 15 from
what layers saw, log determinants by differentiable eigenvalues, and one call of autograd at the end. Its memory grows with
the data.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from lila.affine import AffineDistribution


def plain_copies(distribution: AffineDistribution, images: Tensor, noise: Tensor) -> Tensor:
    """(N, C, H, W), (N, S, 6) -> (N, S, C, H, W)."""
    tx, ty, rotation, sx, sy, shear = (noise.to(images) * distribution.eta.to(images)).flatten(0, 1).unbind(-1)
    zero = torch.zeros_like(tx)
    rows = [[sx, shear - rotation, tx], [shear + rotation, sy, ty], [zero, zero, zero]]
    matrices = torch.linalg.matrix_exp(torch.stack([torch.stack(row, -1) for row in rows], -2))
    repeated = images.repeat_interleave(noise.shape[1], 0)
    grid = functional.affine_grid(matrices[:, :2], list(repeated.shape), align_corners=True)
    return functional.grid_sample(repeated, grid, align_corners=True).unflatten(0, noise.shape[:2])


def plain_gradient(
    network: nn.Module,
    distribution: AffineDistribution,
    images: Tensor,
    targets: Tensor,
    noise: Tensor,
    precision: float,
) -> Tensor:
    """d objective / d eta (6,), with one prior precision for all weights."""
    layers = [module for module in network.modules() if isinstance(module, nn.Linear | nn.Conv2d)]
    seen: dict[nn.Module, tuple[Tensor, Tensor]] = {}

    def see(layer: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> None:
        seen[layer] = (given[0], output)

    handles = [layer.register_forward_hook(see) for layer in layers]
    copies = plain_copies(distribution, images, noise)
    logits = network(copies.flatten(0, 1)).unflatten(0, noise.shape[:2]).mean(1)
    for handle in handles:
        handle.remove()
    probabilities = logits.softmax(-1)
    outputs = [seen[layer][1] for layer in layers]
    arrived: list[list[Tensor]] = [[] for _ in layers]
    for index in range(logits.shape[1]):  # sum_c p_c (e_c - p)(e_c - p)^T = diag(p) - p p^T
        target = functional.one_hot(torch.tensor(index), logits.shape[1]).to(logits)
        signal = probabilities[:, index : index + 1].sqrt() * (target - probabilities)
        for kept, gradient in zip(arrived, torch.autograd.grad(logits, outputs, signal, create_graph=True), strict=True):
            kept.append(gradient.unflatten(0, noise.shape[:2]).sum(1))
    log_det = sum(
        _log_det(layer, seen[layer][0].unflatten(0, noise.shape[:2]).mean(1), gradients, precision)
        for layer, gradients in zip(layers, arrived, strict=True)
    )
    objective = -functional.cross_entropy(logits, targets, reduction="sum") - 0.5 * log_det
    return torch.autograd.grad(objective, distribution.eta)[0]


def _log_det(layer: nn.Module, inputs: Tensor, gradients: list[Tensor], precision: float) -> Tensor:
    """Of the blocks of weight and bias; inputs (N, ...) averaged, gradients (N, ...) of each class summed over copies."""
    if isinstance(layer, nn.Conv2d):
        rows = functional.unfold(inputs, layer.kernel_size).mT.flatten(0, 1)  # no padding, a stride of one
        by_position = torch.cat([gradient.flatten(2).mT.flatten(0, 1) for gradient in gradients])
        by_point = torch.cat([gradient.sum((2, 3)) for gradient in gradients])
    else:
        rows, by_position = inputs, torch.cat(gradients)
        by_point = by_position
    one = torch.ones(1, 1, dtype=torch.float64)
    weight = _eigenvalue_sum(rows.mT @ rows / len(rows), by_position.mT @ by_position, precision)
    return weight + _eigenvalue_sum(one, by_point.mT @ by_point, precision)


def _eigenvalue_sum(left: Tensor, right: Tensor, precision: float) -> Tensor:
    values = [torch.linalg.eigvalsh(matrix.double()).clamp(min=0) for matrix in (left, right)]
    return torch.log(torch.outer(*values) + precision).sum()
