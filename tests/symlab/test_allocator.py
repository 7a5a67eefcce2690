"""Memory freed by one step is used by the next. Each case has its own process, to which the setting belongs."""

import platform
import subprocess
import sys

import pytest

STEPS, BLOCKS, PAGES = 10, 24, 24 * 2**20 // 4096  # what one step touches

SCRIPT = f"""
import ctypes, resource
from symlab.allocator import keep_freed_memory, memory_reused
library = ctypes.CDLL(None)
library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.free.argtypes = [ctypes.c_void_p]

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range({STEPS}):
        blocks = [library.malloc(2**20) for _ in range({BLOCKS})]
        for block in blocks:
            ctypes.memset(block, 1, 2**20)
        for block in reversed(blocks):
            library.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

for _ in range(3):  # the first steps raise glibc's own threshold
    faults()
"""

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="a setting of glibc")


def page_faults(lines: str) -> list[int]:
    """What the lines print after a few steps."""
    found = subprocess.run([sys.executable, "-c", SCRIPT + lines], capture_output=True, text=True, check=True)
    return [int(line) for line in found.stdout.splitlines()]


def test_without_the_setting_every_step_touches_fresh_pages():
    assert page_faults("print(faults())")[0] > STEPS * PAGES / 2


def test_a_process_that_trains_touches_them_once():
    first, later, after_a_fit = page_faults(
        "keep_freed_memory(); print(faults()); print(faults())\nwith memory_reused(): pass\nprint(faults())"
    )
    assert first < 2 * PAGES
    assert later < PAGES / 10
    assert after_a_fit < PAGES / 10


def test_blocks_of_a_mapping_of_their_own_are_kept_too():
    """64 MB, more than the largest threshold of glibc."""
    lines = """
keep_freed_memory()
def touch():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = library.malloc(2**26); ctypes.memset(block, 1, 2**26); library.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(touch()); print(touch())
"""
    first, later = page_faults(lines)
    assert later < first / 10


def test_a_fit_touches_them_once_and_leaves_little_behind():
    lines = """
with memory_reused():
    faults(); print(faults())
    large = [library.malloc(2**20) for _ in range(200)]
    for block in large: ctypes.memset(block, 1, 2**20)
    for block in reversed(large): library.free(block)
    print(int(open("/proc/self/statm").read().split()[1]))
print(int(open("/proc/self/statm").read().split()[1]))
"""
    inside, pages_during, pages_after = page_faults(lines)
    assert inside < PAGES / 10
    assert pages_during - pages_after > 100 * 2**20 // 4096  # 200 MB were freed, at most 64 stay
