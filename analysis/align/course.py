"""What a trial's path does over time: its changes, and what the link can carry meanwhile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.link import Link
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.target import Applied
from nashbed.controlplane.contract.trial import TrialRecord, scenario_at
from nashbed.controlplane.contract.units import NS_PER_S, Duration, Rate, Size
from numpy.typing import NDArray


@dataclass(frozen=True)
class PathChange:
    """A change of the path.

    Attributes:
        at_ns: When, after t0.
        text: What changes, in words.
        rate_bps: Rate from here on; 0: the link is down.
        before_bps: Rate until here.
    """

    at_ns: int
    text: str
    rate_bps: int
    before_bps: int

    @property
    def raises_rate(self) -> bool:
        """Whether there is more capacity from here on."""
        return self.rate_bps > self.before_bps


@dataclass(frozen=True)
class PathCourse:
    """A path over the time of a trial.

    Attributes:
        rate_bps: Applied rate at t0.
        changes: Its changes, in the order of time.
        t_ns: Times at which `bits` is known, increasing, shape (n,).
        bits: What the link can have carried from the first of them on, shape (n,); in between it
            carries evenly.
    """

    rate_bps: int
    changes: tuple[PathChange, ...]
    t_ns: NDArray[np.int64]
    bits: NDArray[np.float64]

    def capacity_bits(self, edges_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """What the link can carry between each two neighbouring times, shape (n - 1,)."""
        carried: NDArray[np.float64] = np.diff(np.interp(edges_ns, self.t_ns, self.bits))
        return carried

    @property
    def rate_varies(self) -> bool:
        """Whether the link's rate is not the same all the time; base RTTs may change, too."""
        lasting = np.diff(self.t_ns) > 0
        rates = np.diff(self.bits)[lasting] * NS_PER_S / np.diff(self.t_ns)[lasting]
        return not np.allclose(rates, self.rate_bps, rtol=1e-9)

    def segments(self, end_ns: int) -> list[tuple[PathChange, int]]:
        """Each change before an end, and when the next one comes or the end.

        Args:
            end_ns: The end, after t0.
        """
        known = [change for change in self.changes if change.at_ns < end_ns]
        ends = [change.at_ns for change in known[1:]] + [end_ns]
        return list(zip(known, ends, strict=True)) if known else []


def steps(rate_bps: int, changes: Sequence[PathChange], end_ns: int) -> PathCourse:
    """A path whose rate is constant between its changes.

    Args:
        rate_bps: Rate at t0.
        changes: The changes, in the order of time.
        end_ns: Until when it is known, at least.
    """
    times = np.array([0, *(c.at_ns for c in changes), max([end_ns, *(c.at_ns for c in changes)])])
    rates = np.array([rate_bps, *(c.rate_bps for c in changes)], dtype=np.float64)
    bits = np.concatenate(([0.0], np.cumsum(rates * np.diff(times) / NS_PER_S)))
    return PathCourse(rate_bps, tuple(changes), times.astype(np.int64), bits)


def course_of(record: TrialRecord, scenario: Scenario) -> PathCourse | None:
    """What the path of a trial did, as applied; None: nothing."""
    applied, own = record.applied, scenario_at(scenario, record.setting)
    events = sorted([*_link_events(applied), *_rtt_events(own)], key=lambda each: each[0])
    changes, rate = [], applied.rate_bps
    for at_ns, text, to in events:
        changes.append(PathChange(at_ns, text, rate if to is None else to, rate))
        rate = changes[-1].rate_bps
    if applied.trace is not None:
        return _traced(applied, _joined(changes), record.duration_ns)
    return steps(applied.rate_bps, _joined(changes), record.duration_ns) if changes else None


TRACE_STEP_NS = 10_000_000
"""How finely what a trace carries is known."""


def _traced(applied: Applied, changes: list[PathChange], end_ns: int) -> PathCourse:
    """A link that follows a trace; changes are those of the flows' paths."""
    link, times = applied.link, np.arange(0, end_ns + TRACE_STEP_NS, TRACE_STEP_NS)
    return PathCourse(applied.rate_bps, tuple(changes), times, _carried(link, times))


def _carried(link: Link, times_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.array([link.capacity_bits(0, at) for at in times_ns.tolist()])


Event = tuple[int, str, int | None]
"""When, what in words, and the rate from then on (None: it stays)."""


def _link_events(applied: Applied) -> Iterator[Event]:
    """What the target changed of the link."""
    rate, size = applied.rate_bps, applied.buffer_bytes
    for state in applied.changes:
        texts = []
        if state.rate_bps != rate:
            texts.append("link down" if state.rate_bps == 0 else _rate(state.rate_bps, rate))
        if state.limit.in_bytes != size:
            texts.append(f"buffer {_spaced(Size(state.limit.in_bytes))}")
        rate, size = state.rate_bps, state.limit.in_bytes
        yield state.at_ns, ", ".join(texts) or "link as before", rate


def _rate(rate_bps: int, before_bps: int) -> str:
    text = str(Rate(rate_bps)).replace("mbit", " Mbit/s").replace("gbit", " Gbit/s")
    return f"link up at {text}" if before_bps == 0 else text.replace("kbit", " kbit/s")


def _rtt_events(scenario: Scenario) -> Iterator[Event]:
    """Base RTTs that change, which the data plane does exactly."""
    for group in scenario.flows:
        of = f" of {group.name}" if len(scenario.flows) > 1 else ""
        for change in group.changes:
            yield change.at.ns, f"base RTT {_spaced(change.base_rtt)}{of}", None


def _spaced(amount: Size | Duration) -> str:
    text = str(amount)
    unit = text.lstrip("0123456789.")
    return f"{text[: len(text) - len(unit)]} {unit}"


def _joined(changes: Sequence[PathChange]) -> list[PathChange]:
    """Changes of one moment as one."""
    found: list[PathChange] = []
    for change in changes:
        if found and found[-1].at_ns == change.at_ns:
            first = found.pop()
            text = f"{first.text}, {change.text}"
            found.append(PathChange(change.at_ns, text, change.rate_bps, first.before_bps))
        else:
            found.append(change)
    return found
