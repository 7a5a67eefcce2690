"""Learning curves of agents (thesis, Figure 3.4): the largest mean return so far, after each segment of training."""

from dataclasses import dataclass

import numpy as np

from emlp_rpp.locomotion.agent_runs import agent_record
from emlp_rpp.locomotion.agents import AgentSettings
from symlab.computed import Computed


@dataclass(frozen=True)
class LearningCurve:
    """``root``: where the agent is kept, so that a killed run goes on and a finished one is not repeated."""

    agent: AgentSettings
    root: str

    def compute(self) -> Computed:
        """``return/best`` at the end, ``return/mean``, the average of the curve, which is larger for who learns sooner, and
        ``return/last``, of the last agent."""
        steps, returns = agent_record(self.agent, self.root).curve.T
        best = np.maximum.accumulate(returns)
        metrics = {"return/best": float(best[-1]), "return/mean": float(best.mean()), "return/last": float(returns[-1])}
        return Computed(metrics, arrays={"steps": steps, "returns": returns, "best": best})
