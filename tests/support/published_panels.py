"""The published FABRIC mixes as games."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from nashbed.analysis.models.equilibrium_files import read_published
from nashbed.analysis.models.expected import Mixes
from nashbed.analysis.models.measured import mixes_of_file
from nashbed.analysis.models.mix_files import PUBLISHED_MIXES, PanelKey, read_rows
from nashbed.analysis.nash.game import PayoffTable, two_strategy_table
from nashbed.analysis.state import State
from nashbed.controlplane.machine.paths import PUBLISHED_EQUILIBRIA

NAN = float("nan")


@dataclass(frozen=True)
class PublishedMixes:
    """The measured mixes of one published setting.

    Attributes:
        aggregate_mbps: k BBR flows -> aggregate Mbit/s of the (CUBIC, BBR) flows.
        invalid: The k whose total is above 1.05 of the rate: flows did not overlap.
    """

    key: PanelKey
    aggregate_mbps: dict[int, tuple[float, float]] = field(default_factory=dict)
    invalid: set[int] = field(default_factory=set)


def read_mixes(path: Path) -> dict[PanelKey, PublishedMixes]:
    panels: dict[PanelKey, PublishedMixes] = {}
    for row in read_rows(path):
        panel = panels.setdefault(row.key, PublishedMixes(row.key))
        panel.aggregate_mbps[row.second] = row.cubic_mbps, row.second_mbps
        if row.invalid:
            panel.invalid.add(row.second)
    return panels


def payoff_table(panel: PublishedMixes, skip_invalid: bool = False) -> PayoffTable:
    """Mbit/s of a flow in every mix; without the invalid mixes their neighbours are undecided."""
    fair = panel.key.rate_mbps / panel.key.flows
    mixes = per_flow(panel, skip_invalid)
    return two_strategy_table(mixes, panel.key.flows, ("cubic", "bbr"), fair)


def hints_of(key: PanelKey, start: Callable[[Mixes, int], float | None]) -> list[State]:
    """Where a model starts the search of a setting, as a campaign hints at it.

    Args:
        start: The model's; see campaign.of_scenario.
    """
    at = start(_questions()[key.rate_mbps, key.base_rtt_ms, key.buffer_bdp], key.flows)
    return [] if at is None else [((key.flows - round(at), round(at)),)]


@cache
def _questions() -> dict[tuple[float, float, float], Mixes]:
    """What models are asked about the mixes of each setting, as they were run."""
    questions = [game.question for game in mixes_of_file(PUBLISHED_MIXES).games]
    return {
        (q.rate_bps / 1e6, round(q.base_rtt_s * 1e3, 6), round(q.buffer_bdp, 6)): mixes
        for mixes in questions
        for q in [mixes(1)]
    }


def per_flow(panel: PublishedMixes, skip_invalid: bool = False) -> dict[int, tuple[float, float]]:
    """BBR flows -> Mbit/s of one (CUBIC, BBR) flow, NaN where there is none."""
    n = panel.key.flows
    return {
        k: (cubic / (n - k) if k < n else NAN, bbr / k if k else NAN)
        for k, (cubic, bbr) in sorted(panel.aggregate_mbps.items())
        if not (skip_invalid and k in panel.invalid)
    }


def first_crossing(panel: PublishedMixes) -> int | None:
    """CUBIC flows where BBR's lead per flow is first gone, as published."""
    for k, (cubic, bbr) in sorted(per_flow(panel).items()):
        if 0 < k < panel.key.flows and bbr <= cubic:
            return panel.key.flows - k
    return None


def published_equilibria() -> dict[PanelKey, tuple[set[int], int | None]]:
    """Setting -> CUBIC flows at every equilibrium, and at the first crossing."""
    return {
        each.key: (set(each.cubic), each.first_crossing)
        for each in read_published(PUBLISHED_EQUILIBRIA)
    }
