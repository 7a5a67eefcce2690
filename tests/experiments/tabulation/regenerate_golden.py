"""Write the golden files anew: ``python tests/experiments/tabulation/regenerate_golden.py``; then read the difference."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2])]

from conftest import render_golden  # noqa: E402

if __name__ == "__main__":
    render_golden(HERE / "golden")
