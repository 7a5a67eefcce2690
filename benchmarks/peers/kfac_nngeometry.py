"""nngeometry: closed-form Fisher (equal to the GGN) in the representation ``PMatKFAC``; weight and bias jointly."""

from typing import Any

from nngeometry.metrics import FIM
from nngeometry.object import PMatKFAC
from torch import nn
from torch.utils.data import DataLoader

from benchmarks.kfac_workloads import Batch
from benchmarks.peers.kfac_worker import Factors, answer_request


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    samples = sum(len(labels) for _, labels in batches)
    dataset: Any = batches
    loader: DataLoader = DataLoader(dataset, batch_size=None)  # ready batches: no collation is timed
    blocks = FIM(network, loader, PMatKFAC, variant="classif_logits").data
    scale = len(batches) / samples  # it divides both factors by the length of the loader, here the number of batches
    return [(a[:-1, :-1].mul_(scale), b.mul_(scale * samples)) for a, b in blocks.values()]


if __name__ == "__main__":
    answer_request(fit, ("nngeometry",))
