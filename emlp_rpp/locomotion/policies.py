"""Policies and critics of soft actor-critic whose networks are RPP-EMLPs (thesis, section 3.6.1). Needs the extra ``rl``.

    policy    rho_X -> rho_U + |rho_U|     means and log standard deviations; a deviation has no sign, so it moves as |rho_U|
    critics   rho_X + rho_U -> R

An equivariant policy draws rho_U(g) u for rho_X(g) x as often as u for x, since squashing by tanh is odd and keeps order.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from stable_baselines3.common.policies import ContinuousCritic
from stable_baselines3.sac.policies import LOG_STD_MAX, LOG_STD_MIN, Actor, SACPolicy
from torch import Tensor, nn

from emlp_rpp.locomotion.agents import AgentSettings
from emlp_rpp.pathways import PathwayEMLP, negative_log_prior
from emlp_rpp.representations import Representation

LAST_LAYER_START = 0.01  # in units of its usual start


class CutAdam(torch.optim.Adam):
    """Adam on the gradient of the loss plus that of ``penalty``, cut at norm ``gradient_norm``."""

    def __init__(self, parameters: Iterable[Tensor], gradient_norm: float, **keywords: Any):
        super().__init__(parameters, **keywords)
        self.gradient_norm = gradient_norm
        self.penalty: Callable[[], Tensor] | None = None

    def step(self, closure: Any = None) -> Any:
        parameters = [p for group in self.param_groups for p in group["params"] if p.grad is not None]
        if self.penalty is not None:
            with torch.enable_grad():
                found = torch.autograd.grad(self.penalty(), parameters, allow_unused=True)
            for parameter, gradient in zip(parameters, found):
                if gradient is not None and parameter.grad is not None:
                    parameter.grad.add_(gradient)
        nn.utils.clip_grad_norm_(parameters, self.gradient_norm)
        return super().step(closure)


class PathwayActor(Actor):
    def __init__(self, settings: AgentSettings, **keywords: Any):
        super().__init__(**keywords)
        del self.latent_pi, self.mu, self.log_std  # the layers of an MLP
        robot = settings.robot
        self.network = pathway_network(settings, robot.state, robot.action + robot.spread)
        shrink(self.network.output)

    def get_action_dist_params(self, obs: Any) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
        mean, log_std = self.network(self.extract_features(obs, self.features_extractor)).chunk(2, dim=-1)
        return mean, log_std.clamp(LOG_STD_MIN, LOG_STD_MAX), {}


class PathwayCritic(ContinuousCritic):
    def __init__(self, settings: AgentSettings, **keywords: Any):
        super().__init__(**keywords)
        robot = settings.robot
        for index in range(self.n_critics):
            source = robot.state + robot.action
            self.q_networks[index] = pathway_network(settings, source, Representation.scalar(robot.group))
            setattr(self, f"qf{index}", self.q_networks[index])


def pathway_network(settings: AgentSettings, source: Representation, target: Representation) -> PathwayEMLP:
    return PathwayEMLP(source, target, settings.robot.hidden(settings.channels), settings.layers, settings.prior)


@torch.no_grad()
def shrink(layer: nn.Module) -> None:
    for parameter in layer.parameters():
        parameter.mul_(LAST_LAYER_START)


class PlainPolicy(SACPolicy):
    """MLPs with the settings that all agents share."""

    def __init__(self, *arguments: Any, settings: AgentSettings, **keywords: Any):
        self.settings = settings
        keywords |= {
            "net_arch": [settings.channels] * settings.layers,
            "optimizer_class": CutAdam,
            "optimizer_kwargs": {"gradient_norm": settings.gradient_norm, "betas": settings.betas},
        }
        super().__init__(*arguments, **keywords)

    def make_actor(self, features_extractor: Any = None) -> Actor:
        actor = super().make_actor(features_extractor)
        for layer in (actor.mu, actor.log_std):
            assert isinstance(layer, nn.Module)
            shrink(layer)
        return actor


class PathwayActorPolicy(PlainPolicy):
    """An RPP-EMLP acts, MLPs criticise (appendix A.2.2)."""

    def make_actor(self, features_extractor: Any = None) -> Actor:
        keywords = self._update_features_extractor(self.actor_kwargs, features_extractor)
        return PathwayActor(self.settings, **keywords).to(self.device)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self._penalise(self.actor)

    def _penalise(self, part: Any) -> None:
        """The prior counts once for all transitions of the run."""
        part.optimizer.penalty = lambda: negative_log_prior(part) / self.settings.steps


class PathwayPolicy(PathwayActorPolicy):
    """RPP-EMLPs act and criticise."""

    def make_critic(self, features_extractor: Any = None) -> ContinuousCritic:
        keywords = self._update_features_extractor(self.critic_kwargs, features_extractor)
        return PathwayCritic(self.settings, **keywords).to(self.device)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self._penalise(self.critic)


POLICIES = {"mlp": PlainPolicy, "rpp": PathwayPolicy, "rpp_policy": PathwayActorPolicy}
