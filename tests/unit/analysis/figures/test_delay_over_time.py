"""RTT and queueing delay over time."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.clock.queueing import TapComparison
from nashbed.analysis.figures import delay_over_time
from nashbed.analysis.figures.delay_over_time import rtt_over_time_plot
from nashbed.analysis.figures.plot import Rule
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.metrics.rtt import RttSeries
from tests.support.drawn import labels_of, panels, points
from tests.unit.analysis.figures.made_tables import SHORT, MadeTrial, trial_with
from tests.unit.analysis.made_measures import made

MS, US = 1_000_000, 1_000
SAMPLES = {
    "t_ns": [10 * MS, 20 * MS, 60 * MS, 10 * MS],
    "flow": [0, 0, 0, 1],
    "srtt_us": [40_000, 44_000, 80_000, 50_000],
}


def comparison(postcards_ns: list[int], captures_ns: list[float]) -> TapComparison:
    return TapComparison(
        trial="t",
        software=True,
        clocks=(),
        alignments=(),
        sojourn_ns=np.array(postcards_ns, np.int64),
        delay_ns=np.array(captures_ns, np.float64),
        time_ns=np.arange(len(postcards_ns), dtype=np.int64) * 10**9,
        tolerance_ns=1000,
        mismatches=(),
    )


def test_delays_and_their_difference() -> None:
    found = comparison([MS, 2 * MS, 3 * MS], [MS + 5 * US, 2 * MS + 7 * US, 3 * MS + 9 * US])
    above, below = panels(delay_over_time.tap_delay_plot(found))
    assert points(above["postcards"]) == ([0, 1, 2], [1, 2, 3])
    assert points(above["captures"]) == ([0, 1, 2], pytest.approx([1.005, 2.007, 3.009]))
    assert points(below.items[0]) == ([0, 1, 2], pytest.approx([5, 7, 9]))
    # The median, and the 5th and 95th percentile of 5, 7, 9.
    assert [rule.at for rule in below.of(Rule)] == pytest.approx([7, 5.2, 8.8])


def test_at_most_so_many_points() -> None:
    count = delay_over_time.MAX_POINTS * 2 + 1
    plot = delay_over_time.tap_delay_plot(comparison([MS] * count, [float(MS)] * count))
    x, _ = points(panels(plot)[0]["postcards"])
    assert len(x) <= delay_over_time.MAX_POINTS
    assert x[:3] == [0, 3, 6]


def test_nothing_of_no_packets() -> None:
    assert delay_over_time.tap_delay_plot(comparison([], [])) is None


def test_means_in_ms() -> None:
    measures, trial = trial_with({"flow_samples": SAMPLES})
    (panel,) = panels(rtt_over_time_plot(measures, trial))
    # Bins of 50 ms: flow 0 has 40 and 44 ms in the first and 80 ms in the second.
    cubic = panel["cubic: flows and mean"]
    assert points(cubic) == (pytest.approx([0.025, 0.075]), pytest.approx([42, 80]))
    assert cubic.look["color"] == colour_of("cubic", ())
    bbr = panel["bbr: flows and mean"].y
    assert bbr[0] == pytest.approx(50)
    assert np.isnan(bbr[1])
    thin, *_ = panel.items
    assert points(thin) == points(cubic)
    assert panel["base RTT"].at == 40
    # 40 kB at 8 Mbit/s are 40 ms.
    assert panel["base RTT + full queue"].at == pytest.approx(80)
    assert (panel.x.low, panel.x.high) == pytest.approx((0, 0.1))


def alone(srtt_us: dict[str, int], flows: int = 1) -> RunMeasures:
    """Each CCA alone, its RTT the same all the time."""
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
    (panel,) = panels(delay_over_time.rtt_alone_plot(measures, measures.run.settings[0]))
    cubic = panel["cubic, socket (smoothed)"]
    assert points(cubic) == (pytest.approx([0.025, 0.075]), pytest.approx([70, 71]))
    assert panel["bbr, socket (smoothed)"].y == pytest.approx([45, 46])
    assert (panel["base RTT"].at, panel["base RTT + full queue"].at) == (40, pytest.approx(80))
    assert (panel.x.low, panel.x.high) == pytest.approx((0, 0.1))


def test_nothing_with_one_cca_or_many_flows() -> None:
    one = alone({"cubic": 70_000})
    assert delay_over_time.rtt_alone_plot(one, one.run.settings[0]) is None
    many = alone({"cubic": 70_000, "bbr": 45_000}, flows=5)
    assert delay_over_time.rtt_alone_plot(many, many.run.settings[0]) is None


def series(port: int, rtt_ms: list[float]) -> RttSeries:
    t_ns = np.arange(len(rtt_ms), dtype=np.int64) * 10**9 + 5 * 10**9
    return RttSeries(
        flow=(("10.64.0.1", port), ("10.65.0.1", 5001)),
        t_ns=t_ns,
        rtt_ns=np.array(rtt_ms) * 1e6,
    )


def test_from_captures() -> None:
    flows = [("cubic", series(10_000, [50, 60])), ("other", series(10_001, [70]))]
    plot = delay_over_time.captures_plot(flows, until_s=2.5)
    (panel,) = panels(plot)
    cubic = panel["cubic, port 10000"]
    assert points(cubic) == ([0, 1], [50, 60])
    assert cubic.look["color"] == colour_of("cubic", ())
    assert labels_of(plot) == ["cubic, port 10000", "other, port 10001"]
    assert (panel.x.low, panel.x.high) == (0, 2.5)
