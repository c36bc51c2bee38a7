"""A process that gives memory back when it is freed, for commands that run on and on."""

import ctypes
import os
import sys

ARENAS, MMAP_THRESHOLD, TRIM_THRESHOLD = -8, -3, -1
"""Parameters of glibc's mallopt(3)."""
LARGE_BYTES, KEPT_BYTES = 1 << 22, 1 << 25
"""What is larger has pages of its own, which go back to the system one by one. With a lower bound
each answer of the explorer would cost thousands of page faults. So much is kept beside them."""


def keep_no_freed_memory() -> bool:
    """Have the C library, and pyarrow from now on, give freed memory back at once.

    They keep it otherwise, each thread for itself: of an explorer that answers with arrays of some
    MB from many threads, two thirds of its memory were such. What is allocated anew then costs
    page faults.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # if it is imported later
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.set_memory_pool(arrow.system_memory_pool())
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    wanted = ((ARENAS, 1), (MMAP_THRESHOLD, LARGE_BYTES), (TRIM_THRESHOLD, KEPT_BYTES))
    done = [mallopt(name, value) == 1 for name, value in wanted]  # each, whatever the others say
    return all(done)
