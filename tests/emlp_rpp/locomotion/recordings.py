"""Recordings without a simulator: a linear system that moves as the robot's representation says, and random actions."""

import numpy as np

from emlp_rpp.locomotion.agent_runs import AgentRecord
from emlp_rpp.locomotion.environments import locomotion


def recording(name: str, steps: int, episode: int = 200) -> AgentRecord:
    robot, generator = locomotion(name), np.random.default_rng(0)
    n, m = robot.state.size, robot.action.size
    inwards = 0.3 * generator.standard_normal((n, m))
    states, next_states = np.empty((steps, n), np.float32), np.empty((steps, n), np.float32)
    actions = generator.uniform(-1, 1, (steps, m)).astype(np.float32)
    for at in range(steps):
        states[at] = generator.standard_normal(n) if at % episode == 0 else next_states[at - 1]
        next_states[at] = 0.95 * states[at] + inwards @ actions[at]
    continued = (np.arange(steps) + 1) % episode != 0
    continued[-1] = False
    return AgentRecord(states, actions, next_states, np.zeros(steps, np.float32), continued, np.array([[steps, 1.0]]))
