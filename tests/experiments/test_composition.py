from pathlib import Path

import pytest
from hydra.errors import HydraException

from experiments.composition import COMPUTATION, CONFIGURATION, EXECUTION_GROUPS, SCIENTIFIC_GROUPS, compose_run
from symlab.errors import ConfigError


def choices(group: str) -> list[str]:
    return sorted(file.stem for file in (CONFIGURATION / group).glob("*.yaml"))


PARTS = {"data/source": "data=mnist", "data/variant": "data=mnist", "computation/group": "computation=emlp_rank"}
PARTS |= {
    "model/network": "model=tensor_map",
    "model/prior": "model=pathway_convnet",
}  # of a configuration that must be chosen with them
PARTS |= {f"model/{part}": "model=invariant_rff" for part in ("transformations", "sampler", "head")}
GROUPS = (*SCIENTIFIC_GROUPS, COMPUTATION, *EXECUTION_GROUPS, *PARTS)
EVERY_CHOICE = [f"{group}={choice}" for group in GROUPS for choice in choices(group)]
REQUIRED_VALUES = {"data=image_folder": ["data.path=pictures"]}  # what has no default


@pytest.mark.parametrize("choice", EVERY_CHOICE)
def test_every_configuration_composes_and_binds_to_its_constructor(choice: str):
    needed = PARTS.get(choice.partition("=")[0])
    chosen = [needed, choice] if needed else [choice]
    assert compose_run([*chosen, *REQUIRED_VALUES.get(choice, [])]).key


def test_every_folder_of_conf_is_a_group_that_is_tested():
    folders = {str(path.relative_to(CONFIGURATION)) for path in Path(CONFIGURATION).rglob("*") if path.is_dir()}
    assert folders - set(GROUPS) == {"data/base"}  # parts that data configurations include, composed with them


def test_execution_does_not_enter_the_key_and_science_does():
    key = compose_run([]).key
    same = ["hardware.threads=1", "tracking=off", "paths.runs=/elsewhere", "data.root=/data", "execution.progress=none"]
    assert compose_run(same).key == key
    for change in ("seed=1", "model.hidden=[10]", "learner.prior_precision=2", "trainer.epochs=3", "data.train_size=50"):
        assert compose_run([change]).key != key


def test_only_the_computation_decides_the_key_of_a_computed_run():
    base = ["computation=emlp_rank", "computation/group=so"]
    computed = compose_run(base)
    assert computed.is_computed
    assert set(computed.scientific) == {"seed", "computation"}
    assert compose_run([*base, "data=mnist", "trainer.epochs=7"]).key == computed.key
    assert compose_run([*base, "computation.p=4"]).key != computed.key
    assert compose_run([*base, "computation.group.p=4"]).key != computed.key
    with pytest.raises(ConfigError, match=r"computation\.p='many' does not fit"):
        compose_run([*base, "computation.p=many"])


def test_two_ways_to_ask_for_the_same_science_have_one_key():
    assert compose_run(["learner.prior_precision=1"]).key == compose_run(["learner.prior_precision=1.0"]).key
    assert compose_run(["learner.learning_rate=1e-2"]).key == compose_run(["learner.learning_rate=0.01"]).key
    assert compose_run(["~learner.final_learning_rate"]).key == compose_run([]).key  # its constructor's default


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("seed=first", "seed='first' does not fit"),
        ("seed=-1", "seed=-1 does not fit"),
        ("+colour=red", "colour is unknown"),
        ("trainer.epochs=many", r"trainer\.epochs='many' does not fit"),
        ("+learner.momentum=0.9", r"learner\.momentum is unknown"),
    ],
)
def test_complaints_name_the_key(override: str, message: str):
    with pytest.raises((ConfigError, HydraException), match=message):
        compose_run([override])
