from collections.abc import Callable, Mapping
from typing import Literal

import pytest

from experiments.binding import bind
from symlab.errors import ConfigError


class Inner:
    def __init__(self, width: int = 3):
        self.width = width


class Outer:
    def __init__(
        self,
        model: object,
        rate: float,
        sizes: tuple[int, ...] = (1, 2),
        kind: Literal["a", "b"] = "a",
        limit: int | None = None,
        inner: Callable[[], Inner] | None = None,
        parts: Mapping[str, Callable[[], Inner]] | None = None,
    ):
        pass


def bound(**values):
    return bind({"_target_": "tests.experiments.test_binding.Outer", "_partial_": True, **values}, "learner", SUPPLIED)


SUPPLIED = frozenset({"model"})


def test_defaults_are_filled_in_and_numbers_get_their_type():
    result = bound(rate=1)
    assert result["rate"] == 1.0
    assert isinstance(result["rate"], float)
    assert {key: result[key] for key in ("sizes", "kind", "limit", "inner", "parts")} == {
        "sizes": (1, 2),
        "kind": "a",
        "limit": None,
        "inner": None,
        "parts": None,
    }
    assert "model" not in result


def test_nested_nodes_are_bound_too():
    node = {"_target_": "tests.experiments.test_binding.Inner", "_partial_": True}
    assert bound(rate=0.1, inner=node)["inner"] == {**node, "width": 3}
    with pytest.raises(ConfigError, match=r"learner\.inner\.height is unknown: .*Inner takes width"):
        bound(rate=0.1, inner={**node, "height": 1})


def test_named_nodes_are_bound_one_by_one():
    node = {"_target_": "tests.experiments.test_binding.Inner", "_partial_": True}
    parts = {"left": node, "right": {**node, "width": 4}}
    assert bound(rate=0.1, parts=parts)["parts"] == {"left": {**node, "width": 3}, "right": {**node, "width": 4}}
    with pytest.raises(ConfigError, match=r"learner\.parts\.right\.height is unknown: .*Inner takes width"):
        bound(rate=0.1, parts={"left": node, "right": {**node, "height": 1}})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rate": "fast"}, r"learner\.rate='fast' does not fit"),
        ({"rate": "1.0"}, r"learner\.rate='1\.0' does not fit"),
        ({"rate": True}, r"learner\.rate=True does not fit"),
        ({"rate": 1.0, "sizes": [1, "two"]}, r"learner\.sizes\.1=\[1, 'two'\] does not fit"),
        ({"rate": 1.0, "kind": "c"}, r"learner\.kind='c' does not fit: Input should be 'a' or 'b'"),
        ({"rate": 1.0, "limit": 1.5}, r"learner\.limit=1\.5 does not fit"),
        ({"rate": 1.0, "speed": 2}, r"learner\.speed is unknown: .*Outer takes inner, kind, limit, parts, rate, sizes"),
        ({"rate": "???"}, r"learner\.rate has no value"),
        ({}, r"learner\.rate is missing"),
    ],
)
def test_complaints_name_the_key(values, message):
    with pytest.raises(ConfigError, match=message):
        bound(**values)


def test_a_target_that_does_not_exist_is_named():
    with pytest.raises(ConfigError, match=r"model\._target_=symlab\.nothing cannot be imported"):
        bind({"_target_": "symlab.nothing"}, "model")
