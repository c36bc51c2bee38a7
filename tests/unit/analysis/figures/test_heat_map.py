"""Heat maps: which value stands in which cell, and how it is coloured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nashbed.analysis.figures import heat_map
from nashbed.analysis.text import NONE
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import texts
from tests.unit.analysis.made_measures import made

GRID: dict[str, Any] = {
    "flows": [{"name": "main", "count": 1, "base_rtt": "40ms"}],
    "sweep": {"rate": ["50mbit", "1gbit"], "base_rtt": ["10ms", "100ms"],
              "buffer": ["100kB", "10MB"]},
}  # fmt: skip


def bbr_gains(setting: Setting, strategy: str, second: int) -> float:
    """BBR has 1.5 times CUBIC's goodput, at 1 Gbit/s half of it, at 100 ms and 10 MB its own."""
    if strategy == "cubic":
        return 10e6
    if setting.base_rtt_ns[0] == 100_000_000 and setting.buffer_bytes == 10_000_000:
        return 10e6
    return 15e6 if setting.rate_bps < 10**9 else 5e6


def test_gains_by_rate_base_rtt_and_buffer() -> None:
    measures = made(GRID, bbr_gains)
    figure = heat_map.draw(measures, heat_map.gain_of_setting, "gain (%)", signed=True)
    assert figure is not None
    shallow, deep, bar = figure.axes
    assert [shallow.get_title(), deep.get_title()] == ["buffer 100kB", "buffer 10MB"]
    # Rows are base RTTs from below, columns are rates.
    assert np.asarray(shallow.images[0].get_array()) == pytest.approx(
        np.array([[50.0, -50.0], [50.0, -50.0]])
    )
    assert np.asarray(deep.images[0].get_array()) == pytest.approx(
        np.array([[50.0, -50.0], [0.0, 0.0]])
    )
    assert shallow.images[0].origin == "lower"
    assert [t.get_text() for t in shallow.get_xticklabels()] == ["50M", "1G"]
    assert [t.get_text() for t in shallow.get_yticklabels()] == ["10 ms", "100 ms"]
    assert texts(deep) == ["50", "-50", "0.0", "0.0"]
    assert shallow.images[0].get_clim() == (-50, 50)
    assert shallow.images[0].get_cmap().name == "RdBu_r"
    assert bar.get_ylabel() == "gain (%), n ≥ 1"
    assert shallow.get_ylabel() == "base RTT"
    assert figure.get_supxlabel() == "rate (bit/s)"


def test_an_unsigned_value_starts_at_zero() -> None:
    measures = made(GRID, bbr_gains)
    figure = heat_map.draw(measures, lambda m, s: s.rate_bps / 1e8, "again (%)", signed=False)
    assert figure is not None
    assert figure.axes[0].images[0].get_clim() == (0, 10)
    assert figure.axes[0].images[0].get_cmap().name == "YlOrRd"


def test_a_cell_without_a_value_is_a_dash() -> None:
    def value(measures: Any, setting: Setting) -> float | None:
        missing = setting.label == measures.run.settings[0].label
        return None if missing else 20.0

    figure = heat_map.draw(made(GRID, bbr_gains), value, "x", signed=True)
    assert figure is not None
    assert texts(figure.axes[0]) == [NONE, "20", "20", "20"]
    assert np.isnan(np.asarray(figure.axes[0].images[0].get_array())[0, 0])


def test_values_by_hand() -> None:
    measures = made(GRID, bbr_gains)
    assert heat_map.gain_of_setting(measures, measures.run.settings[0]) == pytest.approx(50)
    assert heat_map.retransmits_of("bbr")(measures, measures.run.settings[0]) is None


def test_no_map_of_one_rate() -> None:
    one = {**GRID, "sweep": {**GRID["sweep"], "rate": ["50mbit"]}}
    assert heat_map.draw(made(one, bbr_gains), heat_map.gain_of_setting, "x", True) is None
