"""backpack: the extension ``KFLR`` (exact GGN), its per-batch averages summed to the whole data as laplace-torch does."""

from typing import Any

from backpack import backpack, extend
from backpack.extensions import KFLR
from torch import nn

from benchmarks.kfac_workloads import Batch
from benchmarks.peers.backpack_pooling import kflr_with_polyphase_pooling
from benchmarks.peers.kfac_worker import Factors, answer_request


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    samples = sum(len(labels) for _, labels in batches)
    extended, loss = extend(network), extend(nn.CrossEntropyLoss())
    weights: list[Any] = [parameter for name, parameter in network.named_parameters() if name.endswith("weight")]
    factors: Factors = []
    for inputs, labels in batches:
        network.zero_grad(set_to_none=True)
        with backpack(kflr_with_polyphase_pooling(KFLR)):
            loss(extended(inputs), labels).backward()
        size = len(labels)
        batch = [(a.mul_(size / samples), b.mul_(size)) for b, a in (weight.kflr for weight in weights)]
        if not factors:
            factors = batch
            continue
        for (sum_a, sum_b), (a, b) in zip(factors, batch):
            sum_a.add_(a)
            sum_b.add_(b)
    for parameter in network.parameters():
        delattr(parameter, "kflr")
    return factors


def notes(workload: str) -> str:
    pooling = "; the rule for polyphase pooling is ours" if workload == "ella" else ""
    return "" if workload == "mlp" else "B of a convolution is of the reduce kind, A of the expand kind" + pooling


if __name__ == "__main__":
    answer_request(fit, ("backpack-for-pytorch",), notes)
