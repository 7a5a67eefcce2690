"""Every rendered form, character by character; regenerate_golden.py writes the expected files."""

from collections.abc import Callable
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"
NAMES = ("TABLE.md", "claims.csv", "environment.json", "measured.csv", "table.html", "table.tex", "terminal.txt")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory, render_sample: Callable[[Path], None]) -> Path:
    directory = tmp_path_factory.mktemp("rendered")
    render_sample(directory)
    return directory


@pytest.mark.parametrize("name", NAMES)
def test_file_equals_golden(name: str, rendered: Path) -> None:
    assert (rendered / name).read_text(encoding="utf-8") == (GOLDEN / name).read_text(encoding="utf-8")


def test_no_other_file_is_written(rendered: Path) -> None:
    assert sorted(file.name for file in rendered.iterdir()) == sorted(NAMES)
    assert sorted(file.name for file in GOLDEN.iterdir()) == sorted(NAMES)
