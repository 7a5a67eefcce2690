"""Gated nonlinearities: Gated(v_a) = v_a sigmoid(s_a) for each tensor v_a with its gate s_a   (thesis, section 2.6).

Scalars and permutation representations are their own gates, entry by entry (swish); every other tensor has one extra scalar.
Layout: (..., rep_in.size) -> (..., rep.size) with ``rep_in`` = gates * Scalar + rep, gates in the order of their tensors.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from emlp_rpp.groups.permutations import as_signed_permutation
from emlp_rpp.networks.checks import check_input, check_representation
from emlp_rpp.networks.parts import Parts, join_parts, split_parts
from emlp_rpp.representations import Atom, Representation
from emlp_rpp.representations.representation import Term


def is_permutation(term: Term) -> bool:
    """Whether the group permutes the coordinates of this tensor product, so that a function may act on each of them."""
    return all(_permutes(atom) for atom in term)


def _permutes(atom: Atom) -> bool:
    signed = [as_signed_permutation(matrix) for matrix in atom.discrete]
    return not np.any(atom.algebra) and all(found is not None and bool((found[1] > 0).all()) for found in signed)


def with_gates(representation: Representation) -> Representation:
    """gates * Scalar + representation."""
    gates = sum(copies for copies, term in representation.summands if not is_permutation(term))
    return Representation(representation.group, [(gates, ()), *representation.summands])


class Gated(nn.Module):
    """``rep``: what comes out; ``rep_in``: what goes in."""

    def __init__(self, rep: Representation):
        super().__init__()
        self.rep_out = check_representation(rep, "rep")
        self.rep_in = with_gates(rep)
        self.gates = self.rep_in.size - rep.size
        self._own = [is_permutation(term) for _, term in rep.summands]
        self._gated_copies = [copies for (copies, _), own in zip(rep.summands, self._own) if not own]

    def forward(self, x: Tensor) -> Tensor:
        check_input(x, self.rep_in)
        return join_parts(self.forward_parts(split_parts(x, self.rep_in)), x)

    def forward_parts(self, parts: Parts) -> Parts:
        if not self.gates:
            return [functional.silu(part) for part in parts]
        tensors = parts[1:]
        gates = parts[0]
        if len(parts) == len(self._own):  # the gates are joined with the scalars that follow them
            gates, scalars = gates.split([self.gates, len(gates) - self.gates])
            tensors = [scalars, *tensors]
        openings = iter(torch.sigmoid(gates).split(self._gated_copies))
        return [functional.silu(tensor) if own else tensor * next(openings) for own, tensor in zip(self._own, tensors)]
