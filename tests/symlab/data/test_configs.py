"""Every data config composes, binds to its constructor, and can be changed from the command line without '+'."""

import inspect
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from hydra.utils import get_class, get_method, instantiate
from omegaconf import OmegaConf

CONF = Path(__file__).resolve().parents[3] / "conf"


def names(folder: str) -> list[str]:
    return sorted(path.stem for path in (CONF / folder).glob("*.yaml"))


def data_config(*overrides: str) -> dict[str, Any]:
    with initialize_config_dir(str(CONF), version_base=None):
        config = compose(overrides=list(overrides))
    container = OmegaConf.to_container(config.data, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}


def assert_binds(node: dict[str, Any]) -> None:
    """Every key is an argument, every argument a key."""
    values = {key: value for key, value in node.items() if key != "_target_"}
    target = node["_target_"]
    function = get_method(target) if target.rpartition(".")[2].islower() else get_class(target)
    assert set(values) == set(inspect.signature(function).parameters)
    for value in values.values():
        if isinstance(value, dict):
            assert_binds(value)


@pytest.mark.parametrize("name", names("data"))
def test_every_data_config_binds(name: str) -> None:
    assert_binds(data_config(f"+data={name}"))


@pytest.mark.parametrize(
    "choice", [f"data/{group}={name}" for group in ("source", "variant") for name in names(f"data/{group}")]
)
def test_every_source_and_every_variant_can_be_chosen(choice: str) -> None:
    assert_binds(data_config("+data=mnist", choice))


def test_values_can_be_overridden() -> None:
    config = data_config("+data=mnist", "data/variant=rotated", "data.train_size=1000", "data.root=/x", "data.seed=3")
    assert (config["train_size"], config["root"], config["seed"]) == (1000, "/x", 3)
    assert config["variant"]["max_degrees"] == 180.0


def test_what_a_data_config_sets_is_not_reset_by_the_base() -> None:
    assert data_config("+data=quadrant_mnist")["resolution"] == 32
    assert data_config("+data=rotmnist")["mean"] == [0.12996]


def test_the_root_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMLAB_DATA", "/somewhere")
    assert data_config("+data=mnist")["root"] == "/somewhere"
    monkeypatch.delenv("SYMLAB_DATA")
    assert data_config("+data=uci_wine")["root"] == "data"


def test_sources_follow_the_resolution() -> None:
    assert data_config("+data=isic2019", "data.resolution=48")["source"]["resolution"] == 48


def test_the_offline_default_works(tmp_path: Path) -> None:
    config = data_config("+data=digits", f"data.root={tmp_path}", "data.source.stand_in_for=MNIST", "data.resolution=28")
    dataset = instantiate(config)
    assert dataset.input_shape == (1, 28, 28)
    assert dataset.notes == ("scikit-learn digits in the place of MNIST.",)
