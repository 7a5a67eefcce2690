"""Training an agent once for everybody who needs it: its transitions and its learning curve, kept under the data root.

    <root>/locomotion/<key>/settings.json     what the key is made of, and the versions of what computed it
                            checkpoint.pt     after each segment: agent, transitions and curve so far
                            transitions.npz   written last: states, actions, next states, rewards, ends, curve

The key is a hash of the settings. A segment starts a new episode with random numbers of its own, derived from the seed and
the segment's number, so a run that was killed goes on after its last whole segment and ends with the same numbers. A lock
keeps two processes from training the same agent; the second one waits for the first.
"""

import io
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from filelock import FileLock, Timeout

from emlp_rpp.locomotion.agents import AgentSettings, build_agent
from emlp_rpp.locomotion.converters import Array
from emlp_rpp.locomotion.simulation import import_extra, make_symmetric
from symlab.data.roots import find_file, make_writable, parse_roots
from symlab.errors import DataError
from symlab.records import run_key
from symlab.records.storage import write_atomically, write_json
from symlab.trainer.batches import derived_generator

logger = logging.getLogger(__name__)

FOLDER = "locomotion"
_FORMAT = 1  # of the key: another one makes older recordings unknown


@dataclass(frozen=True)
class AgentRecord:
    """T transitions in the order in which they happened, float32: ``states`` (T, n), ``actions`` (T, m) from -1 to 1,
    ``next_states`` (T, n), ``rewards`` (T,). ``continued`` (T,): whether the next transition follows on this one.
    ``curve`` (segments, 2): steps so far, mean return of the evaluated episodes."""

    states: Array
    actions: Array
    next_states: Array
    rewards: Array
    continued: Array
    curve: Array


def agent_key(settings: AgentSettings) -> str:
    """An agent of MLPs has no prior, whatever is set."""
    content = {"format": _FORMAT, **asdict(settings)}
    if settings.kind == "mlp":
        del content["prior"]
    return run_key(content)


def find_record(settings: AgentSettings, root: str) -> Path | None:
    return find_file(parse_roots(root), [f"{FOLDER}/{agent_key(settings)}/transitions.npz"])


def agent_record(settings: AgentSettings, root: str) -> AgentRecord:
    """Read where it is there, trained otherwise."""
    found = find_record(settings, root)
    if found is None:
        import_extra("stable_baselines3")  # before anything is written
        folder = parse_roots(root)[0] / FOLDER / agent_key(settings)
        make_writable(folder)
        with _locked(folder):
            found = find_record(settings, root) or _train(settings, folder)
    return _read(found)


class _locked:  # noqa: N801  (a context manager, read as a verb)
    def __init__(self, folder: Path):
        self.lock, self.folder = FileLock(folder / "lock"), folder

    def __enter__(self) -> None:
        try:
            self.lock.acquire(timeout=0)
        except Timeout:
            logger.info("%s: another process is training this agent, waiting", self.folder)
            self.lock.acquire()

    def __exit__(self, *error: object) -> None:
        self.lock.release()


def _read(path: Path) -> AgentRecord:
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            return AgentRecord(**{name: arrays[name] for name in AgentRecord.__dataclass_fields__})
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise DataError(f"{path} is damaged ({error}): delete it to record it again") from error


def _train(settings: AgentSettings, folder: Path) -> Path:
    """The caller holds the lock."""
    packages = ("gymnasium", "mujoco", "stable_baselines3", "torch")
    versions = {name: version(name) for name in packages}
    write_json(folder / "settings.json", {"settings": asdict(settings), "versions": versions})
    training = AgentTraining(settings)
    checkpoint = folder / "checkpoint.pt"
    if checkpoint.exists():
        training.load_state_dict(_load(checkpoint))
    while training.segment < settings.segments:
        steps, mean_return = training.run_segment()
        done = f"{steps} of {settings.steps} steps, return {mean_return:.1f}"
        logger.info("%s agent of %s: %s", settings.kind, settings.environment, done)
        write_atomically(checkpoint, lambda file: torch.save(training.state_dict(), file))
    path, content = folder / "transitions.npz", io.BytesIO()
    np.savez_compressed(content, **vars(training.record()))
    write_atomically(path, lambda file: file.write(content.getvalue()))
    checkpoint.unlink(missing_ok=True)
    return path


