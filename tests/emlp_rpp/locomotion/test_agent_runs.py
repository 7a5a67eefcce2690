"""Recordings: what is stored is what happened, a killed run goes on to the same end. Most need the extra ``rl``."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from emlp_rpp.locomotion.agent_runs import AgentRecord, AgentTraining, agent_key, agent_record
from emlp_rpp.locomotion.learning_curves import LearningCurve
from emlp_rpp.locomotion.simulation import make_symmetric
from emlp_rpp.pathways import PathwayPrior
from symlab.errors import DataError, DependencyError
from tests.emlp_rpp.locomotion.recordings import recording
from tests.emlp_rpp.locomotion.test_agents import SMALL, needs_the_extra


def assert_same(first: AgentRecord, second: AgentRecord) -> None:
    for name, array in vars(first).items():
        np.testing.assert_array_equal(array, getattr(second, name), err_msg=name)


def test_every_setting_enters_the_key():
    assert agent_key(SMALL) == agent_key(replace(SMALL))
    assert len({agent_key(replace(SMALL, **change)) for change in ({}, {"seed": 1}, {"tau": 0.004}, {"steps": 60})}) == 4
    other = {"prior": PathwayPrior(1.0, 1.0)}
    assert agent_key(replace(SMALL, **other)) == agent_key(SMALL)  # MLPs have none
    assert agent_key(replace(SMALL, kind="rpp", **other)) != agent_key(replace(SMALL, kind="rpp"))


def test_a_recording_that_is_there_is_read_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    folder = tmp_path / "locomotion" / agent_key(SMALL)
    folder.mkdir(parents=True)
    np.savez(folder / "transitions.npz", **vars(recording("hopper", 40)))
    assert_same(agent_record(SMALL, str(tmp_path)), recording("hopper", 40))


def test_without_the_extra_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(DependencyError, match=r"pip install symlab\[rl\]"):
        agent_record(SMALL, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_recording_is_named(tmp_path):
    folder = tmp_path / "locomotion" / agent_key(SMALL)
    folder.mkdir(parents=True)
    (folder / "transitions.npz").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(DataError, match=r"transitions\.npz is damaged"):
        agent_record(SMALL, str(tmp_path))


def test_a_recording_is_what_the_simulator_did(tmp_path):
    needs_the_extra()
    record = agent_record(SMALL, str(tmp_path))
    assert record.states.shape == (40, 11)
    assert record.actions.shape == (40, 3)
    assert record.curve[:, 0].tolist() == [20, 40]
    assert not record.continued[19]  # a segment starts a new episode
    env = make_symmetric(SMALL.robot)
    env.reset(seed=0)
    for at in np.flatnonzero(record.continued)[:5]:
        np.testing.assert_array_equal(record.next_states[at], record.states[at + 1])
        position = env.unwrapped.data.qpos.copy()
        position[1:] = record.states[at][:5]
        env.unwrapped.set_state(position, record.states[at][5:].astype(float))
        if np.abs(record.states[at][5:]).max() < 10:  # observed velocities are cut there
            state, reward, *_ = env.step(record.actions[at])
            np.testing.assert_allclose(state, record.next_states[at], atol=1e-3)
            assert reward == pytest.approx(record.rewards[at], abs=1e-2)


@pytest.mark.parametrize("kind", ["mlp", "rpp"])
def test_a_killed_run_goes_on_to_the_same_end(kind, tmp_path, monkeypatch):
    needs_the_extra()
    settings = replace(SMALL, kind=kind, learning_starts=15)
    whole = agent_record(settings, str(tmp_path / "whole"))
    run_segment = AgentTraining.run_segment

    def killed(training):
        if training.segment == 1:
            raise KeyboardInterrupt
        return run_segment(training)

    monkeypatch.setattr(AgentTraining, "run_segment", killed)
    with pytest.raises(KeyboardInterrupt):
        agent_record(settings, str(tmp_path / "broken"))
    folder = tmp_path / "broken" / "locomotion" / agent_key(settings)
    assert sorted(path.name for path in folder.iterdir()) == ["checkpoint.pt", "lock", "settings.json"]
    monkeypatch.setattr(AgentTraining, "run_segment", run_segment)
    assert_same(agent_record(settings, str(tmp_path / "broken")), whole)
    assert not (folder / "checkpoint.pt").exists()


def test_a_curve_is_the_largest_return_so_far(monkeypatch):
    record = replace(recording("hopper", 40), curve=np.array([[10, 3.0], [20, 1.0], [30, 5.0], [40, 4.0]]))
    monkeypatch.setattr("emlp_rpp.locomotion.learning_curves.agent_record", lambda settings, root: record)
    computed = LearningCurve(SMALL, "nowhere").compute()
    assert computed.arrays["best"].tolist() == [3, 3, 5, 5]
    assert computed.metrics == {"return/best": 5.0, "return/mean": 4.0, "return/last": 4.0}
