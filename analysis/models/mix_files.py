"""Files of measured mixes: those of Srivastava, Fund, Panwar (CNERT 2023), and ours like it.

`configs/scenarios/srivastava2023/published/` has the published file, and how it is to be read.
`read_rows` reads such a file, `mix_table` makes one of runs of ours.
"""

import csv
import io
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import counted
from nashbed.controlplane.store.errors import damaged

from ..measures import Cell, RunMeasures
from ..state import strategy_totals
from .asked import problem_of_setting, question_of
from .starts import BBR, CUBIC

SCENARIOS = Path(__file__).resolve().parents[2] / "configs" / "scenarios"
PUBLISHED_MIXES = SCENARIOS / "srivastava2023" / "published" / "fabric_mixes.csv"
MEASURED_MIXES = SCENARIOS / "measured" / "mixes.csv"
"""Those of our own runs."""
NEEDED = {
    "bandwidth_mbps", "base_rtt_ms", "buffer_bdp", "n_flows", "n_bbr", "n_cubic",
    "bbr_agg_mbps", "cubic_agg_mbps", "valid",
}  # fmt: skip
REMEDY = "give a file with the columns of srivastava2023/published/fabric_mixes.csv"
DURATION_S = 120.0
"""Length of the published trials."""
COURSE = ("cubic_start_s", "bbr_start_s", "start_spread_s", "measured_from_s")
THROUGHPUT, DELAY, LOSS = "per_flow_throughput", "mean_queueing_delay", "per_flow_loss_rate"
COLUMNS = (
    "bandwidth_mbps", "base_rtt_ms", "buffer_bdp", "n_flows", "n_bbr", "n_cubic", "duration_s",
    "bbr_agg_mbps", "cubic_agg_mbps", "total_mbps", "valid", "cubic_start_s", "bbr_start_s",
    "start_spread_s", "connecting_s", "measured_from_s", "window_bytes", "control", "source",
    "setting", "trials", "settled", "queueing_delay_s", "loss_bbr", "loss_cubic",
)  # fmt: skip
Row = dict[str, Any]
ParsedRow = TypeVar("ParsedRow")


@dataclass(frozen=True, order=True)
class PanelKey:
    """One published setting."""

    rate_mbps: float
    base_rtt_ms: float
    buffer_bdp: float
    flows: int


@dataclass(frozen=True)
class RowCourse:
    """How the flows of a row ran, where the file says so.

    Attributes:
        second_start_s: Start of the others.
        start_spread_s: Each flow starts up to this much later.
        measured_from_s: Start of the measured time.
        window_bytes: Most that socket buffers let a flow have in flight; None: no limit.
        connecting_s: How long before the first start flows begin to connect; 0: at once.
    """

    cubic_start_s: float
    second_start_s: float
    start_spread_s: float
    measured_from_s: float
    window_bytes: float | None
    connecting_s: float = 0.0


@dataclass(frozen=True)
class MixRow:
    """One row: a measured mix.

    Attributes:
        second: Flows k of the second CCA.
        cubic_mbps: Aggregate Mbit/s of the CUBIC flows.
        second_mbps: Aggregate Mbit/s of the others.
        invalid: The total is above 1.05 of the rate: flows did not overlap.
        source: Where the numbers are from; empty: the file as a whole.
        setting: Label of the setting in its source, for what the key does not say, as who starts
            first; empty: the key says all.
        course: How flows ran; None: by iperf3, as the published ones.
    """

    key: PanelKey
    second: int
    cubic_mbps: float
    second_mbps: float
    invalid: bool
    duration_s: float = DURATION_S
    cca: str = BBR
    source: str = ""
    setting: str = ""
    course: RowCourse | None = None


def read_rows(path: Path) -> list[MixRow]:
    """Read every row of a file of measured mixes.

    Args:
        path: A CSV file with the columns of fabric_mixes.csv, and of these any: `duration_s`,
            `cubic_start_s`, `bbr_start_s`, `start_spread_s`, `connecting_s`, `measured_from_s`,
            `window_bytes` (empty: no limit), `control` (the second one; its flows are counted by
            `n_bbr`), `source` and `setting`. Without the starts the flows are taken as started by
            iperf3.

    Raises:
        RunError: The file is missing, has other columns, or a cell is no number.
    """
    return parsed_rows(path, NEEDED, REMEDY, _read_row)


def _read_row(cells: Mapping[str, str]) -> MixRow:
    names = ("bandwidth_mbps", "base_rtt_ms", "buffer_bdp")
    rate, rtt, buffer = (float(cells[name]) for name in names)
    return MixRow(
        key=PanelKey(rate, rtt, buffer, int(cells["n_flows"])),
        second=int(cells["n_bbr"]),
        cubic_mbps=float(cells["cubic_agg_mbps"]),
        second_mbps=float(cells["bbr_agg_mbps"]),
        invalid=cells["valid"].startswith("INVALID"),
        duration_s=float(cells.get("duration_s") or DURATION_S),
        cca=cells.get("control") or BBR,
        source=cells.get("source") or "",
        setting=cells.get("setting") or "",
        course=_course(cells),
    )


def _course(cells: Mapping[str, str]) -> RowCourse | None:
    if not set(COURSE) & set(cells):
        return None
    cubic, second, spread, begin = (float(cells.get(name) or 0) for name in COURSE)
    window = cells.get("window_bytes")
    connecting = float(cells.get("connecting_s") or 0)
    return RowCourse(cubic, second, spread, begin, float(window) if window else None, connecting)


