"""What models are asked: flows of some kinds that share a drop-tail bottleneck."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nashbed.controlplane.contract.errors import ConfigError

from .starts import BBR, CUBIC, Starts


class ModelError(ConfigError):
    """A model is asked something that makes no sense, such as a negative buffer."""


@dataclass(frozen=True)
class FlowKind:
    """Flows that differ in nothing but chance.

    Attributes:
        cca: Their CCA, e.g. `cubic` or `bbr3`.
        flows: How many; 0: the kind is a side of a game that no flow is on.
        base_rtt_s: Their round-trip time without queueing, in seconds.
        start_spread_s: Each starts up to this much later.
        window_bytes: Most that a flow's socket buffers let it have in flight.
        connecting_s: How long before time 0 they begin to connect, evenly until `start_s`; 0: all
            are connected at time 0. BBR believes the RTT of its handshake for 10 s.
    """

    cca: str
    flows: int
    base_rtt_s: float
    start_s: float = 0.0
    start_spread_s: float = 0.1
    window_bytes: float = math.inf
    connecting_s: float = 0.0

    @property
    def window_limit(self) -> float | None:
        """Most that a flow may have in flight, in bytes; None: no limit."""
        return self.window_bytes if math.isfinite(self.window_bytes) else None

    def __post_init__(self) -> None:
        """Refuse what no model could answer.

        Raises:
            ModelError: A quantity is out of its range.
        """
        if self.flows < 0:
            raise ModelError(f"{self.flows} {self.cca} flows; give 0 or more")
        _require_positive("base_rtt_s", self.base_rtt_s)
        if (
            min(self.start_s, self.start_spread_s, self.connecting_s) < 0
            or not self.window_bytes > 0
        ):
            raise ModelError(f"{self.cca}: starts below 0, or no window at all; give others")


@dataclass(frozen=True)
class Competition:
    """Flows that share a drop-tail bottleneck.

    Published models know two kinds, CUBIC and BBR, of one base RTT, and of their times the
    duration alone; the closed form reads `measured_from_s` too, the fluid model everything.

    Attributes:
        rate_bps: Rate C of the bottleneck in bit/s.
        buffer_bytes: Its buffer B in bytes.
        kinds: The flows. Where two CCAs play a game, the first kind is CUBIC's and
            the second one the other's.
        duration_s: How long they compete, in seconds.
        measured_from_s: Start of the time over which shares are meant; it lasts until `duration_s`.
    """

    rate_bps: float
    buffer_bytes: float
    kinds: tuple[FlowKind, ...]
    duration_s: float = 120.0
    measured_from_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no model could answer.

        Raises:
            ModelError: A quantity is out of its range, or there is no flow.
        """
        for name in ("rate_bps", "buffer_bytes", "duration_s"):
            _require_positive(name, getattr(self, name))
        _require_before_end("measured_from_s", self.measured_from_s, self.duration_s)
        if self.flows == 0:
            raise ModelError("no flow competes; give at least one")

    @property
    def first(self) -> FlowKind:
        """The flows of the first CCA of a game, CUBIC's."""
        return self.kinds[0]

    @property
    def second(self) -> FlowKind:
        """The flows of the second one: BBR's, or those of what runs in its place."""
        return self.kinds[1]

    @property
    def flows(self) -> int:
        """All flows N."""
        return sum(kind.flows for kind in self.kinds)

    @property
    def base_rtt_s(self) -> float:
        """Round-trip time R without queueing; of several the smallest."""
        return min(kind.base_rtt_s for kind in self.kinds)

    @property
    def bdp_bytes(self) -> float:
        """Bandwidth-delay product C R in bytes."""
        return self.rate_bps * self.base_rtt_s / 8

    @property
    def buffer_bdp(self) -> float:
        """Buffer X in bandwidth-delay products."""
        return self.buffer_bytes / self.bdp_bytes

    @property
    def fair_share_bps(self) -> float:
        """C / N in bit/s."""
        return self.rate_bps / self.flows

    def flows_of(self, cca: str) -> int:
        """How many flows run a CCA."""
        return sum(kind.flows for kind in self.kinds if kind.cca == cca)

    def with_second(self, flows: int) -> Competition:
        """This game with another number of flows of the second kind among as many flows."""
        first = replace(self.first, flows=self.flows - flows)
        return replace(self, kinds=(first, replace(self.second, flows=flows)))

    def started(self, starts: Starts, measured_from_s: float = 0.0) -> Competition:
        """This game with other starts, measured from a time on.

        Raises:
            ModelError: One of these times is not before the end.
        """
        cubic = _started(self.first, starts.cubic_s, starts, self.duration_s)
        second = _started(self.second, starts.second_s, starts, self.duration_s)
        return replace(self, kinds=(cubic, second), measured_from_s=measured_from_s)

    def limited(self, window_bytes: float | None) -> Competition:
        """This game with another limit on what a flow may have in flight; None: no limit."""
        window = math.inf if window_bytes is None else window_bytes
        return replace(self, kinds=tuple(replace(k, window_bytes=window) for k in self.kinds))


def cubic_against(
    rate_bps: float,
    base_rtt_s: float,
    buffer_bytes: float,
    cubic: int,
    others: int,
    cca: str = BBR,
    duration_s: float = 120.0,
) -> Competition:
    """CUBIC flows against those of one other CCA, all of one base RTT.

    Every flow starts within 0.1 s, and nothing but the queue limits its window.

    Args:
        others: Flows of the other CCA.

    Raises:
        ModelError: A quantity is out of its range, or there is no flow.
    """
    kinds = (FlowKind(CUBIC, cubic, base_rtt_s), FlowKind(cca, others, base_rtt_s))
    return Competition(rate_bps, buffer_bytes, kinds, duration_s)


def by_kind(game: Competition, flows: Sequence[tuple[str, int, float]]) -> Competition:
    """The competition of a game whose flows differ in more than their CCA.

    Args:
        game: All but the flows; what is not CUBIC starts as its second kind does.
        flows: CCA, number and base RTT in seconds of each kind; kinds without a flow are left
            out.
    """
    kinds = tuple(
        replace(
            game.first if cca == CUBIC else game.second,
            cca=cca,
            flows=number,
            base_rtt_s=base_rtt_s,
        )
        for cca, number, base_rtt_s in flows
        if number
    )
    return replace(game, kinds=kinds)


def _started(kind: FlowKind, start_s: float, starts: Starts, end_s: float) -> FlowKind:
    _require_before_end(f"start of {kind.cca}", start_s, end_s)
    _require_before_end("start_spread_s", starts.spread_s, end_s)
    _require_before_end("connecting_s", starts.connecting_s, end_s)
    return replace(
        kind,
        start_s=start_s,
        start_spread_s=starts.spread_s,
        connecting_s=starts.connecting_s,
    )


def _require_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ModelError(f"{name} is {value:g}; give a number above 0")


def _require_before_end(name: str, value: float, end_s: float) -> None:
    if not 0 <= value < end_s:
        raise ModelError(f"{name} is {value:g}; give 0 or more, less than duration_s")
