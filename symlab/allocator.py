"""Memory that one step frees serves the next one.

glibc hands large freed blocks back to the kernel at once and asks for them again at the next allocation, which then touches
fresh pages. For temporaries of megabytes, hundreds of them in each step, page faults are a tenth of the time of a fit and a
third of that of a small training step, and two workers wait for each other in the kernel.

    memory_reused        while it lasts freed blocks stay with the process; afterwards at most ``KEPT`` bytes do, so that the
                         next of many fits (one every few epochs) starts warm: a sixth of a small one
    keep_freed_memory    they stay to the end of the process, for a process that does nothing but train; so do the largest
                         ones, of more than 32 MB, which otherwise have a mapping of their own. In a network with 90 million
                         weights their page faults are half of a step

On other C libraries nothing happens.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

# <malloc.h>: parameters of mallopt, and the value up to which glibc's threshold grows by itself on 64 bits
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -3, -4
_LARGEST_MMAP_THRESHOLD = 32 * 2**20
_KEEP_ALL = 2**31 - 1
KEPT = 2 * _LARGEST_MMAP_THRESHOLD

_keeps_all = False


@cache
def _glibc() -> ctypes.CDLL | None:
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def _keep(library: ctypes.CDLL) -> None:
    library.mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    library.mallopt(_TRIM_THRESHOLD, _KEEP_ALL)


def keep_freed_memory() -> None:
    global _keeps_all
    library = _glibc()
    if library is not None:
        _keep(library)
        library.mallopt(_MMAP_MAX, 0)
        _keeps_all = True


@contextmanager
def memory_reused() -> Iterator[None]:
    library = _glibc()
    if library is None or _keeps_all:
        yield
        return
    _keep(library)
    try:
        yield
    finally:
        library.mallopt(_TRIM_THRESHOLD, KEPT)
        library.malloc_trim(KEPT)
