import pytest
import torch
from torch import Tensor, nn

from ella.layers import FactoredFullyConnected, SparseFullyConnected
from ella.layers.sparse_fully_connected import SparseFromSpace, SparseToSpace
from ella.layers.spatial_basis import SpatialBasis
from symlab.kfac import Classification, estimate
from tests.ella.layers.test_factored_fully_connected import FactorContract
from tests.kfac_contract import Chain
from tests.oracles import dense_ggn

PRIORS = ["theta", "u", "omega"]


def frozen(basis: SpatialBasis) -> SpatialBasis:
    basis.locations.requires_grad_(False)
    return basis


@pytest.mark.parametrize("prior", PRIORS)
def test_is_the_factored_layer_of_its_induced_weights(prior):
    """ELLA Eq. 7, weight by weight."""
    torch.manual_seed(0)
    sparse, dense = SparseFullyConnected(2, 3, 4, 2, prior).double(), FactoredFullyConnected(2, 3, 4, 2).double()
    read, write = sparse.from_space, sparse.to_space
    nn.init.normal_(read.bias)
    nn.init.normal_(write.bias)
    with torch.no_grad():
        dense.from_space.bias.copy_(read.bias)
        dense.to_space.bias.copy_(write.bias)
        for target in range(3):
            for source in range(2):
                inward, outward = read.weight[target, source], write.weight[:, target, source]
                dense.from_space.weight[target, source] = sum(inward[j] * read.basis()[j] for j in range(8))
                dense.to_space.weight[:, target, source] = sum(outward[j] * write.basis()[j] for j in range(2))
    features = torch.randn(5, 2, 4, 4, dtype=torch.float64)
    torch.testing.assert_close(sparse(features), dense(features), rtol=1e-10, atol=1e-10)


class TestFromSpace(FactorContract):
    shape = (3, 9)

    def layer(self) -> nn.Module:
        return SparseFromSpace(3, 2, frozen(SpatialBasis(3)))

    def positions(self, output: Tensor) -> Tensor:
        return output.mT


class TestFromSpaceOfOneChannel(TestFromSpace):
    shape = (1, 9)

    def layer(self) -> nn.Module:
        return SparseFromSpace(1, 3, frozen(SpatialBasis(3, "theta")))


class ToSpaceContract(FactorContract):
    """Anchor values are spread over the sites: the gradient of their matrix product is that of the sites, projected."""

    shape = (2, 3)
    prior = "u"

    def layer(self) -> nn.Module:
        return SparseToSpace(3, 2, frozen(SpatialBasis(3, self.prior)))

    def test_expand_is_its_definition(self) -> None:
        model, inputs, targets = self.case()
        block = estimate(model, Classification(), [(inputs, targets)]).blocks["layer.weight"]
        basis = model.layer.basis()
        values = model.layer(inputs).detach().requires_grad_()
        outputs = model.head(values.tanh().flatten(1))
        sites = torch.stack([torch.autograd.grad(outputs[:, k].sum(), values, retain_graph=True)[0] for k in range(4)], 1)
        gradients = sites @ basis.mT
        rows = torch.zeros(3, 2, 2, 3, dtype=torch.float64)
        for channel in range(2):
            rows[:, channel, channel] = inputs[:, channel]
        hessians = Classification().hessian(model(inputs)).detach()
        left = torch.einsum("npd,npe->de", rows.flatten(2), rows.flatten(2))
        right = torch.einsum("nkpe,nkl,nlpf->ef", gradients, hessians, gradients)
        torch.testing.assert_close(block.dense(), torch.kron(right, left) / 6, rtol=1e-8, atol=1e-8)

    def positions(self, output: Tensor) -> Tensor:
        return output


class TestToSpace(ToSpaceContract):
    pass


class TestToSpaceWhitened(ToSpaceContract):
    prior = "theta"


class TestToSpaceOfOneChannel(ToSpaceContract):
    shape = (1, 3)

    def layer(self) -> nn.Module:
        return SparseToSpace(3, 1, frozen(SpatialBasis(3)))

    def test_expand_is_its_definition(self) -> None:
        pytest.skip("covered by the exact block of one point and by two channels")


@pytest.mark.parametrize("name", ["from_space", "to_space"])
def test_blocks_of_biases_and_frequencies_are_exact(name):
    torch.manual_seed(0)
    model = Chain(SparseFullyConnected(2, 3, 4, 2, "omega"), (2, 4, 4)).double()
    inputs, targets = torch.randn(3, 2, 4, 4, dtype=torch.float64), torch.arange(3)
    locations = [f"layer.{half}.basis.locations" for half in ("from_space", "to_space")]
    blocks = estimate(model, Classification(), [(inputs, targets)], exclude=locations).blocks
    for parameter in (f"layer.{name}.bias", f"layer.{name}.basis.frequency"):
        dense = dense_ggn(model, Classification(), inputs, [parameter])
        torch.testing.assert_close(blocks[parameter].dense(), dense, rtol=1e-8, atol=1e-8)


def test_frequency_zero_is_strictly_equivariant():
    """ELLA Eq. 8 for the prior on omega: constant weights read and write every position alike."""
    torch.manual_seed(0)
    layer = SparseFullyConnected(2, 3, 4, 4, "omega").double()
    features = torch.randn(2, 2, 4, 4, dtype=torch.float64)
    errors = []
    for frequency in (1.0, 0.1, 0.01, 0.0):
        for half in (layer.from_space, layer.to_space):
            nn.init.constant_(half.basis.frequency, frequency)
        moved = layer(features.roll((1, 2), (2, 3)))
        errors.append((moved - layer(features).roll((1, 2), (2, 3))).abs().max().item())
    assert errors[0] > 0.1
    assert errors[0] > errors[1] > errors[2] > errors[3]
    assert errors[3] < 1e-10


def test_keeps_the_variance_of_a_layer_before_a_relu():
    """Of maps that are constant: neighbouring weights of a smooth filter are alike, and so are neighbouring pixels."""
    torch.manual_seed(0)
    outputs = SparseFullyConnected(16, 64, 8, 8)(torch.randn(64, 16, 1, 1).expand(-1, -1, 8, 8))
    assert 1.0 < outputs.square().mean().item() < 4.0
