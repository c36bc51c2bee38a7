"""nashbed-cc: registers congestion controls with this machine's kernel for as long as it runs.

The kernel forgets them when the process ends, however it ends: its standard input closes with the
program that started it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..contract.control import ControlFile
from ..contract.errors import HostError, NashbedError
from ..contract.messages import ControlRefused, ControlRegistered, read_message
from .control_build import object_of
from .paths import CONTROL_LOADER, built
from .process import Process, json_event
from .state import StateFile
from .verifier import refusal_text

READY_TIMEOUT_S = 60.0
"""The verifier takes seconds for a large control on a busy machine."""
NAME = "nashbed-cc"


class RegisteredControls:
    """Congestion controls in this machine's kernel, until they are closed.

    Args:
        controls: Those that its kernel does not have.
        state: File that lists the process as ours.
        log: Where its standard error goes.

    Raises:
        HostError: The kernel refuses one.
    """

    def __init__(
        self, controls: Sequence[ControlFile], state: StateFile | None, log: Path | None
    ) -> None:
        self._names = {str(made.path): made.name for made in map(object_of, controls)}
        self._said: list[dict[str, Any]] = []
        args = [str(built(CONTROL_LOADER)), *self._names]
        self._process = Process(NAME, args, state, log, self._keep)
        try:
            self._process.wait_event("ready", READY_TIMEOUT_S)
        except NashbedError as error:
            self.close()
            raise (self._refusal() or error) from error
        said = self._of("registered")
        self._registered = [read_message(ControlRegistered, s, NAME, HostError) for s in said]

    @property
    def maps(self) -> dict[str, int]:
        """The id of the map with each control's state, by the control's name."""
        return {each.name: each.state_map for each in self._registered}

    @property
    def pid(self) -> int:
        """The process that holds them."""
        return self._process.pid

    def require_held(self) -> None:
        """Raise HostError when the process has ended, and the controls with it."""
        if self._process.poll() is not None:
            names = ", ".join(self.maps)
            raise self._process.failure(f"ended in mid-trial, and with it went {names}")

    def close(self) -> None:
        """Unregister them. Safe to call twice."""
        self._process.stop()

    def _keep(self, line: str) -> dict[str, Any] | None:
        """The event in a line; a refusal is an error of the process."""
        event = json_event(line)
        if event is not None:
            self._said.append(event)
            if event.get("event") == "refused":
                return {"event": "error", "error": event.get("message")}
        return event

    def _of(self, kind: str) -> list[dict[str, Any]]:
        return [said for said in self._said if said.get("event") == kind]

    def _refusal(self) -> HostError | None:
        """What the kernel does not take, and why; None: that is not what went wrong."""
        for said in self._of("refused"):
            refused = read_message(ControlRefused, said, NAME, HostError)
            name = self._names.get(refused.object, refused.object)
            return HostError(refusal_text(name, refused))
        return None
