"""The learned layers of a run, as tables and pictures: ``python -m ella.inspect runs/<key>``.

Written into the run's directory (or ``--output``):
    layers.csv                  one line per layer and path, at the last fit (ELLA Table 4)
    layers_over_training.csv    the same after every fit, with its epoch
    layers_over_training.png    prior precisions and relative effective numbers of parameters over training
    learned_network.png         the network that was learned (ELLA Fig. 3)
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from ella.inspection import PathReport, effective_types, inspect_layers, logged_tensors
from ella.inspection_figures import as_png, draw_network, draw_training
from symlab.errors import RunError, SymlabError
from symlab.records import RunDirectory
from symlab.records.storage import write_atomically

History = list[tuple[int, list[PathReport]]]


def read_history(run: Path) -> History:
    """(epoch, reports) of every fit that the run has logged."""
    directory = RunDirectory(run.parent, run.name)
    history = []
    for line in directory.metrics():
        reports = inspect_layers(logged_tensors(line))
        if reports:
            history.append((line["epoch"], reports))
    if not history:
        raise RunError(
            f"{directory.metrics_path} has no fit of a layered network: choose the directory of a run with learner=laplace "
            "and a model of ella"
        )
    return history


def as_table(reports: Sequence[PathReport]) -> pd.DataFrame:
    """One line per layer and path."""
    types = effective_types(reports)
    lines = [
        {
            "layer": report.layer,
            "path": report.path,
            "prior_precision": report.prior_precision,
            "prior_variance": report.prior_variance,
            "weight_norm": report.weight_norm,
            "normalised_effective_parameters": report.normalised_effective_parameters,
            "relative_effective_parameters": report.relative_effective_parameters,
            "effective_layer_type": types[report.layer],
        }
        for report in reports
    ]
    return pd.DataFrame(lines)


def write_inspection(history: History, output: Path) -> list[Path]:
    output.mkdir(parents=True, exist_ok=True)
    last = history[-1][1]
    over_training = pd.concat([as_table(reports).assign(epoch=epoch) for epoch, reports in history])
    contents = {
        "layers.csv": as_table(last).to_csv(index=False).encode(),
        "layers_over_training.csv": over_training.to_csv(index=False).encode(),
        "layers_over_training.png": as_png(draw_training(history)),
        "learned_network.png": as_png(draw_network(last)),
    }
    for name, content in contents.items():
        write_atomically(output / name, lambda file, content=content: file.write(content))  # type: ignore[misc]
    return [output / name for name in contents]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m ella.inspect", description="Tables and pictures of learned layers")
    parser.add_argument("run", type=Path, help="the directory of a run with learner=laplace")
    parser.add_argument("--output", type=Path, help="where to write; the run's directory by default")
    options = parser.parse_args(arguments)
    try:
        history = read_history(options.run.resolve())
        written = write_inspection(history, options.output or options.run)
    except SymlabError as error:
        sys.exit(str(error))
    print(as_table(history[-1][1]).to_string(index=False))
    for path in written:
        print(f"written: {path}")


if __name__ == "__main__":
    main()
