"""Bytes of each flow in the queue over time, and what BBR makes of it below."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_hex
from nashbed.analysis.align.course import PathChange, steps
from nashbed.analysis.figures.plot import Line, Stack
from nashbed.analysis.figures.queue_over_time import bbr_samples, occupancy, queue_over_time_plot
from nashbed.analysis.figures.style import colour_of
from nashbed.analysis.measures import TrialMeasures
from nashbed.controlplane.contract.limit import Limit, Policer
from nashbed.controlplane.contract.link_changes import LinkState
from nashbed.controlplane.contract.units import Rate, Size
from tests.support.drawn import labels_of, panels, points
from tests.unit.analysis.figures.made_tables import trial_with

MS = 1_000_000
CCAS = ("cubic", "bbr")
# Flow 0 keeps 10,000 bytes in the queue from 0 to 20 ms, flow 1 20,000 bytes from 10 to 20 ms.
POSTCARDS = {
    "kind": [0, 0, 1],
    "flow": [0, 1, 0],
    "packet_bytes": [10_000, 20_000, 5_000],
    "payload_bytes": [9_000, 19_000, 4_000],
    "queue_bytes": [0, 10_000, 30_000],
    "enqueue_ns": [0, 10 * MS, 12 * MS],
    "dequeue_ns": [20 * MS, 20 * MS, 12 * MS],
}
SAMPLES = {
    "t_ns": [10 * MS, 10 * MS, 30 * MS, 50 * MS, 60 * MS],
    "tick": [0, 0, 1, 2, 3],
    "flow": [0, 1, 1, 1, 1],
    "has_bbr": [0, 1, 1, 1, 1],
    "cwnd_pkts": [4, 10, 20, 4, 4],
    "bbr_bw_bps": [0, 0, 3_000_000, 5_000_000, 4_000_000],
    "bbr_min_rtt_us": [0, 0, 60_000, 45_000, 45_000],
    "bbr_pacing_gain": [0.0, 2.89, 1.25, 1.0, 0.34],
    "bbr_mode": [float("nan")] * 5,
}


def test_occupancy_by_hand() -> None:
    measures, trial = trial_with({"postcards": POSTCARDS})
    found = occupancy(measures, trial)
    assert found is not None
    bins, bytes_ = found
    assert (bins.length_ns, bins.count) == (10 * MS, 10)
    assert bytes_[0].tolist() == pytest.approx([10_000, 10_000, *[0] * 8])
    assert bytes_[1].tolist() == pytest.approx([0, 20_000, *[0] * 8])


def test_the_figure_and_the_explorer_share_a_pyramid() -> None:
    """It is made beside the trials when the figure is drawn, and read the next time."""
    measures, trial = trial_with({"postcards": POSTCARDS})
    first = occupancy(measures, trial)
    made = trial.trial.path.parent.parent / "pyramids" / trial.trial.id / "pyramid.json"
    before = made.stat().st_mtime_ns
    again = occupancy(measures, trial)
    assert first is not None
    assert again is not None
    assert np.array_equal(first[1], again[1])
    assert made.stat().st_mtime_ns == before


def test_layers_are_stacked_in_kilobytes() -> None:
    measures, trial = trial_with({"postcards": POSTCARDS})
    plot = queue_over_time_plot(measures, trial)
    (panel,) = panels(plot)
    (stack,) = panel.of(Stack)
    # The middle of the second bin is at 15 ms: CUBIC has 10 kB, and BBR 20 kB.
    assert stack.x[1] == pytest.approx(0.015)
    assert stack.layers[:, 1] == pytest.approx([10, 20])
    assert [to_hex(c) for c in stack.colours] == [colour_of(s, ()).lower() for s in CCAS]
    assert labels_of(plot) == ["cubic (1 flow)", "bbr (1 flow)"]


def test_from_bins() -> None:
    bins = {"bin_start_ns": [0, 10 * MS, 10 * MS], "flow": [0, 0, 1],
            "occupancy_bytes_mean": [1_000.0, 2_000.0, 3_000.0]}  # fmt: skip
    kept = {"telemetry": {"tcp_info": "50ms", "postcards": {"bins": "10ms"}}}
    measures, trial = trial_with({"bins": bins}, kept)
    found = occupancy(measures, trial)
    assert found is not None
    assert found[1][:, :2].tolist() == [[1_000, 2_000], [0, 3_000]]


# Flow 1 is BBR: no estimate of the RTT at 10 ms, in ProbeRTT at 50 ms, a window of 4 packets while
# it drains at 60 ms. Flow 0 is CUBIC, whose fields are 0.


def test_what_bbr_makes_of_it() -> None:
    measures, trial = trial_with({"postcards": POSTCARDS, "flow_samples": SAMPLES})
    _, bandwidth, rtt = panels(queue_over_time_plot(measures, trial))
    assert points(bandwidth["bandwidth estimates"]) == ([0.03, 0.05, 0.06], [3, 5, 4])
    least = points(rtt["least RTT of 10 s"])
    assert least == ([0.03, 0.05, 0.06], pytest.approx([60, 45, 45]))
    # 30 kB in the second bin of 10 ms: 30 ms at 8 Mbit/s, and the base RTT of 40 ms.
    assert rtt["RTT through the queue"].y[1] == pytest.approx(70)
    assert rtt["ProbeRTT"].look["where"] == [False, True, False]


def test_a_small_window_is_a_probe_only_at_the_paced_rate() -> None:
    _, trial = trial_with({"flow_samples": SAMPLES})
    found = bbr_samples(trial)
    assert found is not None
    assert found.flows.tolist() == [1]
    assert found.probing.tolist() == [[False, True, False]]


def test_a_cca_that_tells_its_mode_probes_when_it_says_so() -> None:
    """BBRv3's window is half a BDP then, of any size; other CCAs number other modes."""
    told = {**SAMPLES, "cwnd_pkts": [4, 60, 60, 4, 60], "bbr_mode": [float("nan"), 4, 7, 4, 7]}
    _, trial = trial_with({"flow_samples": told})
    later = replace(trial, strategy=tuple(n.replace("bbr", "bbr3") for n in trial.strategy))
    found = bbr_samples(later)
    assert found is not None
    assert found.probing.tolist() == [[True, False, True]]
    other = replace(trial, strategy=tuple(n.replace("bbr", "copa") for n in trial.strategy))
    found = bbr_samples(other)
    assert found is not None
    assert not found.probing.any()


