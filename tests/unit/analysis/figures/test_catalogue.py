"""Which figures a run gets."""

from pathlib import Path
from typing import Any

import pytest
from nashbed.analysis.figures.catalogue import draw_all, sketches
from nashbed.analysis.figures.setting_figures import references
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import legend_of
from tests.unit.analysis.made_measures import made

SIX: dict[str, Any] = {"flows": [{"name": "main", "count": 6, "base_rtt": "40ms"}]}


def settles_at_five(setting: Setting, strategy: str, second: int) -> float:
    return 1e7 + (1e5 * (5.5 - second) if strategy == "bbr" else 0)


def test_references_that_belong_to_a_setting() -> None:
    series = [
        {"label": "here", "strategy": "bbr", "x": [1], "y": [1.0], "buffer": "1bdp"},
        {"label": "elsewhere", "strategy": "bbr", "x": [1], "y": [1.0], "buffer": "2bdp"},
        {"label": "another axis", "strategy": "bbr", "axis": "buffer_bdp", "quantity": "share",
         "x": [1], "y": [1.0]},
    ]  # fmt: skip
    raw = {**SIX, "sweep": {"buffer": ["1bdp", "2bdp"], "mixes": [1]}, "reference": series}
    measures = made(raw, settles_at_five)
    first, second = measures.run.settings
    assert [s.label for s in references(measures, first)] == ["here"]
    assert [s.label for s in references(measures, second)] == ["elsewhere"]


@pytest.mark.slow
def test_figures_of_what_was_measured_alone(tmp_path: Path) -> None:
    measures = made(SIX, settles_at_five)
    wanted = list(sketches(measures, equilibria_of_measures(measures)))
    told: list[tuple[str, int, int]] = []
    drawn = draw_all(wanted, tmp_path, ("svg",), lambda *step: told.append(step))
    assert told == [("figures", number, len(wanted)) for number in range(len(wanted))]
    # No delay, telemetry or sample was measured: what needs them is not drawn.
    assert {figure.kind for figure in drawn} == {"throughput_by_mix", "dynamics"}
    for figure in drawn:
        assert figure.setting == measures.run.settings[0].label
        assert figure.title
        assert figure.caption
        assert figure.paths["svg"].is_file()


@pytest.mark.parametrize("discipline", ["droptail", "codel"])
def test_a_queue_that_models_do_not_describe_is_named(discipline: str) -> None:
    """No model's curve is drawn, and the caption says why."""
    bottleneck = {"rate": "100mbit", "buffer": "2bdp", "discipline": discipline}
    measures = made({**SIX, "bottleneck": bottleneck}, settles_at_five)
    every = sketches(measures, equilibria_of_measures(measures))
    (sketch,) = (each for each in every if each.kind == "throughput_by_mix")
    why = "No model is drawn: its queue is CoDel, and models know drop-tail."
    assert (why in sketch.caption) is (discipline == "codel")
    figure = sketch.draw()
    assert figure is not None
    shown = any("Closed form" in entry for entry in legend_of(figure))
    assert shown is (discipline == "droptail")
