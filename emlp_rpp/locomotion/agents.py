"""Soft actor-critic by stable-baselines3 (an extra: ``rl``), with the settings of the thesis (appendix A.2.3.3).

Learned temperature from 1 with target entropy -dim(U)/2, two critics, Adam at 3e-4, 256 transitions a step, gradients cut
at norm 0.5, one step of learning a step of the simulator after the first ``learning_starts``, which are random. The last
layer of the policy starts 100 times smaller. For RPP agents Adam has betas (0.5, 0.999).

The negative log prior of RPP-EMLPs, divided by the number of transitions of the run, is added to the losses of policy and
critics.

# Paper: prints no prior variances for agents; these are the ones of its transition models, 1e6 and 3. The residual path has
# the rate of the equivariant one here: stable-baselines3 sets one rate for all parameters of an optimiser.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from emlp_rpp.locomotion.environments import Locomotion, Name, locomotion
from emlp_rpp.locomotion.simulation import import_extra, make_symmetric
from emlp_rpp.pathways import PathwayPrior
from symlab.errors import ConfigError

Kind = Literal["mlp", "rpp", "rpp_policy"]

_LEAST = {"steps": 1, "segment_steps": 1, "evaluation_episodes": 1, "batch_size": 1, "channels": 1, "layers": 1}


@dataclass(frozen=True)
class AgentSettings:
    """``kind``: MLPs, RPP-EMLPs for policy and critics, or for the policy only. ``steps`` of the simulator are run in
    segments, after each of which the agent is evaluated and stored. ``tau``: speed of the critics' moving average."""

    environment: Name
    kind: Kind = "mlp"
    steps: int = 1_000_000
    segment_steps: int = 10_000
    evaluation_episodes: int = 5
    learning_starts: int = 10_000
    learning_rate: float = 3e-4
    tau: float = 0.005
    discount: float = 0.99
    batch_size: int = 256
    gradient_norm: float = 0.5
    channels: int = 256
    layers: int = 2
    prior: PathwayPrior = field(default_factory=lambda: PathwayPrior(1e6, 3.0))
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ConfigError(f"agent.{name}={getattr(self, name)} does not fit: at least {least} is needed")
        if self.steps % self.segment_steps:
            raise ConfigError(f"agent.steps={self.steps} does not fit: whole segments of {self.segment_steps} are needed")
        self.robot  # noqa: B018  (an unknown environment is an error now)

    @property
    def robot(self) -> Locomotion:
        return locomotion(self.environment)

    @property
    def segments(self) -> int:
        return self.steps // self.segment_steps

    @property
    def betas(self) -> tuple[float, float]:
        return (0.9, 0.999) if self.kind == "mlp" else (0.5, 0.999)


def build_agent(settings: AgentSettings) -> Any:
    """stable-baselines3's SAC on the robot in symmetric coordinates; everything it recorded stays in its replay buffer."""
    baselines = import_extra("stable_baselines3")
    from emlp_rpp.locomotion.policies import POLICIES

    robot = settings.robot
    return baselines.SAC(
        POLICIES[settings.kind],
        make_symmetric(robot),
        learning_rate=settings.learning_rate,
        buffer_size=settings.steps,
        learning_starts=settings.learning_starts,
        batch_size=settings.batch_size,
        tau=settings.tau,
        gamma=settings.discount,
        ent_coef="auto_1.0",
        target_entropy=-robot.action.size / 2,
        policy_kwargs={"settings": settings},
        seed=settings.seed,
        device="cpu",
    )
