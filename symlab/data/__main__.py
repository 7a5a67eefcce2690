"""``python -m symlab.data``: fetches every data set that can be reached, and says where each came from.

Exit code 0 if the three data sets most tables need are there, else 1.
"""

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from symlab.data.dataset import RawImages
from symlab.data.sources.cifar10 import Cifar10
from symlab.data.sources.digits import Digits
from symlab.data.sources.fashion_mnist import FashionMnist
from symlab.data.sources.first_galaxies import FirstGalaxies
from symlab.data.sources.galaxy10 import Galaxy10
from symlab.data.sources.isic import Isic2019
from symlab.data.sources.mnist import Mnist
from symlab.data.sources.rotmnist import RotMnist
from symlab.data.uci import CHECKSUMS, load_uci, obtain_uci
from symlab.errors import DataError

REQUIRED = ("mnist", "fashion_mnist", "cifar10")


@dataclass(frozen=True)
class Outcome:
    """What became of one data set: its size and origin, or why it is missing."""

    name: str
    examples: int
    seconds: float
    origin: str
    failure: str = ""


def _images(load: Callable[[str], RawImages], root: str) -> tuple[int, str]:
    raw = load(root)
    count = len(raw.train) + len(raw.test) + (len(raw.validation) if raw.validation is not None else 0)
    return count, raw.origin


def _uci(name: str, root: str) -> tuple[int, str]:
    origin = obtain_uci(name, root).origin
    dataset = load_uci(name, root)  # type: ignore[arg-type]  # the names are CHECKSUMS' keys
    return len(dataset.train) + len(dataset.test), origin


def jobs(root: str) -> dict[str, Callable[[], tuple[int, str]]]:
    """Data set -> a call that fetches, verifies and parses it, and returns its number of examples and its origin."""
    sources: dict[str, Callable[[str], RawImages]] = {
        "mnist": Mnist().load,
        "fashion_mnist": FashionMnist().load,
        "cifar10": Cifar10().load,
        "digits": Digits().load,
        "rotmnist": RotMnist().load,
        "first_galaxies": FirstGalaxies().load,
        "isic2019": Isic2019().load,
        "galaxy10": Galaxy10().load,
    }
    found: dict[str, Callable[[], tuple[int, str]]] = {name: partial(_images, load, root) for name, load in sources.items()}
    found.update({f"uci_{name}": partial(_uci, name, root) for name in CHECKSUMS})
    return found


def fetch_all(todo: dict[str, Callable[[], tuple[int, str]]]) -> list[Outcome]:
    """Runs the jobs one after the other with a line of progress each."""
    outcomes = []
    for number, (name, job) in enumerate(todo.items(), start=1):
        print(f"[{number}/{len(todo)}] {name}", flush=True)
        started = time.monotonic()
        try:
            examples, origin = job()
        except DataError as error:
            outcomes.append(Outcome(name, 0, time.monotonic() - started, "", str(error)))
        else:
            outcomes.append(Outcome(name, examples, time.monotonic() - started, origin))
    return outcomes


def render(outcomes: list[Outcome]) -> str:
    """The final table: data set, examples, seconds, origin; then the reasons of what is missing."""
    lines = [f"{'data set':<16} {'examples':>9} {'seconds':>8}  origin"]
    for outcome in outcomes:
        examples = f"{outcome.examples:,}" if not outcome.failure else "missing"
        lines.append(f"{outcome.name:<16} {examples:>9} {outcome.seconds:>8.1f}  {outcome.origin or 'see below'}")
    missing = [outcome for outcome in outcomes if outcome.failure]
    if missing:
        lines.append("")
        lines += [f"missing {outcome.name}: {outcome.failure}" for outcome in missing]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m symlab.data", description="Fetch every data set that can be reached.")
    parser.add_argument("--root", default=os.environ.get("SYMLAB_DATA", "data"), help="default: $SYMLAB_DATA, else ./data")
    parser.add_argument("names", nargs="*", help="data sets to fetch (default: all)")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="      %(message)s", stream=sys.stdout)
    todo = jobs(options.root)
    if unknown := [name for name in options.names if name not in todo]:
        parser.error(f"unknown data set {unknown[0]}: choose from {', '.join(todo)}")
    outcomes = fetch_all({name: job for name, job in todo.items() if not options.names or name in options.names})
    print(f"\n{render(outcomes)}")
    required = options.names or REQUIRED
    lacking = [outcome.name for outcome in outcomes if outcome.failure and outcome.name in required]
    if lacking:
        print(f"\nerror: {', '.join(lacking)} missing: follow the advice above; the tables that need it cannot be made")
    return 1 if lacking else 0


if __name__ == "__main__":
    sys.exit(main())
