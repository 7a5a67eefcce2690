"""``make bench-equinas``: forward and backward of EquiNAS' layers, beside a plain convolution of the expanded shape
measured in the same run. Written to results/bench/equinas.csv.

    128 -> 128 channels, batch 16, 28 x 28 pixels, kernels 3 x 3 and 5 x 5

Layers take turns, so that whatever else the machine does meets all of them; the ratio is that of the medians.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable

from benchmarks.comparisons import Comparison, format_comparisons, write_comparisons
from benchmarks.equinas_layers import expansion, layers, pass_through
from benchmarks.measuring import describe_machine
from symlab.trainer.hardware import Hardware

GROUP_GOAL, MIXED_GOAL = 1 / 1.1, 1 / 1.5  # peer / ours: within 1.1 and 1.5 times the plain convolution
EXPANSION_LIMIT = 0.5  # ms
EXPANSIONS = 20  # in a row, as a network expands the kernels of its layers
EXPANSION_REPEATS = 20  # times those of a layer: a few milliseconds each, so that a second is measured


def medians(calls: dict[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Milliseconds, the calls taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    gc.collect()
    gc.disable()  # as timeit does
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    gc.enable()
    return {name: 1000 * statistics.median(found) for name, found in seconds.items()}


def repeated(call: Callable[[], None], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            call()

    return run


def compare(kernel_size: int, repeats: int) -> list[Comparison]:
    found = medians({name: pass_through(layer) for name, layer in layers(kernel_size).items()}, repeats)
    expansions = {"expansion": repeated(expansion(kernel_size), EXPANSIONS)}
    alone = medians(expansions, EXPANSION_REPEATS * repeats)["expansion"] / EXPANSIONS
    work, plain = f"128 -> 128, {kernel_size}x{kernel_size}, batch 16, 28x28", "plain Conv2d of the expanded shape"
    return [
        Comparison(f"{work}: D4 group convolution", found["group"], found["plain"], plain, "ms", GROUP_GOAL),
        Comparison(f"{work}: mixed layer, six groups", found["mixed"], found["plain"], plain, "ms", MIXED_GOAL),
        Comparison(f"{work}: mixed layer, six groups", found["mixed"], found["apart"], "six convolutions (Eq. 10)", "ms"),
        Comparison(f"{work}: D4 kernel expansion", alone, EXPANSION_LIMIT, "limit", "ms", 1.0),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Cost of equivariant and mixed layers")
    parser.add_argument("kernel_sizes", nargs="*", type=int, default=[3, 5])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=15)
    options = parser.parse_args()
    Hardware(threads=options.threads).prepare_process()  # as our learners train
    machine, rows = describe_machine(), []
    for kernel_size in options.kernel_sizes:
        rows += compare(kernel_size, options.repeats)
        path = write_comparisons("equinas", rows, machine)
        print(format_comparisons(rows), "\n", flush=True)
    print(f"written to {path}")


if __name__ == "__main__":
    main()
