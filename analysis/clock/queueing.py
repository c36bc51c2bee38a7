"""Queueing delay of each packet by captures, held against the switch's own word of it."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network

import numpy as np
from nashbed.controlplane.contract.records import KIND_DEPARTED
from nashbed.controlplane.contract.shared import (
    FIRST_SENDER_PORT,
    RECEIVERS_NETWORK,
    SENDERS_NETWORK,
    SINK_PORT,
    lane_network,
)
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from .alignment import Alignment, align
from .match import CapturedPackets, common
from .taps import Taps
from .timebase import ClockError, Instants, TimeBase

SWITCH = TimeBase("the switch's clock")
PS_PER_NS = 1000
LEAST = 32
"""Packets without which nothing is said of bias and spread."""


@dataclass(frozen=True)
class Mismatch:
    """A packet on which captures and postcards disagree.

    Attributes:
        postcard_ns: Its sojourn time by the postcard (None: no postcard).
        capture_ns: Its delay by the captures (None: not in both).
    """

    flow: int
    tcp_seq: int
    problem: str
    postcard_ns: int | None
    capture_ns: float | None


@dataclass(frozen=True)
class TapComparison:
    """What two captures say of a trial, and the postcards of the same packets.

    Attributes:
        software: Whether the hosts captured.
        clocks: How the clocks stand to each other, one line each.
        alignments: The same as numbers.
        sojourn_ns: By postcards, shape (n,).
        delay_ns: By captures, of the same packets, shape (n,).
        time_ns: When each left the queue, after the trial's start, shape (n,).
        tolerance_ns: By how much the two may differ.
        mismatches: Every packet that does not fit.
    """

    trial: str
    software: bool
    clocks: tuple[str, ...]
    alignments: tuple[Alignment, ...]
    sojourn_ns: NDArray[np.int64]
    delay_ns: NDArray[np.float64]
    time_ns: NDArray[np.int64]
    tolerance_ns: int
    mismatches: tuple[Mismatch, ...]

    @property
    def difference_ns(self) -> NDArray[np.float64]:
        """Captures less postcards, shape (n,)."""
        return self.delay_ns - self.sojourn_ns

    @property
    def bias_ns(self) -> float:
        """Median difference."""
        return float(np.median(self.difference_ns))

    @property
    def spread_ns(self) -> tuple[float, float]:
        """5th and 95th percentile of the differences."""
        low, high = np.percentile(self.difference_ns, (5, 95))
        return float(low), float(high)


@dataclass(frozen=True)
class _Captured:
    """Data packets that were seen behind the bottleneck, in that order.

    Attributes:
        key: The name that captures and postcards share, shape (n,).
        flow: Their flow, shape (n,).
        seen: What is known of each, with its time behind.
        came: Number of each among the times before, shape (n,); -1: it was not seen there.
        acks_before: When packets on their way back were seen before the bottleneck.
        acks_behind: When the same ones were seen behind it, earlier.
    """

    key: NDArray[np.uint64]
    flow: NDArray[np.int64]
    seen: CapturedPackets
    came: NDArray[np.int64]
    times_before: Instants
    acks_before: Instants
    acks_behind: Instants


@dataclass(frozen=True)
class _Cards:
    """Postcards of the data packets that left.

    Attributes:
        key: The name that captures and postcards share, shape (n,).
        flow: Their flow, shape (n,).
        tcp_seq: Their TCP sequence number, shape (n,).
        sojourn_ns: From arrival to the last bit's departure, shape (n,).
        left_ns: When that was, after the trial's start, shape (n,).
    """

    key: NDArray[np.uint64]
    flow: NDArray[np.int64]
    tcp_seq: NDArray[np.uint32]
    sojourn_ns: NDArray[np.int64]
    left_ns: NDArray[np.int64]


def compare(trial: SealedTrial, taps: Taps) -> TapComparison:
    """Measure the queueing delay by captures and hold it against the postcards.

    The delay by captures is the time behind less the time before, less the delay line's part
    where it is between the two. Like the sojourn time it includes the packet's own serialisation.
    With two clocks, one is brought onto the other by a lower envelope: by the ACKs, which no
    queue holds up on their way back, or by the packets themselves, of which one that met no
    queue takes its own serialisation alone. The one with the smaller error counts.

    Args:
        trial: The trial; it must have every postcard.
        taps: Its captures.

    Raises:
        RunError: A capture cannot be read, has nothing in common with the other, or no postcards
            were recorded.
    """
    if trial.record.postcards != "all":
        raise RunError(f"{trial.id}: only some postcards were recorded; use `postcards: all`")
    captured, cards = _captured(trial, taps), _cards(trial)
    n, card = _in_both(captured, cards)
    if len(n) < LEAST:
        raise ClockError(
            f"{taps.behind.path}: {len(n)} of its packets are in the postcards of {trial.id} and "
            "in the capture before; are both captures of this trial?"
        )
    came, went = captured.times_before.take(captured.came[n]), captured.seen.times.take(n)
    way_ps = _delay_line_ps(trial, captured.flow[n]) if taps.software else np.zeros_like(came.ps)
    own_ps = _serialisation_ps(trial, captured.seen.frame_bytes[n])
    of_taps = _of_taps(captured, came, went, way_ps + own_ps)
    left = Instants(SWITCH, 0, cards.left_ns[card] * PS_PER_NS)
    clocks = (of_taps, _clock_line(left, went))
    on_one = of_taps.to_reference(went) if isinstance(of_taps, Alignment) else went
    delay_ns = (on_one - came - way_ps) / PS_PER_NS
    return TapComparison(
        trial=trial.id,
        software=taps.software,
        clocks=tuple(c.text() if isinstance(c, Alignment) else c for c in clocks),
        alignments=tuple(c for c in clocks if isinstance(c, Alignment)),
        sojourn_ns=cards.sojourn_ns[card],
        delay_ns=delay_ns,
        time_ns=cards.left_ns[card],
        tolerance_ns=taps.tolerance_ns,
        mismatches=(
            *_too_far(cards, card, delay_ns, taps.tolerance_ns),
            *_without_postcard(captured, n),
            *_without_capture(cards, card),
        ),
    )


def _captured(trial: SealedTrial, taps: Taps) -> _Captured:
    every_before, every_behind = taps.before.read(), taps.behind.read()
    before, behind = _data(every_before, trial), _data(every_behind, trial)
    at_before, at_behind = common(before, behind)
    came = np.full(len(behind), -1)
    came[at_behind] = at_before
    flow = behind.sport.astype(np.int64) - FIRST_SENDER_PORT
    back_before, back_behind = _acks(every_before, trial), _acks(every_behind, trial)
    for each in (before, behind, back_before, back_behind):
        each.times.check_monotonic()  # of one direction: a host writes the two down in any order
    at_before, at_behind = common(back_before, back_behind)
    return _Captured(
        key=_keys(flow, behind.seq),
        flow=flow,
        seen=behind,
        came=came,
        times_before=before.times,
        acks_before=back_before.times.take(at_before),
        acks_behind=back_behind.times.take(at_behind),
    )


def _cards(trial: SealedTrial) -> _Cards:
    names = ("kind", "flow", "payload_bytes", "tcp_seq", "enqueue_ns", "dequeue_ns")
    table = trial.arrays("postcards", names)
    data = np.flatnonzero((table["kind"] == KIND_DEPARTED) & (table["payload_bytes"] > 0))
    column = {name: table[name][data] for name in names}
    flow = column["flow"].astype(np.int64)
    return _Cards(
        key=_keys(flow, column["tcp_seq"]),
        flow=flow,
        tcp_seq=column["tcp_seq"],
        sojourn_ns=column["dequeue_ns"] - column["enqueue_ns"],
        left_ns=column["dequeue_ns"],
    )


def _in_both(captured: _Captured, cards: _Cards) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the packets with a postcard and both captures are in each, in order of time."""
    _, n, card = np.intersect1d(captured.key, cards.key, return_indices=True)
    crossed = captured.came[n] >= 0
    n, card = n[crossed], card[crossed]
    order = np.argsort(n)
    return n[order], card[order]


