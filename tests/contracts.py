"""What every member of a family must satisfy; a new member's test class inherits the suite and says how to build one."""

import io
import math

import torch

from symlab.data.dataset import Dataset
from symlab.trainer.batches import epoch_batches
from symlab.trainer.protocol import Learner, TrainingPlan


class LearnerContract:
    """The learner protocol: subclasses define ``build(data, plan)``, deterministic after ``torch.manual_seed``."""

    epochs = 3
    batch_size = 20

    def build(self, data: Dataset, plan: TrainingPlan) -> Learner:
        raise NotImplementedError

    def fresh(self, data: Dataset) -> Learner:
        torch.manual_seed(0)
        return self.build(data, TrainingPlan(len(data.train), self.batch_size, self.epochs))

    def train(self, learner: Learner, data: Dataset, epochs: range) -> None:
        for epoch in epochs:
            for batch in epoch_batches(data, self.batch_size, "none", seed=0, epoch=epoch):
                learner.step(batch)
            learner.end_epoch(epoch)

    def test_satisfies_the_protocol(self, blobs: Dataset) -> None:
        assert isinstance(self.fresh(blobs), Learner)

    def test_step_reports_finite_numbers_with_a_loss(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        metrics = learner.step(next(epoch_batches(blobs, self.batch_size, "none", seed=0, epoch=0)))
        assert "loss" in metrics
        assert all(isinstance(value, float) and math.isfinite(value) for value in metrics.values())

    def test_step_changes_weights(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        before = [parameter.detach().clone() for parameter in learner.model.parameters()]
        learner.step(next(epoch_batches(blobs, self.batch_size, "none", seed=0, epoch=0)))
        assert any(not torch.equal(old, new) for old, new in zip(before, learner.model.parameters(), strict=True))

    def test_predict_has_the_output_shape_and_no_side_effects(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        inputs = blobs.normalise(blobs.test.inputs)
        with torch.no_grad():
            first, second = learner.predict(inputs), learner.predict(inputs)
        assert first.shape == (len(blobs.test), blobs.n_outputs)
        assert torch.equal(first, second)

    def test_prediction_of_an_input_does_not_depend_on_its_batch(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        inputs = blobs.normalise(blobs.test.inputs)
        with torch.no_grad():
            torch.testing.assert_close(learner.predict(inputs)[:1], learner.predict(inputs[:1]), rtol=1e-5, atol=1e-5)

    def test_learns(self, blobs: Dataset) -> None:
        learner = self.fresh(blobs)
        self.train(learner, blobs, range(self.epochs))
        with torch.no_grad():
            predicted = learner.predict(blobs.normalise(blobs.test.inputs)).argmax(-1)
        assert (predicted == blobs.test.targets).float().mean() > 0.8

    def test_resumes_bit_by_bit_from_a_stored_state(self, blobs: Dataset) -> None:
        unbroken, stopped = self.fresh(blobs), self.fresh(blobs)
        self.train(unbroken, blobs, range(self.epochs))
        self.train(stopped, blobs, range(1))
        file = io.BytesIO()
        torch.save(stopped.state_dict(), file)
        file.seek(0)
        resumed = self.fresh(blobs)
        resumed.load_state_dict(torch.load(file, weights_only=True))
        self.train(resumed, blobs, range(1, self.epochs))
        inputs = blobs.normalise(blobs.test.inputs)
        with torch.no_grad():
            assert torch.equal(unbroken.predict(inputs), resumed.predict(inputs))
