"""The one way in and out of a lane: reset, programmed, recording; drained, and reset again.

Trials, calibrations and measurements of speed all use it, so that what counts as a loss, when a
lane has drained, and what is left behind after a failure is decided in one place.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ..contract.errors import HostError
from ..contract.messages.dataplane import (
    Counters,
    DisturbanceTotals,
    ReturnQueueTotals,
    SharedCounters,
    TelemetryTotals,
)
from ..contract.target import Applied, LaneProgram, TelemetryPlan
from ..contract.trial import HostStrain
from ..machine.host.counters import strain_between
from ..machine.process.clock import poll
from ..targets import TelemetryStream
from .lab import Lab, quietly

DRAIN_POLL_S = 0.05
_PORT_LOSSES = (
    "rx_dropped",
    "tx_dropped",
    "rx_no_mbuf",
    "xdp_rx_dropped",
    "xdp_rx_ring_full",
    "xdp_tx_invalid",
)
_DISCARDED = "discarded"
"""What a reset discards on purpose; every other ring counter is a loss."""
_UNSHAPED_LOSS = re.compile(r"drop|err|no_?mbuf|missed|full|invalid|malformed|fail|discard")
"""Names of the reasons for which a packet that bypassed the queues is lost."""


class ProgrammedLane:
    """A lane between its programming and its reset; made by `programmed`.

    Attributes:
        applied: What the target really does.
    """

    def __init__(
        self, lab: Lab, program: LaneProgram, applied: Applied, stream: TelemetryStream
    ) -> None:
        self.applied = applied
        self._lab = lab
        self._program = program
        self._stream: TelemetryStream | None = stream
        self._strain_before = lab.session.host_strain()
        before = self.counters()
        self._losses_before = self._losses(before)
        self._links_before = self._links(before)

    def counters(self) -> Counters:
        """The lane's registers and the counters that all lanes share, as they are now."""
        program = self._program
        return self._lab.target.read_counters(program.lane, program.first_flow, len(program.flows))

    @property
    def on_start(self) -> Callable[[int], None] | None:
        """What is to be told t0 before it comes: the target, where anything is scheduled."""
        if not self._program.is_scheduled:
            return None
        return partial(self._lab.target.begin, self._program.lane)

    def drained(self, timeout_s: float, name: str) -> Counters:
        """Wait until nothing is queued or delayed; returns the counters of that moment.

        Args:
            name: What is running on the lane, for the error.

        Raises:
            HostError: Packets are still in the lane at the deadline.
        """

        def empty() -> Counters | None:
            counters = self.counters()
            return counters if counters.held_packets == 0 else None

        late = HostError(f"{name}: the lane does not drain")
        return poll(empty, timeout_s, lambda: late, DRAIN_POLL_S, self._lab.session.clock)

    def losses(self, counters: Counters) -> dict[str, int]:
        """Packets lost outside the bottleneck since the lane was programmed, by counter.

        Args:
            counters: The counters after the drain.
        """
        return difference(self._losses(counters), self._losses_before)

    def link_downs(self, counters: Counters) -> dict[str, int]:
        """How often each NIC lost its link since the lane was programmed.

        Args:
            counters: The counters after the drain.
        """
        return difference(self._links(counters), self._links_before)

    def strain(self) -> HostStrain:
        """What strained the hosts since the lane was programmed."""
        return strain_between(self._strain_before, self._lab.session.host_strain())

    def write_disturbances(self, folder: Path) -> DisturbanceTotals:
        """Have what held its frames up written to files, once it has drained.

        Args:
            folder: Where `disturbances.bin` and `pauses.bin` go.
        """
        return self._lab.target.write_disturbances(self._program.lane, folder)

    def write_return_queue(self, folder: Path) -> ReturnQueueTotals | None:
        """Have what became of the queue of the way back written to a file; None: there is none.

        Args:
            folder: Where `return_queue.bin` goes.
        """
        if self._program.bottleneck.back is None:
            return None
        return self._lab.target.write_return_queue(self._program.lane, folder)

    def stop_telemetry(self) -> TelemetryTotals:
        """End the recording; every postcard is in the file then. To be called once at most."""
        assert self._stream is not None, "telemetry is stopped once"
        stream, self._stream = self._stream, None
        return stream.stop()

    def close(self) -> None:
        """End a recording that is still under way, whatever else is wrong."""
        if self._stream is not None:
            quietly("telemetry", self.stop_telemetry)

    def _links(self, counters: Counters) -> dict[str, int]:
        ports = {f"port {name}": port.link_downs for name, port in counters.shared.ports.items()}
        return ports | self._lab.session.link_downs()

    def _losses(self, counters: Counters) -> dict[str, int]:
        return loss_counters(counters.shared, self._lab.session.host_losses())


@contextmanager
def programmed(
    lab: Lab, program: LaneProgram, telemetry: TelemetryPlan
) -> Iterator[ProgrammedLane]:
    """Reset a lane, program it and record its postcards; it is empty again afterwards."""

    def reset() -> None:
        lab.target.reset(program.lane, program.first_flow, len(program.flows))

    reset()
    try:
        applied = lab.target.program(lab.loadable(program))
        stream = lab.target.start_telemetry(program.lane, telemetry)
        try:
            lane = ProgrammedLane(lab, program, applied, stream)
        except BaseException:
            quietly("telemetry", stream.stop)
            raise
        try:
            yield lane
        finally:
            lane.close()
    finally:
        quietly("lane", reset)


def loss_counters(shared: SharedCounters, hosts: dict[str, int]) -> dict[str, int]:
    """All loss counters by a name that says where."""
    losses = dict(hosts)
    for name, port in shared.ports.items():
        losses |= {f"port {name} {loss}": getattr(port, loss) for loss in _PORT_LOSSES}
    losses |= {f"ring {name}": n for name, n in shared.rings.items() if name != _DISCARDED}
    return losses | {
        f"unshaped {name}": n for name, n in shared.unshaped.items() if _UNSHAPED_LOSS.search(name)
    }


def difference(after: dict[str, int], before: dict[str, int]) -> dict[str, int]:
    """Change of each counter; one that was not there before counts from 0."""
    return {name: count - before.get(name, 0) for name, count in after.items()}
