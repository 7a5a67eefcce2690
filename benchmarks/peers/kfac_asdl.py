"""asdl (published as asdfghjkl): exact Fisher for cross entropy in Kronecker shape, accumulated over the batches."""

from typing import Any

from asdl.fisher import FisherConfig, get_fisher_maker
from asdl.grad_maker import LOSS_CROSS_ENTROPY
from asdl.matrices import FISHER_EXACT, SHAPE_KRON
from torch import nn

from benchmarks.kfac_workloads import Batch
from benchmarks.peers.kfac_worker import Factors, answer_request


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    samples = sum(len(labels) for _, labels in batches)
    config = FisherConfig(fisher_type=FISHER_EXACT, fisher_shapes=[SHAPE_KRON], loss_type=LOSS_CROSS_ENTROPY, data_size=1)
    maker = get_fisher_maker(network, config)
    for index, (inputs, _) in enumerate(batches):
        maker.setup_model_call(network, inputs)
        maker.forward_and_backward(accumulate=index > 0)
    fishers: list[Any] = [layer.fisher for layer in network if getattr(layer, "fisher", None) is not None]
    return [(fisher.kron.A.div_(samples), fisher.kron.B) for fisher in fishers]


if __name__ == "__main__":
    answer_request(fit, ("asdfghjkl",))
