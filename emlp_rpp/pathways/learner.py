"""Training under residual pathway priors with a cosine learning rate (thesis, appendix A.2.3.2):

    objective(theta) = 1/B sum_n -log p(y_n | f(x_n; theta)) - 1/N log p(theta)

by Adam, on batches of B of the N training examples: the posterior's negative logarithm over N. Classes have a categorical
likelihood, real targets a Gaussian one of unit variance in units of the standardised target.
"""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from emlp_rpp.pathways.optimisation import adam, set_learning_rate
from emlp_rpp.pathways.prior import negative_log_prior
from symlab.data.dataset import Dataset
from symlab.trainer.descent import cosine_annealed, negative_log_likelihood
from symlab.trainer.evaluation import evaluate
from symlab.trainer.protocol import Batch, TrainingPlan

_BATCH = 500  # of an evaluation


class PathwayTraining:
    def __init__(
        self,
        model: nn.Module,
        plan: TrainingPlan,
        data: Dataset,
        learning_rate: float = 0.01,
        final_learning_rate: float = 0.0,
    ):
        self.model, self.plan, self.data = model, plan, data
        self.learning_rate, self.final_learning_rate = learning_rate, final_learning_rate
        self.optimizer = adam(model, learning_rate)
        self.steps_done = 0

    def step(self, batch: Batch) -> dict[str, float]:
        rate = cosine_annealed(self.learning_rate, self.final_learning_rate, self.steps_done, self.plan.total_steps)
        set_learning_rate(self.optimizer, rate)
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        loss = negative_log_likelihood(self.model(batch.inputs), batch.targets)
        (loss + negative_log_prior(self.model) / self.plan.train_size).backward()
        self.optimizer.step()
        self.steps_done += 1
        return {"loss": loss.item()}

    def end_epoch(self, epoch: int) -> dict[str, float]:
        return {}

    def predict(self, inputs: Tensor) -> Tensor:
        self.model.eval()
        return self.model(inputs)

    def final_metrics(self) -> dict[str, float]:
        """For real targets the mean square error in the units of the data."""
        if self.data.n_classes:
            return {}
        error = evaluate(self.predict, self.data, self.data.test, "test", _BATCH)["test/mse"]
        return {"test/mse_in_units": error * self.data.target_std**2}

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "steps_done": self.steps_done,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.steps_done = state["steps_done"]
