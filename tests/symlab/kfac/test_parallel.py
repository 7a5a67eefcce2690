from collections.abc import Iterator

import pytest
import torch
from torch import nn

from symlab.errors import ConfigError
from symlab.kfac import Classification, estimate
from symlab.kfac.parallel import SMALLEST_SHARE


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def case() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(48, 5), nn.Linear(5, 4)).double()
    return model, torch.randn(5 * SMALLEST_SHARE + 3, 2, 4, 4, dtype=torch.float64), torch.arange(5 * SMALLEST_SHARE + 3) % 4


def test_workers_compute_what_one_does_and_leave_the_threads_alone():
    model, images, targets = case()
    shared = estimate(model, Classification(), [(images, targets)])
    assert torch.get_num_threads() == 3
    again = estimate(model, Classification(), [(images, targets)])
    torch.set_num_threads(1)
    alone = estimate(model, Classification(), [(images, targets)])
    assert shared.n_data == alone.n_data == len(images)
    assert shared.log_likelihood == pytest.approx(alone.log_likelihood, rel=1e-12)
    for name, block in alone.blocks.items():
        torch.testing.assert_close(shared.blocks[name].inputs, block.inputs, rtol=1e-10, atol=1e-10)
        torch.testing.assert_close(shared.blocks[name].outputs, block.outputs, rtol=1e-10, atol=1e-10)
        assert shared.blocks[name].rows == block.rows
        assert torch.equal(shared.blocks[name].outputs, again.blocks[name].outputs)  # whoever was faster


def test_batches_of_any_size_give_the_same():
    model, images, targets = case()
    whole = estimate(model, Classification(), [(images, targets)])
    for size in (1, 50, 100):
        parts = estimate(model, Classification(), zip(images.split(size), targets.split(size)))
        assert parts.n_data == len(images)
        for name, block in whole.blocks.items():
            torch.testing.assert_close(parts.blocks[name].outputs, block.outputs, rtol=1e-10, atol=1e-10)
            assert parts.blocks[name].rows == block.rows


def test_a_bias_shares_the_output_factor_of_its_weight():
    model, images, targets = case()
    blocks = estimate(model, Classification(), [(images, targets)]).blocks
    assert torch.equal(blocks["3.weight"].outputs, blocks["3.bias"].outputs)
    assert not torch.equal(blocks["0.weight"].outputs, blocks["0.bias"].outputs)  # positions: expanded and exact differ


def test_an_error_of_a_worker_reaches_the_caller():
    class Fails(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(4, 3)

        def forward(self, inputs: torch.Tensor) -> torch.Tensor:
            if len(inputs) > 2:  # not on the first few data points
                raise ConfigError("no more than two at once")
            return self.linear(inputs)

    with pytest.raises(ConfigError, match="two at once"):
        estimate(Fails(), Classification(), [(torch.randn(200, 4), torch.zeros(200, dtype=torch.long))])
    assert torch.get_num_threads() == 3
