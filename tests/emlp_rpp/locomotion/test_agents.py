"""Settings of agents; and, with the extra ``rl``, that policies and critics move with the robot and that penalties count."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from emlp_rpp.locomotion.agents import AgentSettings, build_agent
from emlp_rpp.locomotion.simulation import import_extra, make_simulator
from emlp_rpp.pathways import PathwayPrior
from symlab.errors import ConfigError, DependencyError

SMALL = AgentSettings("hopper", steps=40, segment_steps=20, learning_starts=30, batch_size=8, channels=16, layers=1)


def needs_the_extra() -> None:
    for module in ("gymnasium", "mujoco", "stable_baselines3"):
        try:
            import_extra(module)
        except DependencyError:
            pytest.skip("agents need the extra rl")


@pytest.mark.parametrize("module", ["gymnasium", "stable_baselines3"])
def test_without_the_extra_one_line_says_what_to_install(module, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DependencyError, match=rf"need {module}, which is not installed: run `pip install symlab\[rl\]`"):
        import_extra(module)
    if module == "gymnasium":
        with pytest.raises(DependencyError, match="pip install"):
            make_simulator(SMALL.robot)


def test_settings_that_do_not_fit():
    with pytest.raises(ConfigError, match=r"agent\.steps=45 does not fit: whole segments of 20"):
        replace(SMALL, steps=45)
    with pytest.raises(ConfigError, match=r"agent\.batch_size=0 does not fit"):
        replace(SMALL, batch_size=0)
    with pytest.raises(ConfigError, match="environment='snake'"):
        AgentSettings("snake")  # type: ignore[arg-type]


def equivariant(name: str) -> AgentSettings:
    return replace(SMALL, environment=name, kind="rpp", prior=PathwayPrior(1e6, 0.0), channels=32)


@pytest.mark.parametrize("name", ["hopper", "swimmer", "walker2d", "ant"])
def test_an_agent_without_residual_paths_moves_with_the_robot(name):
    needs_the_extra()
    agent = build_agent(equivariant(name))
    robot = agent.policy.settings.robot
    states, actions = torch.randn(5, robot.state.size), torch.rand(5, robot.action.size) * 2 - 1
    with torch.no_grad():
        mean, log_std, _ = agent.actor.get_action_dist_params(states)
        values = agent.critic(states, actions)
        for element in robot.elements:
            g, h, s = (torch.tensor(rho.matrix(element)).float() for rho in (robot.state, robot.action, robot.spread))
            moved_mean, moved_log_std, _ = agent.actor.get_action_dist_params(states @ g.T)
            torch.testing.assert_close(moved_mean, mean @ h.T, rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(moved_log_std, log_std @ s.T, rtol=1e-4, atol=1e-5)
            for value, moved in zip(values, agent.critic(states @ g.T, actions @ h.T)):
                torch.testing.assert_close(moved, value, rtol=1e-4, atol=1e-4)


def test_settings_reach_the_agent():
    needs_the_extra()
    agent = build_agent(replace(SMALL, kind="rpp", tau=0.004))
    assert (agent.tau, agent.gamma, agent.target_entropy) == (0.004, 0.99, -1.5)
    for part in (agent.actor, agent.critic):
        assert part.optimizer.defaults["betas"] == (0.5, 0.999)
        assert part.optimizer.defaults["lr"] == 3e-4
    plain = build_agent(SMALL)
    assert plain.actor.optimizer.defaults["betas"] == (0.9, 0.999)
    assert plain.actor.optimizer.penalty is None


def test_policies_start_small():
    needs_the_extra()
    for kind in ("mlp", "rpp", "rpp_policy"):
        agent = build_agent(replace(SMALL, kind=kind))
        state = np.random.default_rng(0).standard_normal(11).astype(np.float32)
        assert np.abs(agent.predict(state, deterministic=True)[0]).max() < 0.05


def test_a_step_follows_loss_and_penalty_with_a_cut_gradient():
    needs_the_extra()
    from emlp_rpp.locomotion.policies import CutAdam

    theta = torch.nn.Parameter(torch.tensor([3.0, -4.0]))
    optimizer = CutAdam([theta], gradient_norm=0.5, lr=0.1)
    optimizer.penalty = lambda: theta.square().sum() / 2
    theta.grad = torch.tensor([3.0, 4.0])
    optimizer.step()
    torch.testing.assert_close(theta.grad, torch.tensor([0.5, 0.0]), rtol=1e-4, atol=1e-6)  # (3 + 3, 4 - 4), cut
