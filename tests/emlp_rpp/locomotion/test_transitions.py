"""Windows of recordings, against loops over every start."""

import numpy as np
import pytest
import torch

from emlp_rpp.locomotion import transitions
from emlp_rpp.locomotion.agent_runs import AgentRecord
from emlp_rpp.locomotion.agents import AgentSettings
from emlp_rpp.locomotion.transitions import build, chunk_starts, cut_windows, draw_windows, unbroken_steps
from symlab.errors import DataError
from tests.emlp_rpp.locomotion.recordings import recording


def test_unbroken_steps_are_counted_forwards():
    continued = np.array([True, True, False, False, True, False])
    assert unbroken_steps(continued).tolist() == [3, 2, 1, 1, 2, 1]


def test_chunks_start_wherever_enough_free_transitions_follow_on_each_other():
    generator = np.random.default_rng(0)
    continued, free, steps = generator.random(300) < 0.9, generator.random(300) < 0.9, 4
    expected = [
        start
        for start in range(300 - steps + 1)
        if free[start : start + steps].all() and continued[start : start + steps - 1].all()
    ]
    assert chunk_starts(continued, free, steps).tolist() == expected
    assert expected


def test_windows_do_not_overlap_and_are_unbroken():
    continued = np.random.default_rng(1).random(2000) < 0.98
    starts = draw_windows(continued, 20, 30, np.random.default_rng(0), "data.test_size")
    assert len(starts) == 30
    assert (np.diff(starts) >= 20).all()
    assert all(continued[start : start + 19].all() for start in starts)


def test_too_few_windows_say_what_to_change():
    with pytest.raises(DataError, match=r"data\.test_size=5 does not fit: the agent made 2 trajectories of 10 steps"):
        draw_windows(np.append(np.ones(19, dtype=bool), False), 10, 5, np.random.default_rng(0), "data.test_size")


def test_a_window_is_what_happened():
    record = recording("swimmer", 40)
    states, actions = cut_windows(record, np.array([3, 11]), 5)
    assert states.shape == (2, 6, 8)
    assert actions.shape == (2, 5, 2)
    np.testing.assert_array_equal(states[1].numpy(), np.vstack([record.states[11:16], record.next_states[15]]))
    np.testing.assert_array_equal(actions[0].numpy(), record.actions[3:8])


@pytest.fixture
def built(monkeypatch) -> tuple[AgentRecord, transitions.TransitionData]:
    record = recording("swimmer", 600)
    monkeypatch.setattr(transitions, "agent_record", lambda settings, root: record)
    return record, build(AgentSettings("swimmer"), "nowhere", 50, 10, 3, 100)


def test_the_data_set(built):
    _, data = built
    assert data.train.inputs.shape == (50, 8 + 10 * 2)
    assert data.train.targets.shape == (50, 80)
    assert data.states.shape == (3, 101, 8)
    assert data.actions.shape == (3, 100, 2)
    torch.testing.assert_close(data.test.inputs, torch.cat([data.states[:, 0], data.actions[:, :10].flatten(1)], 1))
    torch.testing.assert_close(data.test.targets.unflatten(1, (10, 8)), data.states[:, 1:11])


def test_no_training_chunk_shares_a_transition_with_a_test_trajectory(built):
    _, data = built
    learnt = {tuple(row) for row in data.train.targets.unflatten(1, (10, 8)).flatten(0, 1).tolist()}
    tested = {tuple(row) for row in data.states[:, 1:].flatten(0, 1).tolist()}
    assert not learnt & tested


def test_sizes_that_do_not_fit(monkeypatch):
    monkeypatch.setattr(transitions, "agent_record", lambda settings, root: recording("swimmer", 200))
    with pytest.raises(DataError, match=r"data\.train_size=5000 does not fit: \d+ chunks of 10 steps were recorded"):
        build(AgentSettings("swimmer"), "nowhere", test_size=1)
    with pytest.raises(DataError, match="test_steps=5 do not fit"):
        build(AgentSettings("swimmer"), "nowhere", test_steps=5)
