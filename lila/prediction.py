"""Predictions of an averaged network that depend on nothing but their input.

Every input is shown the same S transformations, drawn once for a seed.

# Paper: draws differ from image to image at test time too; each image's average has the same distribution either way.
"""

import torch
from torch import Tensor

from lila.averaged import AveragedNetwork
from symlab.trainer.batches import derived_generator

ROWS_AT_ONCE = 8192  # copies that go through the network together


def predict_averaged(averaged: AveragedNetwork, inputs: Tensor, seed: int) -> Tensor:
    """Inputs (N, ...) -> logits (N, C), in evaluation mode."""
    averaged.eval()
    parts = inputs.split(max(1, ROWS_AT_ONCE // averaged.samples))
    return torch.cat([averaged(averaged.common_copies(part, derived_generator(seed, "prediction"))) for part in parts])
