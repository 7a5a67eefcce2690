import copy

import pytest
import torch

from equinas.differentiable import DifferentiableSearch
from equinas.network import MixedNetwork
from symlab.data.dataset import Dataset
from symlab.errors import ConfigError
from symlab.models import MLP
from symlab.trainer.batches import epoch_batches
from symlab.trainer.descent import negative_log_likelihood
from symlab.trainer.protocol import Learner, TrainingPlan
from tests.contracts import LearnerContract


def mixed_network(data: Dataset) -> MixedNetwork:
    return MixedNetwork(data.input_shape, data.n_outputs, layers=2, channels=8, kernel_size=3, hidden=8, pooled_after=(1,))


class TestDifferentiableSearch(LearnerContract):
    epochs = 12

    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        return DifferentiableSearch(mixed_network(data), plan, data, 0, learning_rate=0.02)


def test_z_moves_first_on_its_own_batch_then_psi_at_the_new_z(blobs):
    """Against Algorithm 2 written out with plain gradient steps."""
    torch.manual_seed(0)
    learner = DifferentiableSearch(
        mixed_network(blobs), TrainingPlan(60, 20, 1), blobs, 0, optimizer=torch.optim.SGD, learning_rate=0.1
    )
    learner.architecture_optimizer = torch.optim.SGD(learner.architecture, lr=0.5)
    batch = next(epoch_batches(blobs, 20, "none", seed=0, epoch=0))
    for number in range(2):  # twice: no gradient may be left over from the first step
        oracle = copy.deepcopy(learner.model).train()
        drawn = learner.draw(number, batch)
        assert not torch.equal(drawn.targets, batch.targets)
        gradients = torch.autograd.grad(
            negative_log_likelihood(oracle(drawn.inputs), drawn.targets), oracle.architecture_parameters()
        )
        with torch.no_grad():
            for logits, gradient in zip(oracle.architecture_parameters(), gradients, strict=True):
                logits -= 0.5 * gradient
        kernels = {name: tensor for name, tensor in oracle.named_parameters() if "logits" not in name}
        loss = negative_log_likelihood(oracle(batch.inputs), batch.targets)
        gradients = torch.autograd.grad(loss, list(kernels.values()))
        metrics = learner.step(batch)
        assert metrics["loss"] == pytest.approx(loss.item(), rel=1e-5)
        found = dict(learner.model.named_parameters())
        for (name, old), gradient in zip(kernels.items(), gradients, strict=True):
            torch.testing.assert_close(found[name].detach(), old.detach() - 0.1 * gradient, rtol=1e-5, atol=1e-6)
        for logits, expected in zip(learner.architecture, oracle.architecture_parameters(), strict=True):
            torch.testing.assert_close(logits, expected, rtol=1e-5, atol=1e-7)


def test_norms_of_kernels_do_not_change(blobs):
    torch.manual_seed(0)
    learner = DifferentiableSearch(mixed_network(blobs), TrainingPlan(60, 20, 2), blobs, 0)
    kernels = [kernel for layer in learner.model.convolutions() for kernel in layer.kernels]
    before = [kernel.kernel().norm().item() for kernel in kernels]
    for batch in epoch_batches(blobs, 20, "none", seed=0, epoch=0):
        learner.step(batch)
    assert [kernel.kernel().norm().item() for kernel in kernels] == pytest.approx(before, rel=1e-5)


def test_every_epoch_leaves_its_weights(blobs):
    torch.manual_seed(0)
    learner = DifferentiableSearch(mixed_network(blobs), TrainingPlan(60, 20, 2), blobs, 0)
    assert learner.arrays()["architecture"].shape == (0, 2, 6)
    for epoch in range(2):
        for batch in epoch_batches(blobs, 20, "none", seed=0, epoch=epoch):
            learner.step(batch)
        report = learner.end_epoch(epoch)
    arrays = learner.arrays()
    assert arrays["architecture"].shape == (2, 2, 6)
    assert arrays["architecture"].sum(-1) == pytest.approx(1.0, abs=1e-5)
    assert arrays["groups"].tolist() == ["C1", "D1", "C2", "D2", "C4", "D4"]
    orders = arrays["architecture"][-1] @ [1, 2, 2, 4, 4, 8]
    assert report["group_order/early_layers"] == pytest.approx(orders[0], rel=1e-5)
    assert report["group_order/late_layers"] == pytest.approx(orders[1], rel=1e-5)


def test_networks_without_architecture_are_refused(blobs):
    with pytest.raises(ConfigError, match="model=equinas_mixed"):
        DifferentiableSearch(MLP(blobs.input_shape, 3, [4], "tanh"), TrainingPlan(60, 20, 1), blobs, 0)
