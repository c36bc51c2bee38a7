"""A session in virtual time without guests: each boot starts the fake data plane instead."""

from pathlib import Path
from typing import Any

from nashbed.controlplane.machine.host.session import require_running
from nashbed.controlplane.machine.process.managed import Process
from tests.fakes.session import FakeSession

READY_TIMEOUT_S = 30.0


class FakeGuestSession(FakeSession):
    """Boots the fake data plane; remembers with which seed and kernel.

    Args:
        core: The core that its guests would be pinned to.
    """

    def __init__(self, core: int | None = None) -> None:
        super().__init__()
        self.core = core
        self.boots: list[tuple[int, str]] = []
        self._guest: Process | None = None

    def ports(self) -> dict[str, dict[str, Any]]:
        return {
            "senders": {"driver": "virtual", "iface": "nb0"},
            "receivers": {"driver": "virtual", "iface": "nb1"},
        }

    def start_dataplane(self, config: Path) -> Process:
        raise AssertionError("in virtual time the data plane is started by boot")

    def require_targets(self) -> None:
        require_running([self._guest] if self._guest is not None else [])

    def boot(self, config: Path, seed: int, kernel: str, module_parameters: Any) -> Process:
        if self._guest is not None:
            self._guest.stop()
        (self.scratch / "control.sock").unlink(missing_ok=True)
        self.boots.append((seed, kernel))
        self._guest = self._start("guest", "dataplane.py", config)
        self._guest.wait_event("ready", READY_TIMEOUT_S)
        return self._guest
