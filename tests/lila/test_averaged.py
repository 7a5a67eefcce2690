import pytest
import torch
from torch import nn

from lila.affine import AffineDistribution
from lila.averaged import AveragedNetwork, readout_of
from lila.distribution import Unchanged
from lila.prediction import predict_averaged
from symlab.errors import ConfigError
from symlab.kfac import Classification
from symlab.models import MLP, LeNet
from symlab.trainer.descent import hyperparameter_names, weights_of


@pytest.fixture
def averaged() -> AveragedNetwork:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Flatten(), nn.Linear(36, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    return AveragedNetwork(network, AffineDistribution((0.3, 0.2, 0.9, 0.1, 0.2, 0.3)), samples=4)


@pytest.fixture
def images() -> torch.Tensor:
    return torch.randn(6, 1, 6, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


def test_equation_1(averaged, images):
    noise = averaged.distribution.noise(6, 4, torch.Generator().manual_seed(7))
    found = averaged(averaged.copies(images, torch.Generator().manual_seed(7)))
    for n in range(6):
        one = images[n : n + 1]
        transformed = [averaged.distribution.transform(one, noise[n : n + 1, s : s + 1])[:, 0] for s in range(4)]
        expected = torch.stack([averaged.network(copy)[0] for copy in transformed]).mean(0)
        torch.testing.assert_close(found[n], expected, rtol=1e-12, atol=1e-12)


def test_averaging_before_a_linear_readout_is_the_same(averaged, images):
    copies = averaged.copies(images, torch.Generator().manual_seed(7))
    assert readout_of(averaged.network) is averaged.network[-1]
    apart = AveragedNetwork(nn.Sequential(averaged.network, nn.Identity()), averaged.distribution, samples=4)
    assert readout_of(apart.network) is None
    torch.testing.assert_close(averaged(copies), apart(copies), rtol=1e-12, atol=1e-12)
    assert not averaged.network[-1]._forward_pre_hooks


@pytest.mark.parametrize("model", [MLP((1, 28, 28), 10, [4]), LeNet((1, 28, 28), 10)])
def test_readouts_that_networks_name(model):
    assert readout_of(model) is list(model.modules())[-1]


def test_equation_10_averaging_logits_never_lowers_the_log_likelihood(averaged, images):
    """Jensen: log p(y | mean_s f_s) >= mean_s log p(y | f_s), for every data point; equal where copies are."""
    likelihood = Classification()
    copies, targets = averaged.copies(images, torch.Generator().manual_seed(0)), torch.arange(6) % 3
    for n in range(6):
        one, target = copies[n : n + 1], targets[n : n + 1]
        of_average = likelihood.log_likelihood(averaged(one), target)
        of_copies = torch.stack([likelihood.log_likelihood(averaged(one[:, s : s + 1]), target) for s in range(4)]).mean()
        assert of_average > of_copies
        same = one[:, :1].expand(-1, 4, -1, -1, -1)
        torch.testing.assert_close(
            likelihood.log_likelihood(averaged(same), target), likelihood.log_likelihood(averaged(one[:, :1]), target)
        )


def test_eta_is_a_hyperparameter_and_nothing_else_is(averaged):
    assert hyperparameter_names(averaged) == ["distribution.eta"]
    assert set(weights_of(averaged)) == {f"network.{name}" for name, _ in averaged.network.named_parameters()}


def test_predictions_depend_on_nothing_but_their_input(averaged, images):
    together = predict_averaged(averaged, images, seed=3)
    alone = torch.cat([predict_averaged(averaged, image[None], seed=3) for image in images])
    torch.testing.assert_close(together, alone, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(together, predict_averaged(averaged, images, seed=4))


def test_without_invariance_it_is_the_network_itself(averaged, images):
    plain = AveragedNetwork(averaged.network, Unchanged(), samples=1)
    assert list(plain.distribution.parameters()) == []
    assert torch.equal(plain(plain.copies(images, torch.Generator().manual_seed(0))), averaged.network(images))
    assert plain.distribution.describe((1, 6, 6)) == {}


def test_predictions_have_copies_of_their_own(averaged, images):
    """With many of them they no longer depend on the draw, however few there are in training."""
    many = AveragedNetwork(averaged.network, averaged.distribution, samples=1, prediction_samples=2000)
    assert many.copies(images, torch.Generator().manual_seed(0)).shape[1] == 1
    assert many.common_copies(images, torch.Generator().manual_seed(0)).shape[1] == 2000
    few_apart, many_apart = (
        (predict_averaged(each, images, seed=3) - predict_averaged(each, images, seed=4)).abs().max()
        for each in (averaged, many)
    )
    assert many_apart < few_apart / 5  # sqrt(4 / 2000) is a twentieth
    assert averaged.prediction_samples == averaged.samples


@pytest.mark.parametrize("counts", [{"samples": 0}, {"samples": 1, "prediction_samples": 0}])
def test_at_least_one_copy(counts):
    with pytest.raises(ConfigError, match="samples=0 does not fit"):
        AveragedNetwork(nn.Linear(1, 1), Unchanged(), **counts)
