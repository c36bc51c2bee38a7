"""Files of equilibria: those of Srivastava, Fund, Panwar (CNERT 2023), and ours like it.

`configs/scenarios/srivastava2023/published/` has the published file, and how it is to be read.
`read_published` reads it, `equilibrium_table` makes a table of runs of ours, and `read_equilibria`
reads such a table.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from nashbed.controlplane.contract.course import SettledDuration, starts_label
from nashbed.controlplane.contract.model import ContractModel, Number
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S
from pydantic import ValidationError

from ..measures import Cell, RunMeasures
from ..nash.crossing_interval import CrossingInterval, open_ends
from ..nash.of_run import SettingEquilibria, equilibria_of_measures
from ..nash.utility import utility_text
from .asked import problem_of_setting
from .mix_files import PanelKey, csv_text, parsed_rows
from .starts import CUBIC

PUBLISHED_COLUMNS = (
    "bandwidth_mbps", "base_rtt_ms", "buffer_bdp", "n_flows", "n_cubic_at_NE_all",
    "n_cubic_at_first_crossing",
)  # fmt: skip
PUBLISHED_REMEDY = "give a file with the columns of srivastava2023/published/fabric_equilibria.csv"
REMEDY = "give a table that `nashbed equilibria RUN --out FILE` has written"
By = Literal["lead", "means"]
Origin = tuple[str, str]
"""Kind and source of rows that belong together."""


@dataclass(frozen=True)
class PublishedEquilibrium:
    """The published equilibria of one setting.

    Attributes:
        cubic: CUBIC flows of every mix in which no flow gains by switching, increasing.
        first_crossing: CUBIC flows at the fewest BBR flows at which BBR no longer leads; None: it
            leads everywhere.
    """

    key: PanelKey
    cubic: tuple[int, ...]
    first_crossing: int | None

    def off(self, cubic: float) -> float:
        """Flows between a number of CUBIC flows and the nearest published equilibrium."""
        return min(abs(cubic - each) for each in self.cubic)


def read_published(path: Path) -> list[PublishedEquilibrium]:
    """Read published equilibria.

    Args:
        path: A CSV file with the columns of fabric_equilibria.csv.

    Raises:
        RunError: The file is missing, has other columns, or a cell is no number.
    """
    return parsed_rows(path, PUBLISHED_COLUMNS, PUBLISHED_REMEDY, _published)


def _published(row: Mapping[str, str]) -> PublishedEquilibrium:
    rate, rtt, buffer = (float(row[name]) for name in PUBLISHED_COLUMNS[:3])
    cubic = tuple(sorted(int(each) for each in row["n_cubic_at_NE_all"].split()))
    if not cubic:
        raise ValueError("it has no equilibrium")
    crossing = row["n_cubic_at_first_crossing"]
    key = PanelKey(rate, rtt, buffer, int(row["n_flows"]))
    return PublishedEquilibrium(key, cubic, int(crossing) if crossing else None)


class EquilibriumRow(ContractModel):
    """The equilibrium of one setting, by a run or by a model: a row of a table.

    Attributes:
        kind: Whether a run of ours measured it, or a model predicts it.
        source: Name of the run's scenario, or what the model was asked.
        setting: Label of the setting in that scenario.
        bandwidth_mbps: Rate in Mbit/s, as asked for.
        base_rtt_ms: Base RTT of all flows in ms.
        buffer_bdp: Buffer in bandwidth-delay products, as asked for.
        n_flows: Flows N.
        strategies: CUBIC and the other CCA, in the scenario's order.
        n_cubic: CUBIC flows at the equilibrium; of several the middle; None: undecided.
        n_cubic_low: Lower end of its 95 % interval; a model's: over its seeds; None: no interval.
        n_cubic_high: Upper end of it.
        places: How many equilibria there are.
        by: What says so: where the lead ends, or the means of the mixes (no interval).
        closed: Whether the interval is closed on both sides; None: no interval, or a model's.
        settled: Whether the shares of all mixes that decide had settled; None: undecided.
        trials: Valid trials of mixes with flows of both CCAs.
        mixes: Such mixes; a model's: mixes that it was asked for.
        shortest_s: Length of the shortest trial, in seconds.
        longest_s: Length of the longest one.
        start: How the flows start, as in the names of settings.
    """

    kind: Literal["measured", "model"]
    source: str
    setting: str
    bandwidth_mbps: Number
    base_rtt_ms: Number
    buffer_bdp: Number
    n_flows: int
    strategies: str
    n_cubic: Number | None
    n_cubic_low: Number | None
    n_cubic_high: Number | None
    places: int
    by: By | None
    closed: bool | None
    settled: bool | None
    trials: int
    mixes: int
    shortest_s: Number
    longest_s: Number
    start: str

    @property
    def key(self) -> PanelKey:
        """The setting, as published ones are told apart."""
        return PanelKey(self.bandwidth_mbps, self.base_rtt_ms, self.buffer_bdp, self.n_flows)

    @property
    def origin(self) -> Origin:
        """Kind and source."""
        return self.kind, self.source

    @property
    def interval(self) -> tuple[float, float] | None:
        """The interval, in CUBIC flows."""
        if self.n_cubic_low is None or self.n_cubic_high is None:
            return None
        return self.n_cubic_low, self.n_cubic_high


COLUMNS = tuple(EquilibriumRow.model_fields)


@dataclass(frozen=True)
class EquilibriumTable:
    """Rows, and what had to be left out.

    Attributes:
        rows: One for each setting and source.
        left_out: Why settings were left out -> how many.
    """

    rows: tuple[EquilibriumRow, ...]
    left_out: Mapping[str, int]


def equilibrium_table(measures: RunMeasures) -> EquilibriumTable:
    """The equilibrium of every setting of a run that has CUBIC and one other CCA.

    Args:
        measures: The run's measures; the run need not be finished.

    Raises:
        ConfigError: The scenario's own utility cannot be imported, or fails.
    """
    rows: list[EquilibriumRow] = []
    left_out: Counter[str] = Counter()
    for found in equilibria_of_measures(measures):
        why = _problem(measures, found)
        if why:
            left_out[why] += 1
        else:
            rows.append(_row(measures, found))
    return EquilibriumTable(tuple(rows), dict(left_out))


def _problem(measures: RunMeasures, found: SettingEquilibria) -> str | None:
    scenario = measures.run.scenario
    if len(found.groups) > 1:
        return "it has several flow groups"
    if len(found.strategies) != 2 or CUBIC not in found.strategies:
        return "it is not a game of cubic and one other congestion control"
    if found.utility != utility_text("throughput"):
        return "its utility is not the throughput"
    return problem_of_setting(scenario, found.setting) or (
        None if found.trials else "no mix of both is measured yet"
    )


def _row(measures: RunMeasures, found: SettingEquilibria) -> EquilibriumRow:
    setting, scenario = found.setting, measures.scenario_at(found.setting)
    mixed = [c for c in measures.cells(setting) if min(c.state[0]) > 0 and c.trials]
    lengths = _lengths_s(scenario, mixed)
    places, by = _places(found)
    low, high = _interval(found)
    return EquilibriumRow(
        kind="measured",
        source=scenario.name,
        **columns_of_setting(setting, found.flows, found.strategies),
        n_cubic=None if not places else hundredths((min(places) + max(places)) / 2),
        n_cubic_low=None if low is None else hundredths(low),
        n_cubic_high=None if high is None else hundredths(high),
        places=len(places),
        by=by,
        closed=None if low is None else not any(open_ends(_sure(found), found.flows)),
        settled=not found.not_settled if places else None,
        trials=found.trials,
        mixes=len(mixed),
        shortest_s=min(lengths),
        longest_s=max(lengths),
        start=starts_label(scenario.starts()),
    )


def _lengths_s(scenario: Scenario, mixed: Sequence[Cell]) -> list[float]:
    """Lengths of trials to the second: as planned, unless they last until they are settled."""
    if not isinstance(scenario.duration, SettledDuration):
        return [scenario.longest.seconds]
    return [round(t.trial.record.duration_ns / NS_PER_S) for c in mixed for t in c.trials]


def hundredths(flows: float) -> float:
    """Flows as a table has them; an interval is never as narrow as that."""
    return round(flows, 2)


def columns_of_setting(setting: Setting, flows: int, strategies: Sequence[str]) -> dict[str, Any]:
    """The columns of a row that a setting fixes, whoever found its equilibrium.

    Args:
        strategies: Names of its two CCAs.
    """
    return {
        "setting": setting.label,
        "bandwidth_mbps": setting.rate_bps / 1e6,
        "base_rtt_ms": setting.base_rtt_ns[0] / 1e6,
        "buffer_bdp": setting.buffer_bdp,
        "n_flows": flows,
        "strategies": " ".join(strategies),
    }


def _sure(found: SettingEquilibria) -> list[CrossingInterval]:
    """Where the lead surely ends."""
    return [each for each in found.ends.intervals if each.sure] if found.ends else []


def _places(found: SettingEquilibria) -> tuple[list[float], By | None]:
    """CUBIC flows at each equilibrium, and what says so."""
    ends = [each.at for each in _sure(found)]
    known = [_cubic(found, at) for at in ends if at is not None]
    if known and len(known) == len(ends):
        return known, "lead"
    of_cubic = found.strategies.index(CUBIC)
    means = [float(v.state[0][of_cubic]) for v in found.equilibria]
    return means, "means" if means else None


def _interval(found: SettingEquilibria) -> tuple[float | None, float | None]:
    """From the first place to the last one at which the lead may end, in CUBIC flows."""
    sure = _sure(found)
    if not sure:
        return None, None
    low, high = sorted(_cubic(found, each) for each in (sure[0].low, sure[-1].high))
    return low, high


def _cubic(found: SettingEquilibria, second: float) -> float:
    """CUBIC flows where so many run the second strategy."""
    return second if found.strategies[1] == CUBIC else found.flows - second


def read_equilibria(path: Path) -> tuple[EquilibriumRow, ...]:
    """Read a table of equilibria.

    Args:
        path: What `equilibria_csv` made.

    Raises:
        RunError: The file is missing, has other columns, or a cell is not what it should be.
    """
    return tuple(parsed_rows(path, COLUMNS, REMEDY, _equilibrium))


def _equilibrium(cells: Mapping[str, str]) -> EquilibriumRow:
    """A row of its cells: an empty one is None, but for a text."""
    texts = {"setting", "start", "source"}
    known = {name: cells[name] or ("" if name in texts else None) for name in COLUMNS}
    try:
        return EquilibriumRow.model_validate(known)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def equilibria_csv(rows: Iterable[EquilibriumRow]) -> str:
    """The rows as CSV."""
    return csv_text(COLUMNS, map(vars, rows))


def merge_rows(tables: Iterable[Sequence[EquilibriumRow]]) -> tuple[EquilibriumRow, ...]:
    """The rows of several tables: of the same setting of the same source the last one.

    Args:
        tables: The tables, in the order of the rows.
    """
    rows = {(row.origin, row.setting): row for table in tables for row in table}
    return tuple(rows.values())
