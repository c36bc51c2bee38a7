"""A machine whose data plane is the fake, in a thread of ours instead of a process."""

import json
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nashbed.controlplane.contract.errors import TargetError
from tests.fakes.dataplane import FakeDataPlane

Answer = Callable[[bytes], bytes]


class FakeProcess:
    """Looks like the data plane's process; its server is a thread of ours."""

    def __init__(self, config: Path, answer: Answer | None) -> None:
        self.plane = FakeDataPlane(json.loads(config.read_text()))
        self.requests: list[dict[str, Any]] = []
        self.stopped = False
        self._answer = answer
        self._server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._server.bind(self.plane.config["control_socket"])
        self._server.listen(1)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        connection, _ = self._server.accept()
        with connection, connection.makefile("rwb") as stream:
            while line := stream.readline():
                self.requests.append(json.loads(line))
                honest = json.dumps(self.plane.answer(line)).encode() + b"\n"
                stream.write(self._answer(honest) if self._answer else honest)
                stream.flush()

    def poll(self) -> int | None:
        return 0 if self.stopped else None

    def wait_event(self, event: str, timeout_s: float) -> dict[str, Any]:
        return {"event": event}

    def wait_exit(self, timeout_s: float) -> int:
        return 0

    def stop(self) -> None:
        self.stopped = True
        self._server.close()

    def failure(self, problem: str) -> Exception:
        return TargetError(f"dataplane {problem}")


class FakeHost:
    """Says which ports there are, and starts the fake.

    Args:
        scratch: Where the control socket goes.
        answer: Makes another answer of each honest one.
    """

    def __init__(
        self,
        scratch: Path,
        answer: Answer | None = None,
        ports: tuple[str, ...] = ("senders", "receivers"),
    ) -> None:
        self.scratch = scratch
        self.answer = answer
        self.names = ports
        self.process: FakeProcess

    def ports(self) -> dict[str, dict[str, Any]]:
        return {name: {"driver": "tap", "iface": name} for name in self.names}

    def start_dataplane(self, config: Path) -> FakeProcess:
        self.process = FakeProcess(config, self.answer)
        return self.process


class FakeGuestHost(FakeHost):
    """Boots the fake as a guest; all that it booted, and how."""

    def __init__(self, scratch: Path) -> None:
        super().__init__(scratch)
        self.guests: list[FakeProcess] = []
        self.booted: list[tuple[int, str]] = []

    def ports(self) -> dict[str, dict[str, Any]]:
        return {name: {"driver": "virtual", "iface": name} for name in self.names}

    def boot(self, config: Path, seed: int, kernel: str, module_parameters: Any) -> FakeProcess:
        (self.scratch / "control.sock").unlink(missing_ok=True)
        self.booted.append((seed, kernel))
        self.guests.append(self.start_dataplane(config))
        return self.guests[-1]
