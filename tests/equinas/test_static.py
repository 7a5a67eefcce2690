import copy

import torch

from equinas.network import EquivariantNetwork, PathwayNetwork
from equinas.static import StaticTraining
from symlab.data.dataset import Dataset
from symlab.trainer.batches import epoch_batches
from symlab.trainer.descent import negative_log_likelihood
from symlab.trainer.protocol import Learner, TrainingPlan
from tests.contracts import LearnerContract

SIZES = {"layers": 2, "channels": 16, "kernel_size": 3, "hidden": 16, "pooled_after": (1,)}


class TestStaticTraining(LearnerContract):
    epochs = 6

    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        network = EquivariantNetwork(data.input_shape, data.n_outputs, group="D1", **SIZES)
        return StaticTraining(network, plan, data, torch.optim.SGD, learning_rate=0.1)


def test_the_penalty_is_on_the_free_kernels_alone(blobs):
    """Against the penalised loss written out, by one plain gradient step."""
    torch.manual_seed(0)
    network = PathwayNetwork(blobs.input_shape, 3, **SIZES)
    plan = TrainingPlan(60, 20, 1)
    learner = StaticTraining(network, plan, blobs, torch.optim.SGD, learning_rate=0.1, residual_penalty=0.3)
    batch = next(epoch_batches(blobs, 20, "none", seed=0, epoch=0))
    oracle = copy.deepcopy(network).train()
    loss = negative_log_likelihood(oracle(batch.inputs), batch.targets)
    penalty = 0.3 * sum(weight.square().sum() for weight in oracle.residual_weights())
    (loss + penalty).backward()
    learner.step(batch)
    for new, old in zip(network.parameters(), oracle.parameters(), strict=True):
        torch.testing.assert_close(new.detach(), old.detach() - 0.1 * old.grad, rtol=1e-5, atol=1e-6)
