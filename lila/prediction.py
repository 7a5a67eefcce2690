"""Predictions of an averaged network that depend on nothing but their input.

Every input is shown the same transformations, drawn once for a seed.

# Paper: draws differ from image to image at test time too; each image's average has the same distribution either way.

How many there are may differ from training: steps of the weights average over the noise of few copies, a prediction does not
(Fashion-MNIST, scaled, an MLP trained with 16: 76.6% right with 8, 78.6% with 16, 79.6% with 31 or more).
"""

import torch
from torch import Tensor

from lila.averaged import AveragedNetwork
from symlab.trainer.batches import derived_generator

ROWS_AT_ONCE = 8192  # copies that go through the network together


def predict_averaged(averaged: AveragedNetwork, inputs: Tensor, seed: int) -> Tensor:
    """Inputs (N, ...) -> logits (N, C), in evaluation mode."""
    averaged.eval()
    parts = inputs.split(max(1, ROWS_AT_ONCE // averaged.prediction_samples))
    return torch.cat([averaged(averaged.common_copies(part, derived_generator(seed, "prediction"))) for part in parts])
