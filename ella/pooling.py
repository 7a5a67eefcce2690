"""Subsampling that commutes with translations, ELLA App. F.2 (after Chaman and Dokmanic, 2021).

A feature map has four polyphase components: the pixels at even/odd rows and columns. The one with the largest l-infinity
norm is kept. A translation of the input permutes and translates the components, so the choice moves along with the input.

# Paper: the released code takes the maximum without absolute value and over the whole batch, so that a prediction depends on
# its batch mates; here each sample chooses for itself, as the text's norm says.
"""

import torch
from torch import Tensor, nn

from symlab.errors import ConfigError


class PolyphasePool(nn.Module):
    """(B, C, H, W) -> (B, C, H/2, W/2)."""

    def forward(self, features: Tensor) -> Tensor:
        samples, channels, height, width = features.shape
        if height % 2 or width % 2:
            raise ConfigError(
                f"polyphase pooling needs even sizes, got {height} x {width}: use a power of two as resolution"
            )
        components = (
            features.reshape(samples, channels, height // 2, 2, width // 2, 2).permute(0, 3, 5, 1, 2, 4).flatten(1, 2)
        )
        strongest = components.detach().abs().amax(dim=(2, 3, 4)).argmax(dim=1)
        return components[torch.arange(samples, device=features.device), strongest]
