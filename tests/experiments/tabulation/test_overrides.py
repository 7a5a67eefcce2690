import pytest

from experiments.tabulation.overrides import is_override, merge_overrides, override_key


@pytest.mark.parametrize(
    ("override", "key"),
    [("a=1", "a"), ("+a.b=1", "a.b"), ("++a/b=c=d", "a/b"), ("~a", "a"), ("a = 1", "a")],
)
def test_key_is_the_text_before_the_value(override: str, key: str) -> None:
    assert override_key(override) == key


def test_last_of_a_key_wins_and_order_is_kept_otherwise() -> None:
    assert merge_overrides(["a=1", "b=1", "c=1"], [], ["++b=2", "d=1"], ["+a=3"]) == ("c=1", "++b=2", "d=1", "+a=3")


def test_group_and_value_inside_it_are_different_keys() -> None:
    assert merge_overrides(["data=x"], ["data/source=y", "data.source.z=1"]) == (
        "data=x",
        "data/source=y",
        "data.source.z=1",
    )


@pytest.mark.parametrize(("text", "valid"), [("a=1", True), ("~a", True), ("a", False), ("=1", False), ("+=1", False)])
def test_shape(text: str, valid: bool) -> None:
    assert is_override(text) is valid
