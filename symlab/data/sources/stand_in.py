"""The sentence that every table shows if a run used one data set in the place of another."""


def stand_in_notes(name: str, stand_in_for: str | None) -> tuple[str, ...]:
    """No note, or "<name> in the place of <stand_in_for>."."""
    return () if stand_in_for is None else (f"{name} in the place of {stand_in_for}.",)
