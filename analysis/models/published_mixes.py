"""Published mixes of Srivastava, Fund, Panwar (CNERT 2023, FABRIC).

`configs/scenarios/srivastava2023/published/` has the file, and how it is to be read.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

from nashbed.controlplane.store.errors import damaged

COLUMNS = {"bandwidth_mbps", "base_rtt_ms", "buffer_bdp", "n_flows", "n_bbr", "n_cubic"}
REMEDY = "give a file with the columns of srivastava2023/published/fabric_mixes.csv"


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
    for line, row in enumerate(_rows(path, {"bbr_agg_mbps", "cubic_agg_mbps", "valid"}), 2):
        try:
            key = _key(row)
            panel = panels.setdefault(key, PublishedMixes(key))
            k = int(row["n_bbr"])
            panel.aggregate_mbps[k] = float(row["cubic_agg_mbps"]), float(row["bbr_agg_mbps"])
        except ValueError as error:
            raise damaged(path, f"line {line}: {error}", REMEDY) from error
        if row["valid"].startswith("INVALID"):
            panel.invalid.add(k)
    return panels


def _key(row: dict[str, str]) -> PanelKey:
    names = ("bandwidth_mbps", "base_rtt_ms", "buffer_bdp")
    rate, rtt, buffer = (float(row[name]) for name in names)
    return PanelKey(rate, rtt, buffer, int(row["n_flows"]))


def _rows(path: Path, columns: set[str]) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise damaged(path, f"cannot be read ({error})", REMEDY) from error
    missing = (COLUMNS | columns) - set(rows[0] if rows else ())
    if missing:
        raise damaged(path, f"has no column {', '.join(sorted(missing))}", REMEDY)
    return rows
