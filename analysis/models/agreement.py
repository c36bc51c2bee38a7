"""How far equilibria are from the published ones, source by source."""

from collections.abc import Iterable, Sequence
from statistics import fmean, median

from nashbed.controlplane.contract.model import ContractModel, JsonAnswer

from ..nash.crossing_interval import mixes_between
from .equilibrium_files import EquilibriumRow, Origin, PublishedEquilibrium
from .starts import BBR, CUBIC

NEAR_FLOWS, WITHIN_FLOWS = 3, 5
SAME = 0.01
"""Relative difference up to which a buffer is the published one: bytes are whole."""


class HeldIntervals(ContractModel):
    """Intervals beside a published equilibrium.

    Attributes:
        count: How many.
        hold: How many of them hold one of the published equilibria.
    """

    count: int
    hold: int


class Agreement(ContractModel):
    """The equilibria of one source against the published ones.

    Attributes:
        kind: Whether it is a run of ours or a model.
        source: Which one.
        settings: Its settings.
        undecided: How many of them have no equilibrium.
        unsettled: How many have one of which the deciding mixes had not settled.
        compared: Settings that have an equilibrium and a published one.
        mean_off: Mean of the flows between it and the nearest published one; null: none compared.
        median_off: Median of the same.
        within_3: Settings with at most 3 flows between them.
        within_5: With at most 5.
        closed: Closed 95 % intervals; a model has none.
        open: Open ones.
        without_interval: Settings with a published equilibrium, but without an interval.
    """

    kind: str
    source: str
    settings: int
    undecided: int
    unsettled: int
    compared: int
    mean_off: float | None
    median_off: float | None
    within_3: int
    within_5: int
    closed: HeldIntervals
    open: HeldIntervals
    without_interval: int


class EquilibriaTableAnswer(JsonAnswer):
    """What `nashbed equilibria --json` answers.

    Attributes:
        ok: True.
        rows: How many rows there are.
        left_out: Why settings were left out -> how many.
        agreement: Each source against the published equilibria.
        files: What was written.
    """

    ok: bool = True
    rows: int
    left_out: dict[str, int]
    agreement: tuple[Agreement, ...]
    files: tuple[str, ...]


def agreement_by_source(
    rows: Iterable[EquilibriumRow], published: Sequence[PublishedEquilibrium]
) -> list[Agreement]:
    """Hold every source against the published equilibria, in the order of the rows."""
    by_origin: dict[Origin, list[EquilibriumRow]] = {}
    for row in rows:
        by_origin.setdefault(row.origin, []).append(row)
    return [_agreement(origin, own, published) for origin, own in by_origin.items()]


def published_beside(
    row: EquilibriumRow, published: Sequence[PublishedEquilibrium]
) -> PublishedEquilibrium | None:
    """The published equilibrium of a row's setting; None: it is a prediction."""
    if set(row.strategies.split()) != {CUBIC, BBR}:
        return None
    mine = row.key
    for each in published:
        theirs = each.key
        same = (mine.rate_mbps, mine.base_rtt_ms, mine.flows) == (
            theirs.rate_mbps,
            theirs.base_rtt_ms,
            theirs.flows,
        )
        if same and abs(mine.buffer_bdp - theirs.buffer_bdp) <= SAME * theirs.buffer_bdp:
            return each
    return None


def _agreement(
    origin: Origin, rows: Sequence[EquilibriumRow], published: Sequence[PublishedEquilibrium]
) -> Agreement:
    beside = [(row, found) for row in rows if (found := published_beside(row, published))]
    off = [found.off(row.n_cubic) for row, found in beside if row.n_cubic is not None]
    kind, source = origin
    return Agreement(
        kind=kind,
        source=source,
        settings=len(rows),
        undecided=sum(row.n_cubic is None for row in rows),
        unsettled=sum(row.settled is False for row in rows),
        compared=len(off),
        mean_off=fmean(off) if off else None,
        median_off=median(off) if off else None,
        within_3=sum(each <= NEAR_FLOWS for each in off),
        within_5=sum(each <= WITHIN_FLOWS for each in off),
        closed=_held([pair for pair in beside if pair[0].closed is True]),
        open=_held([pair for pair in beside if pair[0].closed is False]),
        without_interval=sum(row.closed is None for row, _ in beside),
    )


def _held(beside: Sequence[tuple[EquilibriumRow, PublishedEquilibrium]]) -> HeldIntervals:
    return HeldIntervals(count=len(beside), hold=sum(_holds(row, found) for row, found in beside))


def _holds(row: EquilibriumRow, published: PublishedEquilibrium) -> bool:
    """Whether a published equilibrium is a mix that a row's interval allows."""
    if row.interval is None:
        return False
    low, high = row.interval
    first, last = mixes_between(row.n_flows - high, row.n_flows - low, row.n_flows)
    return any(first <= row.n_flows - cubic <= last for cubic in published.cubic)
