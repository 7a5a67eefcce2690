"""symlab, measured like a peer: ``symlab.kfac.estimate`` with its defaults (exact GGN, biases as blocks of their own)."""

from torch import nn

from benchmarks.kfac_workloads import Batch
from benchmarks.peers.kfac_worker import Factors, answer_request
from symlab.kfac import Classification, estimate


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    blocks = estimate(network, Classification(), batches).blocks
    weights = [block for name, block in blocks.items() if name.endswith("weight")]
    return [(block.inputs[0, 0], block.outputs[0, 0] / block.rows) for block in weights]


if __name__ == "__main__":
    answer_request(fit, ("symlab",))
