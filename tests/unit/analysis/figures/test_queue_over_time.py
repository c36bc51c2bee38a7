"""Bytes of each flow in the queue over time: the layers, the limit, the delay axis."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from nashbed.analysis.figures import queue_over_time
from nashbed.analysis.figures.style import colour_of
from tests.support.drawn import filled, legend_of, points, texts
from tests.unit.analysis.figures.made_tables import trial_with

MS = 1_000_000
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


def test_occupancy_by_hand() -> None:
    measures, trial = trial_with({"postcards": POSTCARDS})
    found = queue_over_time.occupancy(measures, trial)
    assert found is not None
    bins, bytes_ = found
    assert (bins.length_ns, bins.count) == (10 * MS, 10)
    assert bytes_[0].tolist() == pytest.approx([10_000, 10_000, *[0] * 8])
    assert bytes_[1].tolist() == pytest.approx([0, 20_000, *[0] * 8])


def test_layers_are_stacked_in_kilobytes() -> None:
    measures, trial = trial_with({"postcards": POSTCARDS})
    figure = queue_over_time.draw(measures, trial)
    assert figure is not None
    (ax,) = figure.axes
    # The middle of the second bin is at 15 ms: CUBIC up to 10 kB, BBR from there to 30 kB.
    lower, upper = (outline[np.isclose(outline[:, 0], 0.015), 1] for outline in filled(ax))
    assert (lower.min(), lower.max()) == pytest.approx((0, 10))
    assert (upper.min(), upper.max()) == pytest.approx((10, 30))
    colours = [to_hex(c.get_facecolor()[0]) for c in ax.collections]
    assert colours == [colour_of(s, ()).lower() for s in ("cubic", "bbr")]


def test_limit_warm_up_and_axes() -> None:
    measures, trial = trial_with({"postcards": POSTCARDS})
    figure = queue_over_time.draw(measures, trial)
    assert figure is not None
    (ax,) = figure.axes
    limit, warmup = ax.lines
    assert points(limit)[1] == [40, 40]
    assert points(warmup)[0] == [0.04, 0.04]
    assert texts(ax)[0] == "limit 40 kB"
    assert ax.get_ylabel() == "bytes in the queue (kB)"
    assert ax.get_xlabel() == "time (s)"
    assert ax.get_xlim() == pytest.approx((0, 0.1))
    assert ax.get_ylim() == pytest.approx((0, 1.18 * 40))
    assert legend_of(figure) == ["cubic (1 flow)", "bbr (1 flow)"]
    # 40 kB at 8 Mbit/s are 40 ms.
    (right,) = ax.child_axes
    assert right.get_ylabel() == "delay (ms)"
    figure.draw_without_rendering()
    assert right.get_ylim()[1] == pytest.approx(1.18 * 40)


def test_from_bins() -> None:
    bins = {"bin_start_ns": [0, 10 * MS, 10 * MS], "flow": [0, 0, 1],
            "occupancy_bytes_mean": [1_000.0, 2_000.0, 3_000.0]}  # fmt: skip
    kept = {"telemetry": {"tcp_info": "50ms", "postcards": {"bins": "10ms"}}}
    measures, trial = trial_with({"bins": bins}, kept)
    found = queue_over_time.occupancy(measures, trial)
    assert found is not None
    assert found[1][:, :2].tolist() == [[1_000, 2_000], [0, 3_000]]


def test_nothing_without_telemetry() -> None:
    assert queue_over_time.draw(*trial_with({})) is None
