"""RTT over time of each congestion control alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.figures import rtt_alone
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.metrics.capture_rtt import RttSeries
from tests.support.drawn import colour, legend_of, lines_of, points
from tests.unit.analysis.figures.made_tables import SHORT, MadeTrial
from tests.unit.analysis.made_measures import made

MS = 1_000_000


def alone(srtt_us: dict[str, int], flows: int = 1) -> RunMeasures:
    """Each congestion control alone, its RTT the same all the time."""
    group = [{"name": "main", "count": flows, "base_rtt": "40ms"}]
    measures = made({**SHORT, "flows": group}, lambda *_: 4e6)
    trials = []
    for one in measures.trials:
        tables = {}
        if len(set(one.strategy)) == 1 and one.strategy[0] in srtt_us:
            value = srtt_us[one.strategy[0]]
            tables = {"flow_samples": {"t_ns": [10 * MS, 60 * MS], "flow": [0, 0],
                                       "srtt_us": [value, value + 1000]}}  # fmt: skip
        trial: Any = MadeTrial(one.trial, tables)
        trials.append(replace(one, trial=trial))
    return replace(measures, trials=tuple(trials))


def test_from_the_socket() -> None:
    measures = alone({"cubic": 70_000, "bbr": 45_000})
    figure = rtt_alone.draw(measures, measures.run.settings[0])
    assert figure is not None
    (ax,) = figure.axes
    cubic = lines_of(ax)["cubic, socket (smoothed)"]
    assert points(cubic) == (pytest.approx([0.025, 0.075]), pytest.approx([70, 71]))
    assert colour(cubic) == colour_of("cubic", ()).lower()
    assert points(lines_of(ax)["bbr, socket (smoothed)"])[1] == pytest.approx([45, 46])
    assert points(lines_of(ax)["base RTT"])[1] == [40, 40]
    assert points(lines_of(ax)["base RTT + full queue"])[1] == pytest.approx([80, 80])
    assert ax.get_ylabel() == "RTT (ms)"
    assert ax.get_xlim() == pytest.approx((0, 0.1))


def test_nothing_with_one_control_or_many_flows() -> None:
    one = alone({"cubic": 70_000})
    assert rtt_alone.draw(one, one.run.settings[0]) is None
    many = alone({"cubic": 70_000, "bbr": 45_000}, flows=5)
    assert rtt_alone.draw(many, many.run.settings[0]) is None


def series(port: int, rtt_ms: list[float]) -> RttSeries:
    t_ns = np.arange(len(rtt_ms), dtype=np.int64) * 10**9 + 5 * 10**9
    return RttSeries(
        flow=(("10.64.0.1", port), ("10.65.0.1", 5001)),
        t_ns=t_ns,
        rtt_ns=np.array(rtt_ms) * 1e6,
    )


def test_from_captures(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"cubic": [series(10_000, [50, 60])], "other": [series(10_001, [70])]}
    monkeypatch.setattr(rtt_alone, "read_segments", lambda path: path.stem)
    monkeypatch.setattr(rtt_alone, "capture_rtt", found.__getitem__)
    figure = rtt_alone.draw_captures([Path("cubic.pcap"), Path("other.pcap")], until_s=2.5)
    assert figure is not None
    (ax,) = figure.axes
    cubic = lines_of(ax)["cubic, port 10000"]
    assert points(cubic) == ([0, 1], [50, 60])
    assert colour(cubic) == colour_of("cubic", ()).lower()
    assert legend_of(figure) == ["cubic, port 10000", "other, port 10001"]
    assert ax.get_xlim() == (0, 2.5)
    assert ax.get_xlabel() == "time since the first ACK (s)"


def test_captures_without_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rtt_alone, "read_segments", lambda path: path)
    monkeypatch.setattr(rtt_alone, "capture_rtt", lambda segments: [])
    assert rtt_alone.draw_captures([Path("a.pcap")]) is None
