"""The kernels that guests run in virtual time: those that are built, and how to build one.

>>> import nashbed as nb
>>> [kernel.release for kernel in nb.kernels.built()]
>>> kernel, is_new = nb.kernels.build("6.12")
"""

import os
from pathlib import Path

from nashbed.controlplane.machine.kernels.build import build_kernel, kernel_at_hand
from nashbed.controlplane.machine.kernels.cache import GuestKernel, built_kernels, kernel_cache

from .steps import ShowStep, show_nothing

__all__ = ["GuestKernel", "build", "built", "folder"]


def folder() -> Path:
    """Where kernels are kept."""
    return kernel_cache()


def built() -> tuple[GuestKernel, ...]:
    """The kernels that there are."""
    return tuple(built_kernels())


def build(
    source: str = "",
    *,
    update: bool = False,
    jobs: int | None = None,
    on_step: ShowStep = show_nothing,
) -> tuple[GuestKernel, bool]:
    """Build a kernel, unless it is built already.

    Args:
        source: A release such as `6.12`, a linux-source archive, or an unpacked source tree;
            empty: 6.1, or else the newest that apt knows.
        update: Build a newer source of the release, if there is one.
        jobs: Files compiled at once; None: one for each core.
        on_step: Called as it goes on: what is done, files done, files in all (0: not known).

    Returns:
        The kernel, and whether it was built now.

    Raises:
        HostError: No source, a tool is missing, no room, or the source is not one that we know.
        ConfigError: `source` is neither a release nor a path.
    """
    kernel = None if update else kernel_at_hand(source)
    if kernel is not None:
        return kernel, False
    return build_kernel(source, jobs or len(os.sched_getaffinity(0)), on_step)
