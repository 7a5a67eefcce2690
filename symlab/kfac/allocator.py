"""Memory that one chunk frees serves the next one.

glibc hands large freed blocks back to the kernel at once and asks for them again at the next allocation, which then touches
fresh pages: for the temporaries of a fit, tens of megabytes thousands of times, page faults are a tenth of its time and two
workers wait for each other in the kernel. Within ``memory_reused`` freed blocks stay with the process; afterwards at most
``KEPT`` bytes do, so that the next of many fits (one every few epochs) starts warm: a sixth of a small one. On other C
libraries nothing happens.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

# <malloc.h>: parameters of mallopt, and the value up to which glibc's threshold grows by itself on 64 bits
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LARGEST_MMAP_THRESHOLD = 32 * 2**20
_KEEP_ALL = 2**31 - 1
KEPT = 2 * _LARGEST_MMAP_THRESHOLD


@contextmanager
def memory_reused() -> Iterator[None]:
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt") or not hasattr(library, "malloc_trim"):
        yield
        return
    library.mallopt(_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    library.mallopt(_TRIM_THRESHOLD, _KEEP_ALL)
    try:
        yield
    finally:
        library.mallopt(_TRIM_THRESHOLD, KEPT)
        library.malloc_trim(KEPT)
