"""Published mixes and equilibria of Srivastava, Fund, Panwar (CNERT 2023, FABRIC).

Conventions of `fabric_mixes.csv` and `fabric_equilibria.csv`, found by trying:

- A row holds the *aggregate* throughputs of one mix; per flow is by n_bbr and n_cubic.
- `n_cubic_at_NE_all` counts CUBIC flows (N - k with k BBR flows) of every state in which no
  flow gains by switching, corners included, ties allowed. All 49 settings agree exactly if
  every row is used as it was measured, those marked `INVALID_total_gt_1.05C` (7) and
  `inflated_drain` (325) too. So the published sets rest on invalid cells; leaving those out
  makes the states beside them undecided (`skip_invalid`).
- `n_cubic_at_first_crossing` is N - k for the smallest k >= 1 whose BBR flows get no more
  than its CUBIC flows; it is empty where there is none.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

from nashbed.controlplane.store.errors import damaged

from ..nash.game import PayoffTable, two_strategy_table

COLUMNS = {"bandwidth_mbps", "base_rtt_ms", "buffer_bdp", "n_flows", "n_bbr", "n_cubic"}
REMEDY = "give fabric_mixes.csv of the project's reference data, or a file with its columns"


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

    def per_flow(self, skip_invalid: bool = False) -> dict[int, tuple[float, float]]:
        """K BBR flows -> Mbit/s of one (CUBIC, BBR) flow, NaN where there is none."""
        n, nan = self.key.flows, float("nan")
        return {
            k: (cubic / (n - k) if k < n else nan, bbr / k if k else nan)
            for k, (cubic, bbr) in sorted(self.aggregate_mbps.items())
            if not (skip_invalid and k in self.invalid)
        }

    def table(self, skip_invalid: bool = False) -> PayoffTable:
        """The payoff table, in Mbit/s.

        Args:
            skip_invalid: Leave invalid cells out, so that their neighbours are undecided.
        """
        fair = self.key.rate_mbps / self.key.flows
        mixes = self.per_flow(skip_invalid)
        return two_strategy_table(mixes, self.key.flows, ("cubic", "bbr"), fair)

    def first_crossing(self) -> int | None:
        """CUBIC flows where BBR's per-flow lead is first gone, as published."""
        for k, (cubic, bbr) in sorted(self.per_flow().items()):
            if 0 < k < self.key.flows and bbr <= cubic:
                return self.key.flows - k
        return None


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
