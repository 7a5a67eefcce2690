"""The equivariant linear layer y = W x + b with W rho_in(g) = rho_out(g) W and rho_out(g) b = b   (thesis, section 2.4).

    W = Q_W c    equivariant maps rho_in -> rho_out
    b = Q_b c    invariant elements of rho_out, which are the equivariant maps from a scalar to rho_out

At the start W is the projection of a random orthogonal matrix and b that of uniform numbers from [0, 1 / sqrt(size)).
Layout: (..., rep_in.size) -> (..., rep_out.size). ``forward_parts`` computes the same from parts to parts, one product for
each connected component: where even and odd tensors do not mix, half of W is zero and is not multiplied.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from emlp_rpp.networks.checks import check_input, check_matrix_size, check_representation
from emlp_rpp.networks.equivariant_matrix import EquivariantMatrix
from emlp_rpp.networks.parts import Parts, cut, join, part_shapes
from emlp_rpp.representations import Representation
from emlp_rpp.solver import Solutions


class EquivariantLinear(nn.Module):
    """An EmptyMapError where only zero is equivariant, unless ``allow_empty``; ``solutions`` shares bases between layers."""

    def __init__(
        self,
        rep_in: Representation,
        rep_out: Representation,
        *,
        solutions: Solutions | None = None,
        allow_empty: bool = False,
    ):
        super().__init__()
        self.rep_in, self.rep_out = check_representation(rep_in, "rep_in"), check_representation(rep_out, "rep_out")
        solutions = solutions or Solutions()
        maps = rep_in >> rep_out
        check_matrix_size(*maps.shape, solutions.options, f"the matrix of {maps}")
        self.weight = EquivariantMatrix(maps, solutions, allow_empty)
        self.bias = EquivariantMatrix(Representation.scalar(rep_in.group) >> rep_out, solutions, allow_empty=True)
        self._shapes_out = part_shapes(rep_out)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        rows, columns = self.weight.maps.shape
        self.weight.set_nearest(nn.init.orthogonal_(torch.empty(rows, columns)))
        self.bias.set_nearest(torch.rand(rows, 1) / rows**0.5)

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.rep_in)
        return functional.linear(x, self.weight(), self.bias().squeeze(1) if self.bias.rank else None)

    def dense(self) -> tuple[Tensor, Tensor]:
        """W (rep_out.size, rep_in.size) and b (rep_out.size,), linear in the coefficients."""
        return self.weight(), self.bias().squeeze(1)

    def multiplicities(self) -> dict[str, Tensor]:
        """The squared norm of W, or of b, for each coefficient that is 1 where all others are 0."""
        return {
            "weight.coefficients": self.weight.squared_scales(),
            "bias.coefficients": self.bias.squared_scales(),
        }

    def forward_parts(self, parts: Parts) -> Parts:
        components = self.weight.components
        weights = iter(self.weight.assemble([each for each in components if each[1]]))
        biases = self.bias.assemble([(outputs, (0,)) for outputs, _ in components])
        results: dict[int, Tensor] = {}
        for (outputs, inputs), bias in zip(components, biases):
            if inputs:
                y = torch.addmm(bias, next(weights), join([parts[entry] for entry in inputs]))
            else:
                y = bias.expand(-1, parts[0].shape[2])
            results.update(zip(outputs, cut(y, [self._shapes_out[output] for output in outputs])))
        return [results[output] for output in range(len(self._shapes_out))]
