"""A learnable distribution over affine transformations of weights, Eq. 3 (and 11).

    T = exp( sum_i epsilon_i eta_i G_i ),   epsilon ~ U[-1, 1]^6

Generators are those of App. E (``symlab.transformations.affine``). eta = 0: no invariance; eta_3 = pi: all rotations.
The sign of an entry does not matter, since epsilon is symmetric. Subsets of the generators (App. E) have functions of their
own: what is outside of the subset stays 0.

# Paper: softplus and tanh are named as optional constraints of eta that were not needed; there are none here.
"""

import math

import torch
from torch import Tensor, nn

from symlab.transformations.affine import GENERATORS, affine_maps, affine_reach, check_entries


class AffineTransformations(nn.Module):
    """``initial`` eta; entries that are not ``learnable`` keep it. Both in the order of ``GENERATORS``."""

    def __init__(self, initial: tuple[float, ...], learnable: tuple[bool, ...]):
        super().__init__()
        check_entries("initial", initial)
        check_entries("learnable", learnable)
        self.eta = nn.Parameter(torch.tensor(initial, dtype=torch.float64), requires_grad=any(learnable))
        self.learnable: Tensor
        self.register_buffer("learnable", torch.tensor(learnable), persistent=False)
        # Told from what the distribution was built with: an eta that is learnt may pass through zero.
        self.active = tuple(amount != 0 or learnt for amount, learnt in zip(initial, learnable, strict=True))

    def maps(self, noise: Tensor) -> Tensor:
        """epsilon (S, 6) -> the first two rows of T, (S, 2, 3), differentiable in the learnable entries of eta."""
        eta = torch.where(self.learnable, self.eta, self.eta.detach()).to(noise)
        return affine_maps(noise * eta)

    def values(self) -> Tensor:
        """eta (6,), a copy without a graph."""
        return self.eta.detach().clone()

    def describe(self, input_shape: tuple[int, ...]) -> dict[str, float]:
        """For logs: ``eta/<generator>``, and its reach in units that a person reads as ``invariance/<what>``."""
        values = self.values()
        entries = {f"eta/{name}": value for name, value in zip(GENERATORS, values.tolist(), strict=True)}
        if len(input_shape) == 1:  # points of the plane: nothing has a size in pixels
            return entries | {"invariance/rotation_degrees": math.degrees(abs(entries["eta/rotation"]))}
        reach = affine_reach(values, input_shape)  # in the order of the generators
        chosen = [item for item, is_active in zip(reach.items(), self.active, strict=True) if is_active]
        return entries | {f"invariance/{name}": value for name, value in chosen}


def _only(names: tuple[str, ...], initial: float, learned: bool) -> AffineTransformations:
    chosen = tuple(name in names for name in GENERATORS)
    return AffineTransformations(
        tuple(initial if each else 0.0 for each in chosen), tuple(learned and each for each in chosen)
    )


def unchanged() -> AffineTransformations:
    """No transformation at all: the network without invariances."""
    return _only((), 0.0, learned=False)


def rotation(degrees: float = 5.0, learned: bool = True) -> AffineTransformations:
    """Rotations by up to ``degrees`` in both directions, to start from or for good."""
    return _only(("rotation",), math.radians(degrees), learned)


def translation(initial: float = 0.05, learned: bool = True) -> AffineTransformations:
    """Translations along both axes; ``initial`` 1 is half of the image's width."""
    return _only(("translation_x", "translation_y"), initial, learned)


def scale(initial: float = 0.05, learned: bool = True) -> AffineTransformations:
    """Scalings along both axes, independent of each other, by exp(+-initial)."""
    return _only(("scale_x", "scale_y"), initial, learned)


def affine(initial: float = 0.05, learned: bool = True) -> AffineTransformations:
    """All six generators, each starting from the same amount."""
    return _only(GENERATORS, initial, learned)
