"""symlab, measured like a peer: ``symlab.kfac.estimate`` with its defaults (exact GGN, biases as blocks of their own).

On the ELLA network its own polyphase pooling takes the place of the plain one, the same function; convolutions stay
nn.Conv2d.
"""

from torch import nn

import ella.pooling
from benchmarks.kfac_workloads import Batch, PolyphasePool
from benchmarks.peers.kfac_worker import Factors, answer_request
from symlab.kfac import Classification, estimate


def fit(network: nn.Sequential, batches: list[Batch]) -> Factors:
    layers = [ella.pooling.PolyphasePool() if isinstance(layer, PolyphasePool) else layer for layer in network]
    blocks = estimate(nn.Sequential(*layers), Classification(), batches).blocks
    weights = [block for name, block in blocks.items() if name.endswith("weight")]
    return [(block.inputs[0, 0], block.outputs[0, 0] / block.rows) for block in weights]


if __name__ == "__main__":
    answer_request(fit, ("symlab",))
