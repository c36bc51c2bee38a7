"""The captures of an attempt: headers of every segment as the hosts see it."""

import logging
from pathlib import Path
from typing import Self

from ..contract.errors import HostError
from ..machine.host.layout import Side
from ..machine.host.session import Session
from ..machine.process.clock import poll
from ..machine.process.managed import ManagedProcess
from .lab import quietly

LOG = logging.getLogger(__name__)

FILES: dict[Side, str] = {"snd": "capture.pcap", "rcv": "behind.pcap"}
"""Side of the bottleneck -> file in the trial's folder."""
HEADER_BYTES = 24
READY_TIMEOUT_S = 10.0


class LiveCapture:
    """A running capture; it is ready once its file has a header.

    Args:
        lane: The lane whose segments are kept.
        side: Beside which hosts: before or behind the bottleneck.

    Raises:
        HostError: The capture cannot be started.
    """

    def __init__(self, session: Session, lane: int, folder: Path, side: Side) -> None:
        self._path = folder / FILES[side]
        self._process: ManagedProcess | None = session.start_capture(lane, self._path, side)
        try:
            silent = "writes no file"
            poll(self._ready, READY_TIMEOUT_S, lambda: self._failure(silent), clock=session.clock)
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        quietly("capture", self.stop)

    def stop(self) -> None:
        """End it; what it says about lost packets is logged. Safe to call twice."""
        process, self._process = self._process, None
        if process is not None:
            process.stop()
            LOG.info("%s: %s", process.name, "; ".join(process.last_words))

    def _ready(self) -> bool | None:
        process = self._process
        if process is not None and process.poll() is not None:
            raise self._failure("ended unexpectedly")
        written = self._path.is_file() and self._path.stat().st_size >= HEADER_BYTES
        return True if written else None

    def _failure(self, problem: str) -> Exception:
        process = self._process
        return process.failure(problem) if process is not None else HostError(problem)
