"""What targets need of the machine: a session gives it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol


class TargetProcess(Protocol):
    """A running program of the target, as much of it as an adapter needs."""

    def poll(self) -> int | None:
        """Exit code, or None while it runs."""

    def wait_event(self, event: str, timeout_s: float) -> dict[str, Any]:
        """Wait for a JSON line on its standard output."""

    def wait_exit(self, timeout_s: float) -> int:
        """Wait for its end."""

    def stop(self) -> None:
        """End it."""

    def failure(self, problem: str) -> Exception:
        """An error that quotes its last words."""


class DataPlaneSite(Protocol):
    """Where the data plane runs, and how it is connected."""

    @property
    def scratch(self) -> Path:
        """Where its configuration file and control socket go."""

    def ports(self) -> dict[str, dict[str, Any]]:
        """Its ports, as its configuration file has them."""


class DataPlaneHost(DataPlaneSite, Protocol):
    """The machine that the data plane runs on."""

    def start_dataplane(self, config: Path) -> TargetProcess:
        """Start it with a configuration file."""


class GuestHost(DataPlaneSite, Protocol):
    """The machine that boots guests, one at a time, each with the data plane inside."""

    def boot(self, config: Path, seed: int, kernel: str) -> TargetProcess:
        """End the guest before, boot another one; it serves its control socket on return.

        Args:
            config: The data plane's configuration file.
            seed: Of everything random in the guest.
            kernel: Which kernel, by the beginning of its release; empty: the testbed's.
        """


class SwitchHost(Protocol):
    """The machine that a switch program runs on."""

    @property
    def scratch(self) -> Path:
        """Where generated files may go."""

    def start_switch(self, artefact: Path, options: Sequence[str] = ()) -> TargetProcess:
        """Start the testbed's switch program with a compiled program.

        Its ports are 0 (from the data plane), 1 (to the receivers) and 2 (postcards).

        Args:
            artefact: The compiled program.
            options: Options of the switch's own target, after `--`.
        """

    def connect_switch(self, timeout_s: float) -> socket.socket:
        """A TCP connection to the switch program's control port, as soon as it answers."""


class TargetHost(DataPlaneHost, SwitchHost, Protocol):
    """A machine for either."""
