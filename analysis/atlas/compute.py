"""The equilibrium at every point of a map, on as many cores as there are.

A row is computed by one process from left to right: each point starts at the crossing that the
points before it lead to. So the map does not depend on the number of processes.
"""

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..models import MODELS, Competition
from ..models.crossing import PredictedCrossing, crossing_of
from ..models.settling import LENGTHS_S, settling_of
from .plane import MapPlane

OnRow = Callable[[int, int], None]
"""Told how many rows are done, and of how many."""
FloatGrid = NDArray[np.float64]

ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that end the command."""

WIDE_RANGE = 0.10
"""Range over the seeds, as a part of the flows, from which the equilibrium counts as uncertain."""
DISAGREEMENT = 0.06
"""Distance of two models' equilibria, as a part of the flows, beyond which they disagree: 3 of 50
flows, by which equilibria of published trials move from one to the next."""

LONGEST_S = 450.0
"""Longest simulation that decides whether a point settles, where it is twice the time available:
a mix that still drifts then has not settled before, and the map claims no more."""


@dataclass(frozen=True)
class MapPoint:
    """One point of a map.

    Attributes:
        x: Value on the x axis, in its base unit.
        other: The other model's; None if none was asked.
        transient: Whether the fluid model says that the mix at the equilibrium has not settled;
            None if that was not asked, or is a corner.
    """

    x: float
    y: float
    question: Competition
    crossing: PredictedCrossing
    other: PredictedCrossing | None = None
    transient: bool | None = None

    @property
    def range_of_flows(self) -> float | None:
        """From the lowest to the highest equilibrium over the seeds, as a part of the flows."""
        if self.crossing.low is None or self.crossing.high is None:
            return None
        return (self.crossing.high - self.crossing.low) / self.crossing.flows

    @property
    def uncertain(self) -> tuple[str, ...]:
        """Why the equilibrium is uncertain: of `seeds`, `models` and `transient` those that are."""
        reasons = []
        if (self.range_of_flows or 0.0) > WIDE_RANGE:
            reasons.append("seeds")
        mine, others = self.crossing.share, None if self.other is None else self.other.share
        if mine is not None and others is not None and abs(mine - others) > DISAGREEMENT:
            reasons.append("models")
        if self.transient:
            reasons.append("transient")
        return tuple(reasons)


@dataclass(frozen=True)
class EquilibriumMap:
    """A computed map.

    Attributes:
        other: Name of the model that it is held against; None: none.
        points: Row by row, upwards; each row to the right.
    """

    plane: MapPlane
    model: str
    other: str | None
    points: tuple[MapPoint, ...]

    def grid(self, value: Callable[[MapPoint], float | None]) -> FloatGrid:
        """A value of every point, shape (y, x); NaN where there is none."""
        values = [value(point) for point in self.points]
        flat = np.array([np.nan if v is None else v for v in values], dtype=float)
        return flat.reshape(len(self.plane.y.values), len(self.plane.x.values))

    @property
    def refused(self) -> tuple[MapPoint, ...]:
        """The points for which the model has no number."""
        return tuple(point for point in self.points if point.crossing.second is None)

    @property
    def questions(self) -> int:
        """How often the model was asked."""
        return sum(point.crossing.questions for point in self.points)


def compute_map(
    plane: MapPlane,
    model: str,
    other: str | None = None,
    processes: int = 1,
    on_row: OnRow = lambda _done, _rows: None,
    settled: bool = False,
) -> EquilibriumMap:
    """Compute a map.

    Args:
        other: A model that it is held against, asked too; None: none.
        processes: How many processes compute; 1: this one.
        settled: Whether to ask the fluid model too whether the mixes at the equilibria settle in
            the time that there is; some ten times as slow.

    Raises:
        FluidNotBuiltError: Settling was asked for, and the fluid model's library is not there.
    """
    heights = plane.y.values
    rows: dict[int, tuple[MapPoint, ...]] = {}
    for number, points in _rows(plane, MapQuestion(model, other, settled), processes):
        rows[number] = points
        on_row(len(rows), len(heights))
    found = tuple(point for number in range(len(heights)) for point in rows[number])
    return EquilibriumMap(plane, model, other, found)


Row = tuple[int, tuple[MapPoint, ...]]


@dataclass(frozen=True)
class MapQuestion:
    """What is asked at every point.

    Attributes:
        other: Name of the one that it is held against.
    """

    model: str
    other: str | None
    settled: bool


def _rows(plane: MapPlane, wanted: MapQuestion, processes: int) -> Iterator[Row]:
    """Every row with its number, as they are done; a stop leaves what has not begun."""
    numbers = range(len(plane.y.values))
    if processes <= 1:
        yield from (_row(plane, wanted, number) for number in numbers)
        return
    pool = ProcessPoolExecutor(processes, initializer=_leave_signals_to_the_parent)
    try:
        # A process that has begun and does not yet leave signals to its parent must get none.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
        try:
            futures: list[Future[Row]] = [pool.submit(_row, plane, wanted, n) for n in numbers]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        yield from (future.result() for future in as_completed(futures))
    finally:
        pool.shutdown(cancel_futures=True)


def _leave_signals_to_the_parent() -> None:
    """Ctrl-C reaches every process of a terminal; the parent alone ends the work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDS)


def _row(plane: MapPlane, wanted: MapQuestion, number: int) -> Row:
    y = plane.y.values[number]
    points: list[MapPoint] = []
    for x in plane.x.values:
        points.append(_point(plane, (x, y), wanted, _expected(points)))
    return number, tuple(points)


def _point(
    plane: MapPlane, place: tuple[float, float], wanted: MapQuestion, start: float | None
) -> MapPoint:
    """One point.

    Args:
        start: Part of the flows that is expected to run BBR; None: not known.
    """
    question = plane.question(*place)
    mixes, flows = plane.mixes(question), question.flows
    second = None if wanted.other is None else crossing_of(MODELS[wanted.other], mixes, flows)
    if start is None and second is not None:
        start = second.share
    expected = None if start is None else start * flows
    first = crossing_of(MODELS[wanted.model], mixes, flows, expected)
    transient = _transient(mixes, flows, first.second) if wanted.settled else None
    return MapPoint(*place, question, first, second, transient)


def _transient(mixes: Callable[[int], Competition], flows: int, bbr: float | None) -> bool | None:
    """Whether the mix at an equilibrium has not settled in the time that there is."""
    if bbr is None or bbr in {0.0, float(flows)}:
        return None
    mix = mixes(min(max(round(bbr), 1), flows - 1))
    longest_s = max(LONGEST_S, 2 * mix.duration_s)
    lengths = [length for length in LENGTHS_S if length <= longest_s]
    return settling_of(mix, lengths_s=lengths).transient


def _expected(before: list[MapPoint]) -> float | None:
    """Part of the flows that runs BBR if a row goes on straight; None at its beginning."""
    shares = [point.crossing.share for point in before[-2:]]
    if not shares or shares[-1] is None:
        return None
    if len(shares) < 2 or shares[0] is None or shares[-1] in {0.0, 1.0}:
        return shares[-1]
    return min(max(2 * shares[-1] - shares[0], 0.0), 1.0)