def parsed_rows(
    path: Path,
    columns: Collection[str],
    remedy: str,
    parse: Callable[[Mapping[str, str]], ParsedRow],
) -> list[ParsedRow]:
    """Every row of a CSV file.

    Args:
        columns: Columns that it must have.
        remedy: What to do where it is another file.
        parse: Makes a row of its cells by column; raises ValueError where it cannot.

    Raises:
        RunError: The file is missing, has other columns, or a row cannot be parsed.
    """
    rows = []
    for line, cells in enumerate(_cells(path, columns, remedy), 2):
        try:
            rows.append(parse(cells))
        except (ValueError, OverflowError) as error:
            raise damaged(path, f"line {line}: {error}", remedy) from error
    return rows


def _cells(path: Path, columns: Collection[str], remedy: str) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, restval=""))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise damaged(path, f"cannot be read ({error})", remedy) from error
    missing = set(columns) - set(rows[0] if rows else ())
    if missing:
        raise damaged(path, f"has no column {', '.join(sorted(missing))}", remedy)
    return rows


@dataclass(frozen=True)
class MixTable:
    """Rows with the columns `COLUMNS`, and what had to be left out.

    Attributes:
        rows: One for each setting, second CCA and measured mix.
        left_out: Why mixes were left out -> how many.
    """

    rows: tuple[Row, ...]
    left_out: Mapping[str, int]

    def text(self) -> str:
        """The table as CSV."""
        return csv_text(COLUMNS, self.rows)

    def __repr__(self) -> str:
        """How much is in it."""
        return f"<MixTable: {counted(len(self.rows), 'mix')}>"

    def _repr_html_(self) -> str:
        return pl.read_csv(io.StringIO(self.text()))._repr_html_()


def mix_table(runs: Iterable[RunMeasures]) -> MixTable:
    """Every mix of CUBIC and one other CCA, as means over valid trials.

    A mix of CUBIC alone has a row for each other CCA of its run: it is an end of each line. All are
    "ok": what makes a published mix invalid, the gates have refused (`flows_overlapped`,
    `window_goodput`).

    Args:
        runs: Measures of runs, in the order of the rows.
    """
    rows: list[Row] = []
    left_out: Counter[str] = Counter()
    for measures in runs:
        for setting in measures.run.settings:
            problem = problem_of_setting(measures.run.scenario, setting)
            for cell in measures.cells(setting):
                why = problem or _problem_of_cell(measures, cell)
                if why:
                    left_out[why] += 1
                else:
                    rows += [_row(measures, setting, cell, name) for name in _lines(measures, cell)]
    return MixTable(tuple(rows), dict(left_out))


def _problem_of_cell(measures: RunMeasures, cell: Cell) -> str | None:
    if CUBIC not in measures.strategies:
        return "its run has no cubic flows"
    if not _lines(measures, cell):
        return "it has flows of two congestion controls beside cubic"
    if cell.estimate(THROUGHPUT) is None:
        return "it has no valid trial with goodput"
    return None


def _lines(measures: RunMeasures, cell: Cell) -> list[str]:
    """The second CCAs on whose line from CUBIC alone to none a mix is."""
    running = {name for name, flows in _flows(measures, cell).items() if flows}
    return [s for s in measures.strategies if s != CUBIC and running <= {CUBIC, s}]


def _flows(measures: RunMeasures, cell: Cell) -> dict[str, int]:
    return dict(zip(measures.strategies, strategy_totals(cell.state), strict=True))


def _row(measures: RunMeasures, setting: Setting, cell: Cell, second: str) -> Row:
    flows = _flows(measures, cell)
    applied = measures.applied_rate(setting), measures.applied_buffer(setting)
    records = [trial.trial.record for trial in cell.trials]
    question = question_of(measures.run.scenario, setting, cell.state, applied, records, second)
    aggregate = {
        name: flows[name] * (_mean(cell, THROUGHPUT, name) or 0.0) / 1e6 for name in (CUBIC, second)
    }
    return {
        "bandwidth_mbps": question.rate_bps / 1e6,
        "base_rtt_ms": question.base_rtt_s * 1e3,
        "buffer_bdp": question.buffer_bdp,
        "n_flows": question.flows,
        "n_bbr": question.second.flows,
        "n_cubic": question.first.flows,
        "duration_s": question.duration_s,
        "bbr_agg_mbps": aggregate[second],
        "cubic_agg_mbps": aggregate[CUBIC],
        "total_mbps": sum(aggregate.values()),
        "valid": "ok",
        "cubic_start_s": question.first.start_s,
        "bbr_start_s": question.second.start_s,
        "start_spread_s": question.second.start_spread_s,
        "connecting_s": question.second.connecting_s,
        "measured_from_s": question.measured_from_s,
        "window_bytes": question.second.window_limit,
        "control": second,
        "source": measures.run.scenario.name,
        "setting": setting.label,
        "trials": len(cell.trials),
        "settled": sum(trial.settled is True for trial in cell.trials),
        "queueing_delay_s": _mean(cell, DELAY),
        "loss_bbr": _mean(cell, LOSS, second),
        "loss_cubic": _mean(cell, LOSS, CUBIC),
    }


def _mean(cell: Cell, metric: str, strategy: str | None = None) -> float | None:
    estimate = cell.estimate(metric, strategy)
    return None if estimate is None else estimate.mean


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV; an empty cell: not measured, or no limit."""
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell_text(row[name]) for name in columns} for row in rows)
    return out.getvalue()


def _cell_text(value: Any) -> Any:
    """Yes and no in words; seven digits are more than any trial repeats."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.7g}" if isinstance(value, float) else value