def _load(checkpoint: Path) -> dict[str, Any]:
    try:
        return torch.load(checkpoint, map_location="cpu", weights_only=True)
    except Exception as error:  # whatever a damaged file makes the reader raise
        raise DataError(f"{checkpoint} is damaged: delete it to train the agent again") from error


class AgentTraining:
    """An agent, segment by segment."""

    def __init__(self, settings: AgentSettings):
        self.settings, self.segment = settings, 0
        self.curve: list[tuple[float, float]] = []
        self.agent = build_agent(settings)
        self.judge = make_symmetric(settings.robot)

    def run_segment(self) -> tuple[int, float]:
        """The steps done and the mean return after them."""
        seed = self._seed("segment")
        import_extra("stable_baselines3.common.utils").set_random_seed(seed)
        self.agent.action_space.seed(seed)
        self.agent.env.seed(seed)
        self.agent._last_obs = None  # a new episode
        self.agent.learn(self.settings.segment_steps, reset_num_timesteps=False)
        point = float(self.agent.num_timesteps), self._mean_return()
        self.curve.append(point)
        self.segment += 1
        return int(point[0]), point[1]

    def _seed(self, purpose: str) -> int:
        generator = derived_generator(self.settings.seed, purpose, self.segment)
        return int(torch.randint(2**31 - 1, (), generator=generator))

    def _mean_return(self) -> float:
        """Of whole episodes with the most likely actions."""
        total = 0.0
        for episode in range(self.settings.evaluation_episodes):
            state, _ = self.judge.reset(seed=self._seed(f"evaluation {episode}"))
            ended = False
            while not ended:
                action, _ = self.agent.predict(state, deterministic=True)
                state, reward, terminated, truncated, _ = self.judge.step(action)
                total += reward
                ended = terminated or truncated
        return total / self.settings.evaluation_episodes

    def record(self) -> AgentRecord:
        buffer, size = self.agent.replay_buffer, self.agent.replay_buffer.size()
        states, next_states = buffer.observations[:size, 0], buffer.next_observations[:size, 0]
        continued = np.append((states[1:] == next_states[:-1]).all(axis=1), False)
        return AgentRecord(
            states=states,
            actions=buffer.actions[:size, 0],
            next_states=next_states,
            rewards=buffer.rewards[:size, 0],
            continued=continued,
            curve=np.array(self.curve),
        )

    def state_dict(self) -> dict[str, Any]:
        agent, buffer = self.agent, self.agent.replay_buffer
        size = buffer.size()
        kept = {name: torch.from_numpy(getattr(buffer, name)[:size]) for name in _BUFFERED}
        return {
            "segment": self.segment,
            "curve": self.curve,
            "parameters": agent.get_parameters(),
            "log_temperature": agent.log_ent_coef.detach(),
            "steps": agent.num_timesteps,
            "updates": agent._n_updates,
            "buffer": kept,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        agent, buffer = self.agent, self.agent.replay_buffer
        self.segment, self.curve = state["segment"], [tuple(point) for point in state["curve"]]
        agent.set_parameters(state["parameters"], exact_match=True)
        with torch.no_grad():
            agent.log_ent_coef.copy_(state["log_temperature"])
        agent.num_timesteps, agent._n_updates = state["steps"], state["updates"]
        size = len(state["buffer"]["rewards"])
        for name in _BUFFERED:
            getattr(buffer, name)[:size] = state["buffer"][name].numpy()
        buffer.pos, buffer.full = size % buffer.buffer_size, size == buffer.buffer_size


_BUFFERED = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
