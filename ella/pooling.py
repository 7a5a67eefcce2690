"""Subsampling that commutes with translations, ELLA App. F.2 (after Chaman and Dokmanic, 2021).

A feature map has four polyphase components: the pixels at even/odd rows and columns. The one with the largest l-infinity
norm is kept. A translation of the input permutes and translates the components, so the choice moves along with the input.

# Paper: the released code takes the maximum without absolute value and over the whole batch, so that a prediction depends on
# its batch mates; here each sample chooses for itself, as the text's norm says.
"""

from typing import Any

import torch
from torch import Tensor, nn

from symlab.errors import ConfigError
from symlab.signatures import with_signature


def _by_phase(features: Tensor) -> Tensor:
    """(B, C, H, W) -> (B, H/2, 2, W/2, 2, C), without a copy where channels lie side by side."""
    samples, channels, height, width = features.shape
    return features.permute(0, 2, 3, 1).reshape(samples, height // 2, 2, width // 2, 2, channels)


class _Choose(torch.autograd.Function):
    """features (B, C, H, W), chosen (B, 2, 2) with one 1 per sample -> the chosen component (B, C, H/2, W/2)."""

    generate_vmap_rule = True

    @staticmethod
    @with_signature
    def forward(features: Tensor, chosen: Tensor) -> Tensor:
        phase = chosen.flatten(1).argmax(1)
        sample = torch.arange(len(features), device=features.device)
        return _by_phase(features)[sample, :, phase // 2, :, phase % 2].permute(0, 3, 1, 2)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Into the chosen component, zero elsewhere: one product, which also has derivatives of its own."""
        (chosen,) = ctx.saved_tensors
        spread = gradient.permute(0, 2, 3, 1)[:, :, None, :, None] * chosen[:, None, :, None, :, None].to(gradient.dtype)
        return spread.flatten(1, 2).flatten(2, 3).permute(0, 3, 1, 2), None


class PolyphasePool(nn.Module):
    """(B, C, H, W) -> (B, C, H/2, W/2)."""

    def forward(self, features: Tensor) -> Tensor:
        height, width = features.shape[2:]
        if height % 2 or width % 2:
            raise ConfigError(
                f"polyphase pooling needs even sizes, got {height} x {width}: use a power of two as resolution"
            )
        # One dimension after the other, channels last: ten times as fast as all at once.
        norms = _by_phase(features.detach()).abs().amax(1).amax(2).amax(3).flatten(1)
        chosen = nn.functional.one_hot(norms.argmax(1), 4).unflatten(1, (2, 2))
        return _Choose.apply(features, chosen)
