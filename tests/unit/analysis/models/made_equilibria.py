"""Rows of equilibria made up directly."""

from typing import Any

from nashbed.analysis.models.equilibrium_files import EquilibriumRow, PublishedEquilibrium
from nashbed.analysis.models.mix_files import PanelKey


def row(buffer: float, cubic: float | None, **other: Any) -> EquilibriumRow:
    """A row of 50 flows at 50 Mbit/s and 40 ms, without an interval unless `low` and `high` say."""
    low, high = other.pop("low", None), other.pop("high", None)
    usual: dict[str, Any] = {
        "kind": "measured", "source": "run", "setting": f"b{buffer:g}bdp", "bandwidth_mbps": 50,
        "base_rtt_ms": 40, "buffer_bdp": buffer, "n_flows": 50, "strategies": "cubic bbr",
        "n_cubic": cubic, "n_cubic_low": low, "n_cubic_high": high,
        "places": 0 if cubic is None else 1, "by": None if cubic is None else "lead",
        "closed": None, "settled": None if cubic is None else True, "trials": 8, "mixes": 7,
        "shortest_s": 120, "longest_s": 120, "start": "iperf3",
    }  # fmt: skip
    return EquilibriumRow.model_validate(usual | other)


def published(buffer: float, *cubic: int, rtt: float = 40) -> PublishedEquilibrium:
    """Published equilibria of such a setting."""
    return PublishedEquilibrium(PanelKey(50, rtt, buffer, 50), cubic, None)
