"""A matplotlib figure as a file."""

import io
from functools import partial
from pathlib import Path
from typing import IO

from matplotlib.figure import Figure

from experiments.tabulation.files import write_errors
from symlab.records.storage import write_atomically

DOTS_PER_INCH = 130


def save_picture(figure: Figure, path: Path) -> None:
    """As PNG, atomically; the same numbers give the same bytes."""
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})  # no version of matplotlib
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, partial(_write, image.getvalue()))


def _write(content: bytes, file: IO[bytes]) -> None:
    file.write(content)
