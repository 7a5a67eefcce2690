import pytest
import torch
from torch import nn

from equinas.export import as_plain
from equinas.network import MixedNetwork, PathwayNetwork
from symlab.groups import C4, D1, D2, D4
from tests.equinas.cases import difference, network, train

SIZES = {"layers": 4, "channels": 8, "kernel_size": 3, "hidden": 8, "pooled_after": (1, 3)}


@pytest.mark.parametrize("kind", ["mixed", "pathways", "relaxed"])
@pytest.mark.parametrize("extent", [7, 8])
def test_the_plain_network_computes_the_same(kind, extent):
    torch.manual_seed(0)
    if kind == "relaxed":
        model = network("D4", extent)
        model.relax_to([D4, D4, C4, C4] if extent == 7 else [D4, D2, D2, D1])
    else:
        model = {"mixed": MixedNetwork, "pathways": PathwayNetwork}[kind]((2, extent, extent), 3, **SIZES)
    train(model, extent, 20)
    images = torch.randn(6, 2, extent, extent)
    plain = as_plain(model)
    assert difference(plain(images), model.eval()(images)) < 1e-5
    assert {type(module).__module__.split(".")[0] for module in plain.modules()} == {"torch"}
    assert sum(isinstance(module, nn.Conv2d) for module in plain) == 4
