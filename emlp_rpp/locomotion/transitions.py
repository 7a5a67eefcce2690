"""Chunks of recorded trajectories to learn transitions from, and longer ones to test them on (thesis, appendix A.2.3.4).

Test trajectories are drawn first, without overlap, from what the agent did without interruption; training chunks are drawn
uniformly from the rest, so that no transition of a test trajectory is learnt from. Chunks may overlap each other.

Layout: with states of n and actions of m numbers, a chunk of T steps is the input (x_0, u_0, ..., u_T-1), n + T m numbers,
and the target (x_1, ..., x_T), T n numbers.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from emlp_rpp.locomotion.agent_runs import AgentRecord, agent_record
from emlp_rpp.locomotion.agents import AgentSettings
from emlp_rpp.locomotion.converters import Array
from emlp_rpp.locomotion.environments import Locomotion
from symlab.data.dataset import Dataset, Split
from symlab.errors import DataError


@dataclass(frozen=True, kw_only=True)
class TransitionData(Dataset):
    """``states`` (N, times + 1, n) and ``actions`` (N, times, m), on the CPU: the test trajectories."""

    robot: Locomotion
    states: Tensor
    actions: Tensor


def build(
    agent: AgentSettings,
    root: str,
    train_size: int = 5000,
    chunk_steps: int = 10,
    test_size: int = 50,
    test_steps: int = 100,
    seed: int = 0,
) -> TransitionData:
    """``agent``: who is trained to record the data; the recording is kept under ``root``."""
    if min(train_size, chunk_steps, test_size) < 1 or test_steps < chunk_steps:
        raise DataError(
            f"data.train_size={train_size}, chunk_steps={chunk_steps}, test_size={test_size}, test_steps={test_steps} do "
            "not fit: from 1 on, test trajectories at least as long as chunks"
        )
    record = agent_record(agent, root)
    generator = np.random.default_rng(seed)
    tests = draw_windows(record.continued, test_steps, test_size, generator, "data.test_size")
    free = np.ones(len(record.states), dtype=bool)
    free[(tests[:, None] + np.arange(test_steps)).reshape(-1)] = False
    starts = chunk_starts(record.continued, free, chunk_steps)
    if len(starts) < train_size:
        raise DataError(
            f"data.train_size={train_size} does not fit: {len(starts)} chunks of {chunk_steps} steps were recorded beside "
            "the test trajectories; raise data.agent.steps"
        )
    train = cut_windows(record, generator.choice(starts, train_size, replace=False), chunk_steps)
    test = cut_windows(record, tests, test_steps)
    size = record.states.shape[1]
    return TransitionData(
        name=f"{agent.environment} transitions",
        train=as_split(*train, chunk_steps),
        validation=None,
        test=as_split(*test, chunk_steps),
        n_classes=0,
        mean=(0.0,) * (size + chunk_steps * record.actions.shape[1]),
        std=(1.0,) * (size + chunk_steps * record.actions.shape[1]),
        robot=agent.robot,
        states=test[0],
        actions=test[1],
    )


def unbroken_steps(continued: Array) -> Array:
    """For each transition how many follow on each other from it on, itself included: (T,) -> (T,)."""
    counts = np.ones(len(continued), dtype=np.int64)
    for at in range(len(continued) - 2, -1, -1):
        if continued[at]:
            counts[at] = counts[at + 1] + 1
    return counts


def chunk_starts(continued: Array, free: Array, steps: int) -> Array:
    """Where ``steps`` free transitions follow on each other."""
    onwards = continued & free & np.append(free[1:], False)  # to a free transition
    return np.flatnonzero(free & (unbroken_steps(onwards) >= steps))


def draw_windows(continued: Array, steps: int, count: int, generator: np.random.Generator, key: str) -> Array:
    """Starts of ``count`` windows of ``steps`` transitions that follow on each other, without overlap, in order."""
    run_starts = np.flatnonzero(np.append(True, ~continued[:-1]))
    lengths = unbroken_steps(continued)[run_starts]
    # Each run is cut into as many windows as fit, at a random offset, so that any of its parts can be drawn.
    candidates = [
        start + generator.integers(length % steps + 1) + steps * np.arange(length // steps)
        for start, length in zip(run_starts, lengths)
        if length >= steps
    ]
    starts = np.concatenate(candidates) if candidates else np.empty(0, dtype=np.int64)
    if len(starts) < count:
        raise DataError(
            f"{key}={count} does not fit: the agent made {len(starts)} trajectories of {steps} steps; raise "
            "data.agent.steps or lower data.test_steps"
        )
    return np.sort(generator.choice(starts, count, replace=False))


def cut_windows(record: AgentRecord, starts: Array, steps: int) -> tuple[Tensor, Tensor]:
    """States (N, steps + 1, n) and actions (N, steps, m)."""
    window = starts[:, None] + np.arange(steps)
    states = np.concatenate([record.states[starts][:, None], record.next_states[window]], axis=1)
    return torch.from_numpy(states), torch.from_numpy(record.actions[window])


def as_split(states: Tensor, actions: Tensor, steps: int) -> Split:
    inputs = torch.cat([states[:, 0], actions[:, :steps].flatten(1)], dim=1)
    return Split(inputs, states[:, 1 : steps + 1].flatten(1))
