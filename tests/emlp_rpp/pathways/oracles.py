"""Weight spaces as data, and their dense map T from parameters to weights, column by column."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from emlp_rpp.groups import SL, SO, Embedded, O, S
from emlp_rpp.networks import EquivariantLinear
from emlp_rpp.pathways import Convolution, Dense, GroupConvolution
from emlp_rpp.representations import Scalar, T, V
from symlab.groups import C1, C4, D4

SPACES: dict[str, Callable[[], nn.Module]] = {
    "dense": lambda: Dense((2, 3), (4,)),
    "convolution": lambda: Convolution((2, 4, 5), 2),
    "circular": lambda: Convolution((2, 4, 3), 2, padding="circular"),
    "strided": lambda: Convolution((1, 5, 4), 2, stride=2),
    "strided circular": lambda: Convolution((1, 6, 4), 2, stride=2, padding="circular"),
    "larger than the map": lambda: Convolution((1, 2, 1), 2, kernel_size=5),
    "p4": lambda: GroupConvolution(1, 1, 3, C4),
    "p4m, circular": lambda: GroupConvolution(1, 1, 3, D4, padding="circular"),
    "p4 of p4m": lambda: GroupConvolution(1, 1, 3, D4, C4),
    "p4 to translations": lambda: GroupConvolution(1, 1, 3, C4, C1),
    "lifting": lambda: GroupConvolution(2, 1, 4, D4, lifting=True),
    "O(3)": lambda: EquivariantLinear((2 * Scalar + 2 * V + T(2))(O(3)), (Scalar + V + T(2))(O(3))),
    "S(3)": lambda: EquivariantLinear((Scalar + 2 * V)(S(3)), (T(2) + V)(S(3))),
    "SL(3)": lambda: EquivariantLinear((Scalar + 2 * V)(SL(3)), (V + T(2))(SL(3))),
    "SO(3), only zero": lambda: EquivariantLinear((2 * V)(SO(3)), Scalar(SO(3)), allow_empty=True),
    "O(2) about z": lambda: EquivariantLinear((2 * V)(Embedded(O(2))), (Scalar + V)(Embedded(O(2)))),
}


def parameter_map(layer: nn.Module) -> Tensor:
    """T (size_out * size_in + size_out, parameters): the dense weights and biases of each unit vector of parameters."""
    parameters = list(layer.parameters())
    saved = [parameter.detach().clone() for parameter in parameters]
    columns = []
    with torch.no_grad():
        for chosen in parameters:
            for index in range(chosen.numel()):
                for parameter in parameters:
                    parameter.zero_()
                chosen.view(-1)[index] = 1.0
                columns.append(flat(*layer.dense()))
        for parameter, value in zip(parameters, saved):
            parameter.copy_(value)
    size = len(flat(*layer.dense()))
    return torch.stack(columns, 1) if columns else torch.zeros(size, 0, dtype=torch.float64)


def flat(weight: Tensor, bias: Tensor) -> Tensor:
    return torch.cat([weight.detach().reshape(-1), bias.detach().reshape(-1)])


def orthonormal_basis(layer: nn.Module) -> Tensor:
    """Q of the space that T spans, by singular vectors."""
    left, values, _ = torch.linalg.svd(parameter_map(layer), full_matrices=False)
    return left[:, values > 1e-10]
