"""Throughput along a line of settings: mixes, each CCA alone, models and papers."""

from typing import Any

import pytest
from nashbed.analysis.figures.against_setting import alone_along_plot, mix_along_plot
from nashbed.analysis.figures.model_lines import goodput_of_share
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.models import MODELS
from nashbed.analysis.models.measured import question_of_mix
from nashbed.analysis.results.sweep import lines, mixed_states
from nashbed.controlplane.contract.trial import Setting
from tests.support.drawn import Seen, panels, points
from tests.unit.analysis.made_measures import made

BUFFERS: dict[str, Any] = {"sweep": {"buffer": ["1bdp", "2bdp", "10bdp", "30bdp"], "mixes": [1]}}


def by_buffer(setting: Setting, strategy: str, second: int) -> float:
    """BBR has 80, 60, 28.6 and 11.8 of 95 Mbit/s at 1, 2, 10 and 30 BDP."""
    share = 1 / (1 + setting.buffer_bdp / 4)
    return 95e6 * (share if strategy == "bbr" else 1 - share)


def mix(raw: dict[str, Any]) -> Seen:
    measures = made({**BUFFERS, **raw}, by_buffer)
    (line,) = lines(measures.run.settings)
    (state,) = mixed_states(measures, line)
    (panel,) = panels(mix_along_plot(measures, line, state))
    return panel


def test_aggregates_of_a_mix_by_buffer() -> None:
    panel = mix({})
    expected = [95 / (1 + buffer / 4) for buffer in (1, 2, 10, 30)]
    bbr = panel["1 bbr (n = 1 trial each)"]
    assert points(bbr) == ([1, 2, 10, 30], pytest.approx(expected))
    assert bbr.look["color"] == colour_of("bbr", ())
    assert panel["1 cubic (n = 1 trial each)"].y == pytest.approx([95 - y for y in expected])
    assert (panel.x.title, panel.y.title) == ("buffer (BDP)", "throughput (Mbit/s)")
    assert (panel.x.scale, panel.x.places[:4]) == ("swept", [1, 2, 10, 30])


def test_one_against_one_has_a_fair_share() -> None:
    assert mix({})["fair share, as goodput"].at == pytest.approx(50 * 1448 / 1514)
    uneven = mix({"flows": [{"name": "main", "count": 3, "base_rtt": "40ms"}]})
    assert "fair share, as goodput" not in uneven.labels


def test_models_are_drawn_as_goodput() -> None:
    measures, panel = made(BUFFERS, by_buffer), mix({})
    setting = {s.buffer_label: s for s in measures.run.settings}["10bdp"]
    question = question_of_mix(measures, setting, ((1, 1),))
    assert question is not None
    for name in ("fluid", "closed-form", "ware", "mishra-two-flow"):
        share = MODELS[name].predict(question).share
        assert share is not None
        x, y = points(panel[MODELS[name].title])
        assert y[x.index(10)] == pytest.approx(goodput_of_share(share, 10**8) / 1e6)
    # Of one flow against one, Mishra's two bounds are the same as his form for two flows.
    assert not any("synchronised" in label or "bounds" in label for label in panel.labels)


@pytest.mark.parametrize(("quantity", "expected"), [("share", 95.641), ("aggregate", 1.0)])
def test_published_series(quantity: str, expected: float) -> None:
    series = {"label": "Paper", "strategy": "bbr", "axis": "buffer_bdp", "quantity": quantity,
              "x": [1, 10], "y": [1.0, 0.5]}  # fmt: skip
    line = mix({"reference": [series]})["Paper, bbr"]
    # A share is of the payload rate, 1448 of 1514 bytes of each frame.
    assert points(line) == ([1, 10], pytest.approx([expected, expected / 2], rel=1e-4))


def test_each_cca_alone() -> None:
    totals = {"mean_queueing_delay": 0.03, "loss_rate": 0.02}
    measures = made({"sweep": {**BUFFERS["sweep"], "mixes": [0, 2]}}, lambda *_: 20e6, totals)
    (line,) = lines(measures.run.settings)
    panel, *below = panels(alone_along_plot(measures, line))
    for name in ("cubic", "bbr"):
        assert points(panel[f"{name} alone (n = 1 trial each)"]) == ([1, 2, 10, 30], [40] * 4)
    shown = {each.y.title: [points(item) for item in each.items] for each in below}
    assert shown == {
        "queueing\ndelay (ms)": [([1, 2, 10, 30], [30] * 4)] * 2,
        "lost (%)": [([1, 2, 10, 30], [2] * 4)] * 2,
    }
    mixed = made(BUFFERS, by_buffer)
    assert alone_along_plot(mixed, line) is None


def test_random_loss() -> None:
    panel = mix({"sweep": {"random_loss": ["0%", "0.1%", "10%"], "mixes": [1]}})
    assert panel["1 bbr (n = 1 trial each)"].x == [0, 0.1, 10]
    assert panel.x.title == "random loss (%)"