def _data(seen: CapturedPackets, trial: SealedTrial) -> CapturedPackets:
    """The data packets from this trial's senders to its receivers."""
    flows = len(trial.arrays("flows", ["flow"])["flow"])
    number = seen.sport.astype(np.int64) - FIRST_SENDER_PORT
    ours = _from_network(seen, SENDERS_NETWORK, trial) & (number >= 0) & (number < flows)
    return seen.take(np.flatnonzero(ours & (seen.payload > 0)))


def _acks(seen: CapturedPackets, trial: SealedTrial) -> CapturedPackets:
    """The packets from this trial's receivers."""
    ours = _from_network(seen, RECEIVERS_NETWORK, trial) & (seen.sport == SINK_PORT)
    return seen.take(np.flatnonzero(ours))


def _from_network(
    seen: CapturedPackets, network: IPv4Network, trial: SealedTrial
) -> NDArray[np.bool_]:
    lane = lane_network(network, trial.record.lane)
    ours: NDArray[np.bool_] = seen.src & int(lane.netmask) == int(lane.network_address)
    return ours


def _keys(flow: NDArray[np.int64], seq: NDArray[np.uint32]) -> NDArray[np.uint64]:
    """Flow 16 bits, transmission 16 bits, sequence number 32 bits.

    A retransmission has the number of the packet it repeats: the k-th of it to leave the queue
    is the k-th to be seen behind it.
    """
    name = flow.astype(np.uint64) << np.uint64(48) | seq.astype(np.uint64)
    order = np.argsort(name, kind="stable")
    ordered = name[order]
    begins = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(name) else order
    rank = np.arange(len(name)) - np.repeat(begins, np.diff(np.r_[begins, len(name)]))
    name[order] |= rank.astype(np.uint64) << np.uint64(32)
    return name


