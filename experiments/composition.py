"""From overrides to a checked configuration and its key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf

from experiments.binding import bind
from symlab.errors import ConfigError
from symlab.records import run_key

CONFIGURATION = Path(__file__).resolve().parent.parent / "conf"

# What the application passes when it calls a partially bound group, by parameter name.
SUPPLIED: dict[str, frozenset[str]] = {
    "model": frozenset({"input_shape", "n_outputs"}),
    "learner": frozenset({"model", "plan", "data", "seed"}),
}
SCIENTIFIC_GROUPS = ("data", "model", "learner", "trainer")
COMPUTATION = "computation"  # in the place of the scientific groups where nothing is trained
EXECUTION_GROUPS = ("hardware", "tracking", "paths", "execution")


@dataclass(frozen=True)
class RunConfig:
    """A checked configuration: plain dictionaries whose values have the types of the constructors they go to."""

    seed: int
    groups: Mapping[str, dict[str, Any]]

    @property
    def scientific(self) -> dict[str, Any]:
        """What decides the numbers: the seed and these groups, without the place where data lie."""
        names = (COMPUTATION,) if self.is_computed else SCIENTIFIC_GROUPS
        return {"seed": self.seed} | {name: _without_root(self.groups[name]) for name in names}

    @property
    def is_computed(self) -> bool:
        """Whether the run is a computation without data, model, learner and trainer."""
        return COMPUTATION in self.groups

    @property
    def key(self) -> str:
        return run_key(self.scientific)

    def as_yaml(self) -> str:
        return OmegaConf.to_yaml(OmegaConf.create({"seed": self.seed, **self.groups}))


def _without_root(node: Any) -> Any:
    if isinstance(node, Mapping):
        return {key: _without_root(value) for key, value in node.items() if key != "root"}
    return node


def check(config: DictConfig) -> RunConfig:
    """Resolve and check a composed configuration; every complaint names the key."""
    plain = OmegaConf.to_container(config, resolve=True, throw_on_missing=False)
    assert isinstance(plain, dict)
    known = (*SCIENTIFIC_GROUPS, COMPUTATION, *EXECUTION_GROUPS)
    for key in map(str, plain):
        if key != "seed" and key not in known:
            raise ConfigError(f"{key} is unknown: a run has seed, {', '.join(known)}")
    names = (*((COMPUTATION,) if plain.get(COMPUTATION) else SCIENTIFIC_GROUPS), *EXECUTION_GROUPS)
    seed = plain["seed"]
    if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0:
        raise ConfigError(f"seed={seed!r} does not fit: a whole number from 0 on is needed")
    groups = {}
    for name in names:
        if not isinstance(plain[name], dict) or "_target_" not in plain[name]:
            raise ConfigError(f"{name}={plain[name]!r} does not fit: choose a configuration of conf/{name}")
        groups[name] = bind(plain[name], name, SUPPLIED.get(name, frozenset()))
    return RunConfig(seed, groups)


def compose_run(overrides: Sequence[str]) -> RunConfig:
    """What ``python -m experiments.run <overrides>`` would run."""
    with initialize_config_dir(str(CONFIGURATION), version_base="1.3"):
        return check(compose("config", overrides=list(overrides)))
