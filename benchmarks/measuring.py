"""Time, memory and the speed of the machine.

    time      seconds of n repeats after a warm-up; the median is reported
    memory    peak resident memory during a call minus resident memory before it. Memory that was freed may stay with the
              process, so a call that is measured must be the first of its size in a fresh process
    machine   GFLOP/s of float32 matrix products, measured beside the benchmark: the ceiling of what can be reached

Imports only torch and the standard library, since peers use it in their own environments.
"""

import ctypes
import gc
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import torch

SGEMM_SHAPES = ((1024, 1024, 1024), (500, 784, 2000), (576, 576, 16000), (64, 576, 64000))
_STATUS = Path("/proc/self/status")
_CLEAR_REFS = Path("/proc/self/clear_refs")
_SAMPLING_SECONDS = 0.002


def measure_seconds(call: Callable[[], object], repeats: int = 5, warmups: int = 1) -> list[float]:
    """Wall-clock seconds of each repeat."""
    for _ in range(warmups):
        call()
    seconds = []
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return seconds


def median_seconds(call: Callable[[], object], repeats: int = 5, warmups: int = 1) -> float:
    """Median wall-clock seconds."""
    return statistics.median(measure_seconds(call, repeats, warmups))


def resident_bytes(entry: str = "VmRSS") -> int:
    """Resident memory of this process: ``VmRSS`` now, ``VmHWM`` at its peak. Linux only."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith(entry + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"{_STATUS} has no entry {entry}: memory can be measured on Linux only")


def measure_extra_memory(call: Callable[[], object]) -> int:
    """Bytes by which resident memory rises at the peak of ``call``. See the module's docstring for when this is fair."""
    _give_back_freed_memory()
    try:
        _CLEAR_REFS.write_text("5")  # resets VmHWM to the present resident memory
    except OSError:
        return _sample_extra_memory(call)
    before = resident_bytes()
    call()
    return max(0, resident_bytes("VmHWM") - before)


def _give_back_freed_memory() -> None:
    """What the process has freed but kept would serve the call unseen."""
    gc.collect()
    with suppress(OSError, AttributeError):  # AttributeError: a C library without malloc_trim
        ctypes.CDLL(None).malloc_trim(0)


def _sample_extra_memory(call: Callable[[], object]) -> int:
    """As ``measure_extra_memory`` where the kernel does not let the peak be reset: may miss peaks shorter than 2 ms."""
    _give_back_freed_memory()
    before = peak = resident_bytes()
    finished = threading.Event()

    def sample() -> None:
        nonlocal peak
        while not finished.wait(_SAMPLING_SECONDS):
            peak = max(peak, resident_bytes())

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    try:
        call()
    finally:
        finished.set()
        sampler.join()
    return peak - before


def measure_sgemm(shapes: Sequence[tuple[int, int, int]] = SGEMM_SHAPES, repeats: int = 5) -> dict[str, float]:
    """GFLOP/s of the fastest repeat of a float32 product (m, k) x (k, n), for each shape ``(m, n, k)``."""
    speeds = {}
    for m, n, k in shapes:
        left, right, out = torch.randn(m, k), torch.randn(k, n), torch.empty(m, n)
        seconds = min(measure_seconds(lambda a=left, b=right, c=out: torch.mm(a, b, out=c), repeats))  # type: ignore[misc]
        speeds[f"{m}x{n}x{k}"] = 2e-9 * m * n * k / seconds
    return speeds


def describe_machine() -> dict[str, str | int | float]:
    """What a reader needs to judge the numbers: processor, threads, torch, load by others."""
    processor = "unknown"
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    with suppress(OSError):
        load = float(Path("/proc/loadavg").read_text().split()[0])
        return _machine(processor) | {"load_average": load}
    return _machine(processor)


def _machine(processor: str) -> dict[str, str | int | float]:
    return {"processor": processor, "threads": torch.get_num_threads(), "torch": torch.__version__}
