"""Augmentation by the group: each sample (x, y) of a batch becomes (rho_in(g) x, rho_out(g) y) with its own random g.

Elements are words, g = exp(sum_j a_j A_j) h_k1^p1 exp(..) ..., drawn for the whole batch at once and read in every
representation from its generators, as ``groups.Element`` is for one element. Coefficients a_j are normal with deviation
``spread``; powers p are uniform from -5 to 5.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from emlp_rpp.errors import InputSizeError
from emlp_rpp.groups import Group
from emlp_rpp.networks.checks import check_input, check_representation
from emlp_rpp.representations import Atom, Representation

_LARGEST_POWER = 5
_BOUNDED, _UNBOUNDED = (1.0, 4), (0.3, 2)  # spread and number of exponentials: four of rotations are close to uniform


@dataclass(frozen=True)
class RandomElements:
    """``coefficients`` (exponentials, batch, D); ``letters``, ``powers`` (letters, batch) of what follows them in turn."""

    coefficients: Tensor
    letters: Tensor
    powers: Tensor

    @classmethod
    def draw(
        cls, group: Group, count: int, generator: torch.Generator | None = None, spread: float | None = None
    ) -> "RandomElements":
        """``spread`` None: 1 where the exponentials are rotations, 0.3 where they grow without bound."""
        bounded = np.allclose(group.algebra, -group.algebra.conj().swapaxes(1, 2))
        usual, exponentials = _BOUNDED if bounded else _UNBOUNDED
        coefficients = torch.randn(exponentials, count, len(group.algebra), generator=generator, dtype=torch.float64)
        # more letters than the space is wide: permutations need many to mix
        shape = (2 * group.dimension if len(group.discrete) else 0, count)
        letters = torch.randint(max(1, len(group.discrete)), shape, generator=generator)
        powers = torch.randint(-_LARGEST_POWER, _LARGEST_POWER + 1, shape, generator=generator)
        return cls(coefficients * (usual if spread is None else spread), letters, powers)

    def matrices(self, atom: Atom) -> Tensor:
        """(batch, size, size), float64."""
        product = torch.eye(atom.size, dtype=torch.float64).expand(self.coefficients.shape[1], -1, -1)
        algebra, powers = torch.as_tensor(np.array(atom.algebra)), _powers(atom)
        for at in range(max(len(self.coefficients), len(self.letters))):
            if len(algebra) and at < len(self.coefficients):
                product = product @ torch.linalg.matrix_exp(torch.tensordot(self.coefficients[at], algebra, 1))
            if at < len(self.letters):
                product = product @ powers[self.letters[at], self.powers[at] + _LARGEST_POWER]
        return product

    def apply(self, representation: Representation, x: Tensor) -> Tensor:
        """rho(g_n) x_n for each row, (batch, size), factor by factor."""
        known: dict[Atom, Tensor] = {}
        parts, at = [], 0
        for copies, term in representation.summands:
            size = int(np.prod([atom.size for atom in term])) if term else 1
            part = x[:, at : at + copies * size].reshape(len(x), copies, *[atom.size for atom in term])
            for axis, atom in enumerate(term):
                if atom not in known:
                    known[atom] = self.matrices(atom).to(x)
                moved = part.movedim(axis + 2, 1)
                shape = moved.shape
                part = (known[atom] @ moved.flatten(2)).reshape(shape).movedim(1, axis + 2)
            parts.append(part.reshape(len(x), copies * size))
            at += copies * size
        return torch.cat(parts, dim=1)


def _powers(atom: Atom) -> Tensor:
    """h_i^p at [i, p + 5]."""
    exponents = range(-_LARGEST_POWER, _LARGEST_POWER + 1)
    tables = [np.stack([np.linalg.matrix_power(h, exponent) for exponent in exponents]) for h in atom.discrete]
    return torch.as_tensor(np.array(tables))


def transform_batch(
    x: Tensor,
    y: Tensor,
    rep_in: Representation,
    rep_out: Representation,
    generator: torch.Generator | None = None,
    spread: float | None = None,
) -> tuple[Tensor, Tensor]:
    """(batch, rep_in.size), (batch, rep_out.size) -> the same shapes, each row moved by its own element of the group."""
    check_representation(rep_in, "rep_in")._with(check_representation(rep_out, "rep_out"))
    check_input(x, rep_in)
    check_input(y, rep_out)
    if x.ndim != 2 or y.ndim != 2 or len(x) != len(y):
        raise InputSizeError(
            f"batches of shapes {tuple(x.shape)} and {tuple(y.shape)} do not fit: one row per sample in both"
        )
    elements = RandomElements.draw(rep_in.group, len(x), generator, spread)
    return elements.apply(rep_in, x), elements.apply(rep_out, y)
