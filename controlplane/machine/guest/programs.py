"""What a guest runs besides its kernel, by digest: our programs, and the libraries they compute in.

A trial's tables follow from these as much as from the kernel. The guests have this machine's file
system, and so its C library.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ...store.checksums import file_digest
from ..paths import FLOWS, GUEST_INIT, VIRTUAL_LIBRARY
from ..process.flow_programs import loaded_by

NATIVE_P4 = VIRTUAL_LIBRARY.parent / "pipeline" / "native" / "bottleneck.so"
"""The P4 program as code for this very processor (`-march=native`)."""
COMPUTES = ("libc.", "libm.", "ld-", "librte_")
"""Libraries in which a trial is computed: C's and DPDK's. The others read and write text, or are
asked for by these and never used."""
MOST_NAMED = 3


@cache
def guest_programs() -> dict[str, str]:
    """Each program and library by its file's name -> SHA-256; what is not built is left out.

    Raises:
        HostError: ldd is missing or fails.
    """
    programs = [path for path in (FLOWS, GUEST_INIT, VIRTUAL_LIBRARY, NATIVE_P4) if path.is_file()]
    loaded = [Path(name) for path in programs for name in loaded_by(path)]
    libraries = [path for path in loaded if path.name.startswith(COMPUTES)]
    return {path.name: file_digest(path) for path in dict.fromkeys([*programs, *libraries])}


def changed_programs(first: Mapping[str, str], second: Mapping[str, str]) -> str:
    """Names of what is not the same in both, or only in one; empty: all is the same.

    The P4 program as native code is not compared: two kinds of processor have two, of one source.
    """
    names = dict.fromkeys([*first, *second])
    names.pop(NATIVE_P4.name, None)
    changed = [name for name in names if first.get(name) != second.get(name)]
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    return ", ".join(changed[:MOST_NAMED]) + more
