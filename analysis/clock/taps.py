"""The captures before and behind the bottleneck of a trial: hardware's, or the hosts' own."""

from dataclasses import dataclass
from pathlib import Path

from nashbed.controlplane.contract.testbed import TapFile
from nashbed.controlplane.store.documents import read_taps
from nashbed.controlplane.store.finished_run import FinishedRun
from nashbed.controlplane.store.sealed_trial import SealedTrial

from ..captures import TimestampSource
from .match import CapturedPackets, read_seen
from .timebase import TimeBase

BEFORE, BEHIND = "capture.pcap", "behind.pcap"
"""What `telemetry.capture: both` leaves in a trial's folder."""
HOST_CLOCK = TimeBase("the hosts' kernel clock")
SOFTWARE_TOLERANCE_NS = 1_000_000
"""A host may be late by this much in taking a packet's time; more is a mismatch."""
HARDWARE_TOLERANCE_NS = 1_000


@dataclass(frozen=True)
class Tap:
    """One place of capture.

    Attributes:
        form: Format of its time stamps; None: found out.
    """

    path: Path
    form: str | None
    clock: TimeBase

    def read(self) -> CapturedPackets:
        """Its TCP packets.

        Raises:
            RunError: The capture cannot be read.
        """
        return read_seen(TimestampSource(self.path, self.form), self.clock)


@dataclass(frozen=True)
class Taps:
    """Both places.

    Attributes:
        before: Before the bottleneck.
        software: Whether the hosts captured: then the delay line is between the two as well.
    """

    before: Tap
    behind: Tap
    software: bool

    @property
    def tolerance_ns(self) -> int:
        """By how much a delay may differ from the postcard's without being a mismatch."""
        return SOFTWARE_TOLERANCE_NS if self.software else HARDWARE_TOLERANCE_NS


def taps_of(run: FinishedRun, trial: SealedTrial) -> Taps | None:
    """Find the captures of a trial; None: it has none on both sides.

    Raises:
        RunError: The run's testbed file or a capture is damaged.
    """
    hardware = read_taps(run.path / "testbed.yaml")
    if hardware is not None:
        return Taps(
            before=_hardware(run, trial, hardware.before),
            behind=_hardware(run, trial, hardware.behind),
            software=False,
        )
    before, behind = trial.path / BEFORE, trial.path / BEHIND
    if not (before.is_file() and behind.is_file()):
        return None
    first, second = (Tap(trial.file(name), "file", HOST_CLOCK) for name in (BEFORE, BEHIND))
    return Taps(first, second, software=True)


def _hardware(run: FinishedRun, trial: SealedTrial, tap: TapFile) -> Tap:
    path = run.path / tap.file.replace("{run}", run.path.name).replace("{trial}", trial.id)
    form = None if tap.format == "auto" else tap.format
    return Tap(path, form, TimeBase(tap.clock or f"the clock of {path.name}"))
