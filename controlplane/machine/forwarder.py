"""dpdk-testpmd in the data plane's place: frames from one port to the other, untouched.

What it carries is what ports, kernel and cores allow: a ceiling to compare the data plane with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..contract.testbed import DataPlane

TESTPMD = "dpdk-testpmd"
DESCRIPTORS = 4096
BURST = 64
BUFFERS = 32768
"""Packet buffers: those that the rings of both ports hold, twice."""
_FORWARDING = "Press enter to exit"


def forwarder_command(dataplane: DataPlane, devices: Sequence[str]) -> list[str]:
    """The command line of testpmd, like the data plane as far as a forwarder can be.

    The same core for its loop, the same priority, memory, rings and bursts.

    Args:
        dataplane: Says which cores and which memory.
        devices: The EAL's arguments that open the ports, as the data plane lists them.
    """
    memory = ("--in-memory",) if dataplane.huge_pages else ("--no-huge", "--no-shconf")
    return [
        *("nice", "-n", "-20"),
        # Line by line although its output is no terminal: a line says that it forwards.
        *("stdbuf", "-oL"),
        *(TESTPMD, f"--lcores=0@{dataplane.service_core},1@{dataplane.core}", "--no-telemetry"),
        *("-m", str(dataplane.memory.bytes // 2**20), *memory),
        *(() if _any_pci(devices) else ("--no-pci", "--iova-mode=va")),
        *devices,
        *("--", "--forward-mode=io", "--nb-cores=1", f"--burst={BURST}"),
        *(f"--rxd={DESCRIPTORS}", f"--txd={DESCRIPTORS}", f"--total-num-mbufs={BUFFERS}"),
        *("--no-flush-rx", "--disable-link-check"),
    ]


def _any_pci(devices: Sequence[str]) -> bool:
    return any(device.startswith("--allow=") for device in devices)


def forwarder_event(line: str) -> dict[str, Any] | None:
    """The event in a line of its output: that it forwards packets."""
    return {"event": "ready"} if line.startswith(_FORWARDING) else None
