import pytest
import torch

from equinas.fibres import coset_of
from equinas.normalisation import GroupBatchNorm
from symlab.groups import C1, D4, GROUPS
from tests.equinas.cases import equivariance_error


def trained(group) -> GroupBatchNorm:
    layer = GroupBatchNorm(group, 16, D4)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    layer(torch.randn(6, 16, 4, 4) * torch.arange(1, 17).view(16, 1, 1))
    return layer


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_numbers_are_shared_over_the_group(group):
    """Against statistics taken channel by channel and merged by hand."""
    torch.manual_seed(0)
    layer, cosets = trained(group).double(), coset_of(group, D4)
    features = torch.randn(6, 16, 4, 4, dtype=torch.float64) * torch.arange(1, 17).view(16, 1, 1)
    found = layer(features)
    for channel in range(16):
        block, coset = divmod(channel, 8)[0], cosets[channel % 8]
        shared = [8 * block + other for other in range(8) if cosets[other] == coset]
        values = features[:, shared]
        number = block * layer.cosets + coset
        expected = (features[:, channel] - values.mean()) / (values.var(unbiased=False) + 1e-5).sqrt()
        expected = expected * layer.normalisation.weight[number] + layer.normalisation.bias[number]
        torch.testing.assert_close(found[:, channel], expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_commutes_with_the_group(group, training):
    torch.manual_seed(0)
    layer = trained(group).train(training)
    assert equivariance_error(layer, torch.randn(4, 16, 5, 5), group) < 1e-5


def test_without_a_group_it_is_a_batch_normalisation():
    torch.manual_seed(0)
    features = torch.randn(4, 16, 5, 5)
    assert torch.equal(GroupBatchNorm(C1, 16, D4)(features), torch.nn.BatchNorm2d(16)(features))
