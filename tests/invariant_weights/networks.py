"""Small invariant networks for tests."""

from functools import partial
from typing import Any

from invariant_weights.basis import FourierBasis, ReLUBasis
from invariant_weights.head import GaussianHead
from invariant_weights.network import InvariantNetwork
from invariant_weights.sampling import Stochastic
from invariant_weights.transformations import affine

BASES = {
    "rff": partial(FourierBasis, units=24, frequency_scale=0.5, amplitude=2.0),
    "relu": partial(ReLUBasis, units=24, amplitude=1.5),
}


def network(kind: str, input_shape: tuple[int, ...], n_outputs: int = 3, **changes: Any) -> InvariantNetwork:
    settings: dict[str, Any] = {
        "basis": BASES[kind],
        "transformations": affine(0.2),
        "sampler": Stochastic(4),
        "head": GaussianHead,
    }
    return InvariantNetwork(input_shape, n_outputs, **(settings | changes))
