"""No peer: one gradient of the mean loss over the data, the reference that every fit is compared to."""

from torch import nn

from benchmarks.kfac_workloads import Batch, forward_backward
from benchmarks.peers.kfac_worker import Factors, answer_request


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    forward_backward(network, batches)
    return []


if __name__ == "__main__":
    answer_request(fit, ("torch",))