def test_goodput_second_by_second() -> None:
    # A row is of the interval that ends at its time: that at 1 s belongs to the first second.
    goodput = {"t_ns": [500 * MS, 1000 * MS, 1500 * MS, 1000 * MS], "flow": [1, 1, 1, 0],
               "bytes": [100_000, 150_000, 125_000, 9]}  # fmt: skip
    measures, trial = trial_with(
        {"postcards": POSTCARDS, "flow_samples": SAMPLES, "goodput": goodput}
    )
    record: Any = trial.trial.record
    record.duration_ns = 2000 * MS
    _, bandwidth, _ = panels(queue_over_time_plot(measures, trial))
    assert points(bandwidth["goodput of bbr"]) == ([0.5, 1.5], pytest.approx([2.0, 1.0]))


def applied(trial: TrialMeasures, **what: Any) -> None:
    record = trial.trial.record
    record.applied = record.applied.model_copy(update=what)  # type: ignore[misc]


def test_a_limit_that_changes_is_drawn_as_steps_and_the_largest_fits() -> None:
    """40 kB, from 50 ms on 120 kB; the rate rises with it, so that bytes are no delay."""
    measures, trial = trial_with({"postcards": POSTCARDS})
    limit = Limit(unit="bytes", value=120_000)
    later = LinkState(at_ns=50 * MS, rate_bps=24_000_000, limit=limit)
    applied(trial, changes=(later,))
    change = PathChange(50 * MS, "24 Mbit/s", 24_000_000, 8_000_000)
    course = steps(8_000_000, (change,), 100 * MS)
    changed = replace(trial, course=course)
    panel = panels(queue_over_time_plot(measures, changed))[0]
    (drawn,) = panel.of(Line)
    assert points(drawn) == ([0.0, 0.05, 0.1], [40, 120, 120])
    assert panel.y.high == pytest.approx(1.18 * 120)
    assert "limit 120 kB" in panel.notes
    assert panel.right is None
    # Of the window from 40 ms on, 10 ms have 8 Mbit/s and 50 ms 24 Mbit/s.
    assert changed.mean_rate_bps == pytest.approx((10 * 8e6 + 50 * 24e6) / 60)
    assert changed.rate_varies


def test_a_policer_caps_what_the_link_carries() -> None:
    _, trial = trial_with({"postcards": POSTCARDS})
    assert trial.mean_rate_bps == 8_000_000
    policer = Policer(rate=Rate(2_000_000), burst=Size(10_000))
    applied(trial, policer=policer)
    assert trial.mean_rate_bps == 2_000_000
