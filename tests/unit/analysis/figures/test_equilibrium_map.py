"""The map of equilibria by queue discipline and buffer: which setting stands in which cell."""

from typing import Any

import numpy as np
import pytest
from nashbed.analysis.figures.drawing import draw
from nashbed.analysis.figures.equilibrium_map import equilibrium_map_plot
from nashbed.analysis.figures.style import share_colours
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.results.sweep import settings_by_discipline
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import texts
from tests.unit.analysis.made_measures import made

FLOWS = 10
SCENARIO: dict[str, Any] = {
    "strategies": ["cubic", "bbr"],
    "flows": [{"name": "main", "count": FLOWS, "base_rtt": "40ms"}],
}
SWEEP: dict[str, Any] = {"discipline": ["droptail", "codel"], "buffer": ["5bdp", "1bdp"]}
FACTORS = (0.998, 1.0, 1.002)


def per_flow(setting: Setting, strategy: str, others: int) -> float:
    """Under drop-tail the lead of bbr ends at 4 flows (1 BDP) or 8 (5 BDP), under CoDel never."""
    if strategy == "cubic":
        return 10e6
    if setting.queue.name == "codel":
        return 11e6
    return 10e6 + 0.2e6 * (3 + setting.buffer_bdp - others)


def measures(**changes: Any) -> RunMeasures:
    return made({**SCENARIO, "sweep": SWEEP, **changes}, per_flow, factors=FACTORS)


def drawn(run: RunMeasures):
    (settings,) = settings_by_discipline(run.run.settings)
    by_label = {e.setting.label: e for e in equilibria_of_measures(run)}
    plot = equilibrium_map_plot(run, settings, by_label)
    return plot and draw(plot)


def test_cells() -> None:
    figure = drawn(measures())
    assert figure is not None
    (ax,) = figure.axes
    assert [t.get_text() for t in ax.get_xticklabels()] == ["1 BDP", "5 BDP"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["drop-tail", "CoDel"]
    written = {
        (round(t.get_position()[0]), round(t.get_position()[1])): t.get_text()
        for t in ax.texts
        if t.get_fontsize() > 7
    }
    # In flows of cubic; columns are buffers, rows disciplines.
    assert float(written[0, 0]) == pytest.approx(6, abs=0.3)
    assert float(written[1, 0]) == pytest.approx(2, abs=0.3)
    assert written[0, 1] == written[1, 1] == "0"


def test_the_colour_is_of_the_share_that_runs_the_first() -> None:
    figure = drawn(measures())
    assert figure is not None
    (image,) = figure.axes[0].images
    assert np.asarray(image.get_array()) == pytest.approx(np.array([[0.6, 0.2], [0, 0]]), abs=0.03)
    assert image.to_rgba(0.0) == share_colours("bbr", "cubic")(0.0)


def test_where_nobody_can_be_told_from_an_equilibrium_any_mix_is_one() -> None:
    def equal(setting: Setting, strategy: str, others: int) -> float:
        if setting.queue.name == "codel":
            return 10e6
        return per_flow(setting, strategy, others)

    run = made({**SCENARIO, "sweep": SWEEP}, equal, factors=FACTORS)
    figure = drawn(run)
    assert figure is not None
    (ax,) = figure.axes
    assert texts(ax).count("any") == 2
    assert [patch.get_hatch() for patch in ax.patches] == ["////"] * 2


def test_of_several_strategies_there_is_none() -> None:
    run = made(
        {**SCENARIO, "strategies": ["cubic", "bbr", "copa"],
         "sweep": {**SWEEP, "mixes": {"pairs": "all"}}},
        per_flow,
    )  # fmt: skip
    assert drawn(run) is None
