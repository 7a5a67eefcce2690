"""The shallow invariant network, Eqs. 1, 2 and 6, with transformations of its first layer's weights.

    phi(x; eta) = 1/S sum_s act( (W_1 T_s) x + b )  (H,),      f(x) = W_2 phi(x; eta)

The average over transformations is inside of the softmax; it is taken of the hidden features, since W_2 is linear. All
inputs of a batch see the same S transformations: they belong to the weights.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from invariant_weights.basis import Basis
from invariant_weights.blur import blur_matrix, blurred
from invariant_weights.head import Head
from invariant_weights.products import products_on_inputs, products_on_weights
from invariant_weights.sampling import Sampler
from invariant_weights.transformations import AffineTransformations
from symlab.errors import ConfigError

_PRODUCTS = {"inputs": products_on_inputs, "weights": products_on_weights}


class InvariantNetwork(nn.Module):
    """``blur``: of the filters of images, in pixels. ``applied_to`` decides what is resampled, not what is computed."""

    def __init__(
        self,
        input_shape: tuple[int, ...],
        n_outputs: int,
        basis: Callable[..., Basis],
        transformations: AffineTransformations,
        sampler: Sampler,
        head: Callable[..., Head],
        blur: float = 0.0,
        applied_to: Literal["inputs", "weights"] = "inputs",
    ):
        super().__init__()
        if len(input_shape) != 3 and input_shape != (2,):
            raise ConfigError(
                f"inputs of shape {input_shape} do not fit: affine weights are for images or points of the plane"
            )
        if applied_to not in _PRODUCTS:
            raise ConfigError(f"applied_to={applied_to!r} does not fit: choose one of {', '.join(_PRODUCTS)}")
        self.basis = basis(input_shape)
        self.transformations, self.sampler = transformations, sampler
        self.head = head(self.basis.units, n_outputs)
        self.products = _PRODUCTS[applied_to]
        self.down: Tensor | None
        self.across: Tensor | None
        is_blurred = blur > 0 and len(input_shape) == 3
        for name, size in zip(("down", "across"), input_shape[-2:] if is_blurred else (0, 0), strict=True):
            self.register_buffer(name, blur_matrix(size, blur) if is_blurred else None, persistent=False)

    def noise(self, generator: torch.Generator) -> Tensor:
        """epsilon (S, 6) for one step."""
        return self.sampler.noise(self.transformations.active, generator)

    def filters(self) -> Tensor:
        """What is resampled: W_1, blurred."""
        if self.down is None or self.across is None:
            return self.basis.filters
        return blurred(self.basis.filters, self.down, self.across)

    def features(self, inputs: Tensor, noise: Tensor) -> Tensor:
        """(B, *input_shape), (S, 6) -> phi (B, H)."""
        filters = self.filters()
        maps = self.transformations.maps(noise.to(filters))
        products = self.products(inputs, filters, maps)
        return (self.basis.amplitude * self.basis.average(products)).T

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits (B, C) with the mean of W_2 and the same transformations at every call."""
        noise = self.noise(torch.Generator().manual_seed(0))
        return self.features(inputs, noise) @ self.head.weights().T
