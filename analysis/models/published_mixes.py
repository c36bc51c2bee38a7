"""Files of measured mixes: those of Srivastava, Fund, Panwar (CNERT 2023), and others like it.

`configs/scenarios/srivastava2023/published/` has the published file, and how it is to be read.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nashbed.controlplane.store.errors import damaged

COLUMNS = {
    "bandwidth_mbps", "base_rtt_ms", "buffer_bdp", "n_flows", "n_bbr", "n_cubic",
    "bbr_agg_mbps", "cubic_agg_mbps", "valid",
}  # fmt: skip
REMEDY = "give a file with the columns of srivastava2023/published/fabric_mixes.csv"
DURATION_S = 120.0
"""Of the published trials."""
BBR = "bbr"


@dataclass(frozen=True, order=True)
class PanelKey:
    """One published setting.

    Attributes:
        rate_mbps: Rate in Mbit/s.
        base_rtt_ms: Base RTT in ms.
        buffer_bdp: Buffer in bandwidth-delay products.
        flows: Number of flows N.
    """

    rate_mbps: float
    base_rtt_ms: float
    buffer_bdp: float
    flows: int


@dataclass(frozen=True)
class RowCourse:
    """How the flows of a row ran, where the file says so.

    Attributes:
        cubic_start_s: Start of the CUBIC flows in seconds.
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


COURSE = ("cubic_start_s", "bbr_start_s", "start_spread_s", "measured_from_s")


@dataclass(frozen=True)
class MixRow:
    """One row: a measured mix.

    Attributes:
        key: Its setting.
        second: Flows k of the second congestion control.
        cubic_mbps: Aggregate Mbit/s of the CUBIC flows.
        second_mbps: Aggregate Mbit/s of the others.
        invalid: The total is above 1.05 of the rate: flows did not overlap.
        duration_s: Length of the trial.
        control: The second congestion control.
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
    control: str = BBR
    source: str = ""
    setting: str = ""
    course: RowCourse | None = None


@dataclass(frozen=True)
class PublishedMixes:
    """The measured mixes of one published setting.

    Attributes:
        key: The setting.
        aggregate_mbps: k BBR flows -> aggregate Mbit/s of the (CUBIC, BBR) flows.
        invalid: The k whose total is above 1.05 of the rate: flows did not overlap.
    """

    key: PanelKey
    aggregate_mbps: dict[int, tuple[float, float]] = field(default_factory=dict)
    invalid: set[int] = field(default_factory=set)


def read_mixes(path: Path) -> dict[PanelKey, PublishedMixes]:
    """Read published mixes.

    Args:
        path: A CSV file with the columns of fabric_mixes.csv.

    Raises:
        RunError: The file is missing, has other columns, or a cell is no number.
    """
    panels: dict[PanelKey, PublishedMixes] = {}
    for row in read_rows(path):
        panel = panels.setdefault(row.key, PublishedMixes(row.key))
        panel.aggregate_mbps[row.second] = row.cubic_mbps, row.second_mbps
        if row.invalid:
            panel.invalid.add(row.second)
    return panels


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
    rows = []
    for line, cells in enumerate(_cells(path), 2):
        try:
            rows.append(_row(cells))
        except ValueError as error:
            raise damaged(path, f"line {line}: {error}", REMEDY) from error
    return rows


def _row(cells: Mapping[str, str]) -> MixRow:
    names = ("bandwidth_mbps", "base_rtt_ms", "buffer_bdp")
    rate, rtt, buffer = (float(cells[name]) for name in names)
    return MixRow(
        key=PanelKey(rate, rtt, buffer, int(cells["n_flows"])),
        second=int(cells["n_bbr"]),
        cubic_mbps=float(cells["cubic_agg_mbps"]),
        second_mbps=float(cells["bbr_agg_mbps"]),
        invalid=cells["valid"].startswith("INVALID"),
        duration_s=float(cells.get("duration_s") or DURATION_S),
        control=cells.get("control") or BBR,
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


def _cells(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, f"cannot be read ({error})", REMEDY) from error
    missing = COLUMNS - set(rows[0] if rows else ())
    if missing:
        raise damaged(path, f"has no column {', '.join(sorted(missing))}", REMEDY)
    return rows
