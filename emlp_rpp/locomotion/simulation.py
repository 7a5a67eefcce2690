"""The simulators, by gymnasium and MuJoCo (an extra: ``rl``), in the coordinates of ``environments``."""

import importlib
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from emlp_rpp.locomotion.converters import Array
from emlp_rpp.locomotion.environments import Locomotion
from symlab.errors import DependencyError


def import_extra(name: str) -> ModuleType:
    """A module of the extra ``rl``; the simulators and agents alone need it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of their own imports
            return importlib.import_module(name)
    except ImportError as error:
        raise DependencyError(
            f"MuJoCo robots need {name.partition('.')[0]}, which is not installed: run `pip install symlab[rl]`"
        ) from error


def make_simulator(robot: Locomotion) -> Any:
    """A gymnasium environment in raw coordinates; its episodes end after 1000 steps."""
    gymnasium = import_extra("gymnasium")
    import_extra("mujoco")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the robots' published files
        return gymnasium.make(robot.identifier, **robot.options)


def make_symmetric(robot: Locomotion) -> Any:
    """The same with observations and actions in the coordinates on which the group acts, float32."""
    gymnasium: Any = import_extra("gymnasium")
    wrapper: Any = gymnasium.Wrapper

    class Symmetric(wrapper):
        def __init__(self, env: Any):
            super().__init__(env)
            size, limit = robot.state.size, env.action_space.high
            self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
            ordered = np.abs(robot.action_order.apply(limit))
            self.action_space = gymnasium.spaces.Box(-ordered, ordered, dtype=np.float32)

        def reset(self, **keywords: Any) -> tuple[Array, dict[str, Any]]:
            observation, information = self.env.reset(**keywords)
            return self._read(observation), information

        def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
            observation, reward, terminated, truncated, information = self.env.step(robot.action_order.undo(action))
            return self._read(observation), float(reward), terminated, truncated, information

        @staticmethod
        def _read(observation: Array) -> Array:
            return robot.read_state(observation).astype(np.float32)

    return Symmetric(make_simulator(robot))