def _delay_line_ps(trial: SealedTrial, flow: NDArray[np.int64]) -> NDArray[np.int64]:
    """The delay line's forward part for each packet: half of its group's base RTT."""
    flows = trial.arrays("flows", ["flow", "base_rtt_ns"])
    forward = np.zeros(len(flows["flow"]), np.int64)
    forward[flows["flow"]] = flows["base_rtt_ns"] // 2
    return forward[flow] * PS_PER_NS


def _serialisation_ps(trial: SealedTrial, frame_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each packet's own time on the bottleneck link; of a shaper, none."""
    if trial.record.applied.shaper is not None:
        return np.zeros_like(frame_bytes)
    bits = (frame_bytes + trial.record.setting.overhead_bytes) * 8
    return bits * 10**12 // trial.record.applied.rate_bps


def _of_taps(
    captured: _Captured, came: Instants, went: Instants, way_ps: NDArray[np.int64]
) -> Alignment | str:
    """How the clock behind stands to the one before; a sentence where it is one clock."""
    if came.base == went.base:
        return f"Both captures read {came.base}."
    earliest = Instants(came.base, came.origin_s, came.ps + way_ps)
    alignments: list[Alignment] = []
    problems: list[ClockError] = []
    ways: tuple[Callable[[], Alignment], ...] = (
        lambda: align(captured.acks_behind, captured.acks_before).inverted(),
        lambda: align(earliest, went),
    )
    for way in ways:
        try:
            alignments.append(way())
        except ClockError as error:
            problems.append(error)
    if not alignments:
        raise problems[-1]
    return min(alignments, key=lambda alignment: alignment.offset_error_ps)


def _clock_line(switch: Instants, behind: Instants) -> Alignment | str:
    """How the capture's clock stands to the switch's: by what left, and when it was seen."""
    try:
        return align(switch, behind)
    except ClockError as error:
        return f"Not aligned: {error.message}."


def _too_far(
    cards: _Cards, card: NDArray[np.intp], delay_ns: NDArray[np.float64], tolerance_ns: int
) -> list[Mismatch]:
    """Packets whose difference is further from the median than it may be."""
    away = delay_ns - cards.sojourn_ns[card]
    off = np.flatnonzero(np.abs(away - np.median(away)) > tolerance_ns)
    return [
        Mismatch(
            int(cards.flow[card[k]]),
            int(cards.tcp_seq[card[k]]),
            f"delay by the captures less that by the postcard: {away[k] / 1e6:+.3f} ms",
            int(cards.sojourn_ns[card[k]]),
            float(delay_ns[k]),
        )
        for k in off
    ]


def _without_postcard(captured: _Captured, n: NDArray[np.intp]) -> list[Mismatch]:
    missing = np.setdiff1d(np.arange(len(captured.key)), n)
    problem = ("seen behind without a postcard", "seen behind, not before")
    return [
        Mismatch(
            int(captured.flow[k]),
            int(captured.seen.seq[k]),
            problem[int(captured.came[k] < 0)],
            None,
            None,
        )
        for k in missing
    ]


def _without_capture(cards: _Cards, card: NDArray[np.intp]) -> list[Mismatch]:
    missing = np.setdiff1d(np.arange(len(cards.key)), card)
    problem = "has a postcard, but is not in both captures"
    return [
        Mismatch(int(cards.flow[k]), int(cards.tcp_seq[k]), problem, int(cards.sojourn_ns[k]), None)
        for k in missing
    ]
