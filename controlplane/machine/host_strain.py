"""What strained the hosts between two moments."""

from __future__ import annotations

from dataclasses import dataclass

from ..contract.strain import HostStrain
from .kernel_load import KernelCounts, load_between


@dataclass(frozen=True)
class StrainCounts:
    """Counts so far; the difference of two is a trial's.

    Attributes:
        pressure: Of memory and queues that ran short, by host and counter.
        kernel: Of the kernel's work, by core; None in virtual time.
        flow_cores: The cores that work for the flows.
    """

    pressure: dict[str, int]
    kernel: KernelCounts | None = None
    flow_cores: tuple[int, ...] = ()


def strain_between(before: StrainCounts, after: StrainCounts) -> HostStrain:
    """What strained the hosts in between.

    Args:
        before: The counts at the beginning.
        after: Those at the end.
    """
    cores = None
    if before.kernel is not None and after.kernel is not None:
        cores = load_between(before.kernel, after.kernel, after.flow_cores)
    pressure = {name: n - before.pressure.get(name, 0) for name, n in after.pressure.items()}
    return HostStrain(pressure=pressure, cores=cores)
