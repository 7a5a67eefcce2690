"""The memory estimate: its parts by hand, and its sum against what a process really takes."""

import json
import subprocess
import sys

import pytest
import torch
from torch import nn

from experiments.composition import compose_run
from experiments.memory import data_bytes, estimate_memory, fit_bytes, parameter_bytes, training_bytes
from experiments.reproduce import TABLES
from experiments.run import build
from experiments.tabulation.specification import load_table
from symlab.data.dataset import Dataset, Split
from symlab.kfac.estimation import MEMORY_BUDGET
from symlab.kfac.sizes import FactorSize, factor_sizes
from tests.experiments.commands import ROOT, environment

MIB = 2**20


def on_meta(*overrides: str, channels: int = 3, resolution: int = 32, outputs: int = 10) -> nn.Module:
    config = compose_run(["data=cifar10", *overrides])
    with torch.device("meta"):
        return build(config.groups["model"], input_shape=(channels, resolution, resolution), n_outputs=outputs)


def test_a_batch_keeps_the_inputs_of_layers_and_the_outputs_of_activations():
    with torch.device("meta"):
        model = nn.Sequential(nn.Linear(8, 100), nn.ReLU(), nn.Linear(100, 3))
    kept = 4 * 5 * (8 + 100)  # the network's input; the ReLU's output, which the second layer has in common
    assert training_bytes(model, (8,), 5) == kept + 2 * 4 * 5 * 100


def test_a_fit_keeps_weights_and_factors_and_decomposes_one_factor_at_a_time():
    factors = [FactorSize("a", 3, 10), FactorSize("b", 1, 4000)]
    tensors = [1000, 10_000_000]
    stack = 24 * 1000
    whole, rest = 4 * (300 + 16_000_000), 4 * 10_001_000 + MEMORY_BUDGET + 16 * 16_000_000 + stack
    assert whole < MEMORY_BUDGET
    assert fit_bytes(tensors, factors, scaled_up=False, threads=1, value_bytes=4) == whole + rest
    assert fit_bytes(tensors, factors, scaled_up=True, threads=1, value_bytes=4) == 2 * whole + rest
    assert fit_bytes(tensors, factors, scaled_up=False, threads=3, value_bytes=4) == 3 * whole + rest


def test_the_largest_network_of_ella_has_the_factors_of_its_layers():
    model = on_meta("model=ella_fc")
    assert parameter_bytes(model) == 4 * 133_635_690
    features = [3 * 32**2, 10 * 32**2, 20 * 16**2, 20 * 16**2, 40 * 8**2, 40 * 8**2, 80 * 4**2, 80 * 2**2, 160, 640, 10]
    inputs, outputs = features[:-1], features[1:]
    expected = sum(size**2 for size in inputs + outputs) + len(outputs)  # a bias has a 1 x 1 input factor
    assert sum(factor.entries for factor in factor_sizes(model, (3, 32, 32))) == expected


def test_without_fits_there_is_nothing_of_a_fit(blobs):
    with torch.device("meta"):
        model = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
    memory = estimate_memory(model, blobs, batch_size=20)
    assert (memory.fit, memory.state) == (0, 4 * 4 * (16 * 3 + 3))
    assert memory.peak == data_bytes(blobs) + memory.state + memory.training
    assert estimate_memory(model, blobs, batch_size=20, fit_size=60).fit > 0


def on_paper(images: int) -> Split:
    return Split(
        torch.empty(images, 3, 32, 32, dtype=torch.uint8, device="meta"),
        torch.empty(images, dtype=torch.int64, device="meta"),
    )


@pytest.mark.parametrize("row", ["FC", "FC+CONV", "F-FC+CONV (ours)", "S-FC+S-CONV (ours, omega)"])
def test_no_cell_of_table_2_needs_more_than_a_card_of_24_gb_at_paper_scale(row: str):
    cells = [cell for cell in load_table(TABLES / "ella_table2").cells("paper") if cell.row == row]
    data = Dataset("CIFAR-10", on_paper(50000), None, on_paper(10000), 10, mean=(0.0,) * 3, std=(1.0,) * 3)
    model = on_meta(*(cells[0].overrides or ()))
    assert estimate_memory(model, data, batch_size=128, fit_size=50000, threads=2).peak < 8 * 2**30


MEASURED = """
import json, sys
from experiments.composition import compose_run
from experiments.memory import estimate_memory
from experiments.planning import model_of_sizes
from experiments.run import build, build_learner
from symlab.records.environment import peak_memory_bytes
from symlab.trainer.protocol import Batch

config = compose_run(sys.argv[1:])
hardware, training = build(config.groups["hardware"]), build(config.groups["trainer"])
device = hardware.prepare_process()
runtime = peak_memory_bytes(device)
data = build(config.groups["data"])
learner = build_learner(config, data, hardware)
fit_size = getattr(learner, "fit_size", None)
estimated = estimate_memory(model_of_sizes(config, data, hardware), data, training.batch_size, fit_size)
for batch in training.batches(data, 0, 0):
    learner.step(batch)
learner.end_epoch(0)
print(json.dumps([estimated.peak, peak_memory_bytes(device) - runtime]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "overrides",
    [
        ["model=ella_fc", "model.alpha=3", "learner=map"],
        ["model=ella_fc", "model.alpha=3", "learner=laplace"],
        ["model=ella_fc", "model.alpha=3", "learner=laplace", "learner.fit_size=64"],
        ["model=ella_conv", "model.alpha=10", "learner=laplace"],
    ],
    ids=" ".join,
)
def test_the_estimate_is_near_the_peak_of_a_process(overrides: list[str]):
    """One epoch with a fit, above what the process had before; tens of megabytes of workspaces are not counted."""
    common = ["data=digits", "data.resolution=32", "data.train_size=256", "trainer.epochs=1", "hardware.threads=1"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *common, *overrides],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    estimated, measured = json.loads(done.stdout)
    assert abs(estimated - measured) < 0.1 * measured + 40 * MIB, (estimated / MIB, measured / MIB)
