"""Each CCA alone: heat maps and the decision tree."""

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from nashbed.analysis.figures.alone import (
    draw_decision_tree,
    gain_of_setting,
    heat_map_plot,
)
from nashbed.analysis.figures.drawing import draw
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.text import NONE
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import texts
from tests.unit.analysis.made_measures import made

GRID: dict[str, Any] = {
    "flows": [{"name": "main", "count": 1, "base_rtt": "40ms"}],
    "sweep": {"rate": ["50mbit", "1gbit"], "base_rtt": ["10ms", "100ms"],
              "buffer": ["100kB", "10MB"]},
}  # fmt: skip
RATES: dict[str, Any] = {
    "flows": [{"name": "main", "count": 1, "base_rtt": "40ms"}],
    "sweep": {"rate": ["10mbit", "50mbit", "100mbit", "200mbit"], "base_rtt": ["10ms", "100ms"],
              "buffer": ["100kB"]},
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
    plot = heat_map_plot(measures, gain_of_setting, "gain (%)", signed=True)
    assert plot is not None
    figure = draw(plot)
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
    assert shallow.get_xlabel() == "rate (bit/s)"
    # Of the table the row is the series, the column x.
    assert plot.table().splitlines()[1:3] == [
        "buffer 100kB,10 ms,50M,50.0,,", "buffer 100kB,10 ms,1G,-50.0,,",
    ]  # fmt: skip


def test_a_cell_without_a_value_is_a_dash() -> None:
    def value(measures: Any, setting: Setting) -> float | None:
        missing = setting.label == measures.run.settings[0].label
        return None if missing else 20.0

    plot = heat_map_plot(made(GRID, bbr_gains), value, "x", signed=True)
    assert plot is not None
    assert plot.table().count("buffer 100kB") == 3
    figure = draw(plot)
    assert texts(figure.axes[0]) == [NONE, "20", "20", "20"]
    assert np.isnan(np.asarray(figure.axes[0].images[0].get_array())[0, 0])


def test_no_map_of_one_rate() -> None:
    one = {**GRID, "sweep": {**GRID["sweep"], "rate": ["50mbit"]}}
    assert heat_map_plot(made(one, bbr_gains), gain_of_setting, "x", True) is None


def by_rate(setting: Setting, strategy: str, second: int) -> float:
    """BBR has more from 100 Mbit/s on."""
    wins = setting.rate_bps >= 10**8
    return setting.rate_bps * (0.9 if (strategy == "bbr") == wins else 0.5)


@pytest.mark.slow
def test_nodes_and_colours() -> None:
    figure = draw_decision_tree(made(RATES, by_rate, factors=(1.0, 1.001)))
    assert figure is not None
    (ax,) = figure.axes
    assert ax.get_title().startswith("8 settings, 100%")
    nodes = [text for text in texts(ax) if "class" in text]
    assert len(nodes) == 3
    assert "rate (Mbit/s) <= 75.0" in nodes[0]
    assert "samples = 8" in nodes[0]
    leaves = {}
    for node in ax.texts:
        text = node.get_text()
        box = node.get_bbox_patch()
        if "samples = 4" in text and box is not None:
            leaves["bbr" if "class = bbr" in text else "cubic"] = to_hex(box.get_edgecolor())
    assert leaves == {name: colour_of(name, ()).lower() for name in ("bbr", "cubic")}


def test_nothing_if_one_always_wins() -> None:
    always = made(RATES, lambda s, name, k: 2e6 if name == "bbr" else 1e6, factors=(1.0, 1.001))
    assert draw_decision_tree(always) is None
