import pytest
import torch
from torch import Tensor, nn

from symlab.kfac import Classification, estimate
from symlab.laplace import GaussianPrior, Laplace


class Shared(nn.Module):
    """A layer used twice and a sum, on vectors."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.inner(inputs).tanh()
        return self.head(hidden + self.inner(hidden).tanh())


CASES = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)), (4,)),
    "sequence": (lambda: nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Flatten(), nn.Linear(10, 3)), (2, 4)),
    "layer used twice": (Shared, (4,)),
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(48, 3)),
        (2, 4, 4),
    ),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("structure", "bias"), [("tensor", "separate"), ("unit", "separate"), ("layer", "joint")])
@pytest.mark.parametrize("sharing", ["expand", "reduce"])
def test_rows_give_the_covariance_of_the_jacobians(case, structure, bias, sharing):
    build, shape = CASES[case]
    torch.manual_seed(0)
    model = build().double()
    inputs, targets = torch.randn(6, *shape, dtype=torch.float64), torch.arange(6) % 3
    prior = GaussianPrior(model, structure, 0.7)
    laplace = Laplace.fit(model, Classification(), [(inputs, targets)], prior=prior, bias=bias, sharing=sharing)
    posterior = laplace.posterior()
    found = posterior._from_rows(inputs)
    assert found is not None
    mean, covariance = posterior._from_jacobians(inputs)
    torch.testing.assert_close(found[0], mean, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(found[1], covariance, rtol=1e-10, atol=1e-10)


def test_grouped_convolutions_and_loaded_fits_take_jacobians(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3, groups=2), nn.Flatten(), nn.Linear(16, 3)).double()
    inputs, targets = torch.randn(5, 2, 4, 4, dtype=torch.float64), torch.arange(5) % 3
    laplace = Laplace.fit(model, Classification(), [(inputs, targets)])
    assert laplace.posterior()._from_rows(inputs) is None
    assert laplace.predict(inputs).shape == (5, 3)
    blocks = estimate(model[2], Classification(), [(inputs.flatten(1)[:, :16], targets)]).blocks
    assert all(block.products == 1 for block in blocks.values())


def test_an_averaged_network_takes_jacobians():
    class Averaged(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = nn.Linear(3, 2)

        def forward(self, copies: Tensor) -> Tensor:
            return self.network(copies.flatten(0, 1)).unflatten(0, copies.shape[:2]).mean(1)

    model = Averaged().double()
    copies, targets = torch.randn(4, 5, 3, dtype=torch.float64), torch.arange(4) % 2
    posterior = Laplace.fit(model, Classification(), [(copies, targets)]).posterior()
    assert posterior._from_rows(copies) is None
    assert posterior.functional_covariance(copies)[1].shape == (4, 2, 2)
