"""Every metric against a case computed by hand (the sums are in the comments)."""

import math

import numpy as np
import pytest
from nashbed.analysis.align.data import FlowSamples, Goodput
from nashbed.analysis.align.totals import (
    BIN_COLUMNS,
    Link,
    count_durations,
    duration_percentile,
    sum_bins,
    sum_postcards,
)
from nashbed.analysis.errors import NotMeasuredError
from nashbed.analysis.metrics import METRICS, metric_named
from nashbed.analysis.metrics.fairness import (
    FAIRNESS,
    jain_index,
    least_by_largest,
    product_fairness,
)
from nashbed.analysis.metrics.losses import (
    BY_REASON,
    LOSS,
    increase,
    loss_rate_by_reason,
    packet_rate,
    retransmit_share,
)
from nashbed.analysis.metrics.mixes import Crossing, crossings, rtt_order
from nashbed.analysis.metrics.queue import (
    TimeBins,
    mean_occupancy,
    occupancy_at,
    occupancy_bins,
    packet_mean_delay,
    share_line,
    time_mean_delay,
)
from nashbed.analysis.metrics.rtt import peak_rtt, rtt_series
from nashbed.analysis.metrics.statistics import estimate
from nashbed.analysis.metrics.throughput import (
    drift,
    per_flow_throughput,
    shares,
)
from nashbed.analysis.metrics.tradeoff import gaussian_ellipse, power
from nashbed.analysis.text import with_interval
from nashbed.controlplane.contract.metrics import DISPLAY, METRIC_UNITS
from nashbed.controlplane.contract.records import MARK_CAPABLE, MARK_CE
from nashbed.controlplane.contract.shared import DROP_REASONS
from tests.unit.analysis.metrics.test_traffic import trial as trial_of

S = 1_000_000_000

# The golden queue: 1000 B packets at 8 Mbit/s, so 1 ms each on the wire. Times in us.
#   flow  enqueue  dequeue  in the queue
#   0        0       1000   1000 B x 1 ms
#   1      200       2000   1000 B x 1.8 ms
#   0      500       3000   1000 B x 2.5 ms
#   1      600   dropped
#   1     5000       6000   1000 B x 1 ms
GOLDEN = {
    "kind": np.array([0, 0, 0, 1, 0], np.uint8),
    "flow": np.array([0, 1, 0, 1, 1], np.uint32),
    "packet_bytes": np.full(5, 1000, np.uint32),
    "enqueue_ns": np.array([0, 200, 500, 600, 5000]) * 1000,
    "dequeue_ns": np.array([1000, 2000, 3000, 600, 6000]) * 1000,
    "marks": np.full(5, np.nan),
}
LINK = Link((0, 10_000_000), 8_000_000, 0)


def test_per_flow_throughput() -> None:
    # Intervals end at 1, 2, 3 s; window 0.5 s to 2.5 s: halves of the first and the last.
    # Flow 0: 1000/2 + 2000 + 3000/2 = 4000 B in 2 s = 16000 bit/s. Flow 1: 500 B = 2000 bit/s.
    t = np.array([1, 2, 3]) * S
    grid = np.array([[1000.0, 2000, 3000], [0, 500, 0]])
    found = per_flow_throughput(t, grid, S, (S // 2, 5 * S // 2))
    assert found.tolist() == [16000.0, 2000.0]


def test_drift_is_relative_to_its_own_mean() -> None:
    # 1 s intervals of 1000, 1000, 3000, 3000 B: 1000 B/s, then 3000 B/s, on average 2000 B/s.
    t = np.array([1, 2, 3, 4]) * S
    sizes = np.array([1000.0, 1000, 3000, 3000])
    assert drift(t, sizes, S, (0, 4 * S)) == 1.0
    assert drift(t, sizes / 1000, S, (0, 4 * S)) == 1.0
    assert drift(t, sizes[::-1], S, (0, 4 * S)) == -1.0
    # Cut intervals count in proportion: 500 + 500 B, then 500 + 1500 B.
    assert drift(t, sizes, S, (S // 2, 5 * S // 2)) == pytest.approx(2000 / 3000)
    assert drift(t, np.zeros(4), S, (0, 4 * S)) == 0.0


def test_throughput_share() -> None:
    assert shares(np.array([3.0, 1.0])).tolist() == [0.75, 0.25]
    assert np.isnan(shares(np.array([0.0, 0.0]))).all()


def test_jain_index() -> None:
    assert jain_index(np.array([2.0, 2, 2])) == 1.0
    # (1 + 3)^2 / (2 (1 + 9)) = 16 / 20
    assert jain_index(np.array([1.0, 3.0])) == pytest.approx(0.8)
    # One has all: 1 / n.
    assert jain_index(np.array([5.0, 0, 0, 0])) == pytest.approx(0.25)
    assert np.isnan(jain_index(np.zeros(3)))


def test_product_fairness() -> None:
    assert product_fairness(np.array([2.0, 2, 2])) == 1.0
    # Mean 2: 1/2 x 3/2.
    assert product_fairness(np.array([1.0, 3.0])) == pytest.approx(0.75)
    # Mean 2 again: five such pairs are 0.75^5, and one flow without anything is enough for 0.
    assert product_fairness(np.array([1.0, 3.0] * 5)) == pytest.approx(0.75**5)
    assert product_fairness(np.array([5.0, 5, 0])) == 0.0
    assert np.isnan(product_fairness(np.zeros(3)))


def test_least_by_largest() -> None:
    assert least_by_largest(np.array([3.0, 1, 4])) == 0.25
    assert least_by_largest(np.array([5.0, 0])) == 0.0
    assert np.isnan(least_by_largest(np.zeros(3)))


def test_fairness_is_among_the_flows_of_the_mix() -> None:
    """The golden queue with a sink that read 3000, 1000 and, of the background, 9000 B in 10 ms."""
    totals = sum_postcards([GOLDEN], 3, LINK)
    goodput = Goodput(np.array([10_000_000]), np.array([[3000.0], [1000.0], [9000.0]]), 10_000_000)
    of = {"strategy": ("cubic", "bbr", "cubic"), "group": np.array([0, 0, 1]), "mixed_groups": 1,
          "window_ns": (0, 10_000_000), "goodput": goodput, "queue": totals}  # fmt: skip
    found = {metric.name: metric.compute(trial_of(**of)) for metric in FAIRNESS}
    # Delays: (1 + 2.5)/2 = 1.75 ms and (1.8 + 1)/2 = 1.4 ms. 1000 B in 10 ms are 800 kbit/s.
    assert found == pytest.approx(
        {"jain_index": 0.8, "product_fairness": 0.75, "epsilon_fairness": 1 / 3,
         "minimum_throughput": 800_000, "delay_fairness": 0.8}
    )  # fmt: skip
    with pytest.raises(NotMeasuredError, match="no flow of the mix has a per_flow_throughput"):
        METRICS["epsilon_fairness"].compute(trial_of(**{**of, "mixed_groups": 0}))


def test_power() -> None:
    # A full link with a queue as long as the path; half a link with an empty queue.
    assert power(10e6, 10e6, 0.08, 0.04) == 0.5
    assert power(5e6, 10e6, 0.04, 0.04) == 0.5
    # Of a trial: 9.084 of 12.112 Mbit/s are 3/4; RTTs of 80 and 160 ms, 3 base RTTs of 40 ms.
    goodput = Goodput(np.array([10 * S]), np.array([[4_000_000.0], [7_355_000.0]]), 10 * S)
    columns = {"t_ns": np.array([S, S]), "flow": np.array([0, 1]),
               "srtt_us": np.array([80_000, 160_000])}  # fmt: skip
    trial = trial_of(goodput=goodput, samples=FlowSamples(np.arange(3), columns))
    assert METRICS["power"].compute(trial) == pytest.approx(0.25)


def test_ellipse_by_hand() -> None:
    # Corners of a rectangle about (3, 2): variances 4 and 1, no covariance.
    ellipse = gaussian_ellipse(np.array([1.0, 5, 1, 5]), np.array([1.0, 1, 3, 3]))
    assert ellipse is not None
    assert ellipse.middle.tolist() == [3.0, 2.0]
    assert np.abs(ellipse.axes) == pytest.approx(np.array([[2.0, 0], [0, 1.0]]))
    x, y = ellipse.outline()
    assert (x.min(), x.max(), y.min(), y.max()) == pytest.approx((1, 5, 1, 3), abs=1e-3)
    assert (x[0], y[0]) == pytest.approx((x[-1], y[-1]))
    # Points on y = x/2: a line of the length that sqrt(4 + 1) is to either side.
    ellipse = gaussian_ellipse(np.array([1.0, 5, 1, 5]), np.array([1.0, 3, 1, 3]))
    assert ellipse is not None
    assert np.abs(ellipse.axes) == pytest.approx(np.array([[2.0, 1.0], [0, 0]]), abs=1e-7)
    assert gaussian_ellipse(np.array([1.0, 5]), np.array([1.0, 3])) is None


def test_packet_rate() -> None:
    found = packet_rate(np.array([1.0, 0, 0]), np.array([4.0, 5, 0]))
    assert found[:2].tolist() == [0.25, 0.0]
    assert np.isnan(found[2])


def test_loss_rate_by_reason() -> None:
    # 4 + 6 packets arrived; 2 were dropped for the first reason, 1 of each flow for the second.
    found = loss_rate_by_reason(np.array([[2.0, 0], [1, 1]]), np.array([4.0, 6.0]))
    assert found.tolist() == [0.2, 0.2]
    assert np.isnan(loss_rate_by_reason(np.zeros((2, 2)), np.zeros(2))).all()


def test_reasons_of_drops_in_the_window() -> None:
    marks = np.full(5, MARK_CAPABLE, np.uint8)
    marks[3] |= DROP_REASONS.index("threshold")
    found = sum_postcards([GOLDEN | {"marks": marks}], 2, LINK).dropped_by_reason
    assert found is not None
    assert found.sum(axis=0).tolist() == [0, 1]
    assert found[DROP_REASONS.index("threshold")].tolist() == [0, 1]
    early = Link((0, 500_000), 8_000_000, 0)
    found = sum_postcards([GOLDEN | {"marks": marks}], 2, early).dropped_by_reason
    assert found is not None
    assert found.sum() == 0
    # Without marks no reason is known.
    assert sum_postcards([GOLDEN], 2, LINK).dropped_by_reason is None


def test_the_rates_of_all_reasons_add_up_to_the_loss_rate() -> None:
    """Sixteen packets arrive, one departs, 1 to 4 are dropped for each reason: sums are exact."""
    reasons = np.repeat(np.arange(len(DROP_REASONS)), [1, 2, 3, 4, 3, 2])
    kind = np.append(np.ones(15, np.uint8), 0)
    cards = {
        "kind": kind,
        "flow": np.arange(16, dtype=np.uint32) % 2,
        "packet_bytes": np.full(16, 1000, np.uint32),
        "enqueue_ns": np.zeros(16, np.int64),
        "dequeue_ns": np.where(kind == 1, 0, 1_000_000),
        "marks": np.append(reasons, 0).astype(np.uint8),
    }
    trial = trial_of(queue=sum_postcards([cards], 2, LINK))
    rates = {metric.name: metric.compute(trial) for metric in BY_REASON}
    assert rates == {
        "limit_loss_rate": 1 / 16, "early_loss_rate": 2 / 16, "overflow_loss_rate": 3 / 16,
        "queue_limit_loss_rate": 4 / 16, "threshold_loss_rate": 3 / 16, "policer_loss_rate": 2 / 16,
    }  # fmt: skip
    assert sum(rates.values()) == LOSS.compute(trial) == 15 / 16


def test_own_share_of_what_refused_packets_found() -> None:
    # The refused packet of flow 1 found 3000 B, 750 B of them in its own queue: 1000 B x 1/4.
    queues = {
        "queue": np.array([0, 1, 0, 1, 1], np.uint8),
        "queue_bytes": np.array([0, 1000, 2000, 3000, 0]),
        "own_queue_bytes": np.array([0, 0, 1000, 750, 0]),
    }
    totals = sum_postcards([GOLDEN | queues], 2, LINK)
    assert totals.own_share_bytes is not None
    assert totals.met_bytes is not None
    assert totals.own_share_bytes.tolist() == [0, 250]
    assert totals.met_bytes.tolist() == [0, 1000]
    assert sum_postcards([GOLDEN], 2, LINK).met_bytes is None


def test_marks_are_of_packets_that_left_in_the_window() -> None:
    marks = np.array([MARK_CE | MARK_CAPABLE, MARK_CAPABLE, 0, MARK_CAPABLE | 1, MARK_CE], np.uint8)
    marked = sum_postcards([GOLDEN | {"marks": marks}], 2, LINK).marked_packets
    assert marked is not None
    assert marked.tolist() == [1, 1]
    early = Link((0, 5_500_000), 8_000_000, 0)
    marked = sum_postcards([GOLDEN | {"marks": marks}], 2, early).marked_packets
    assert marked is not None
    assert marked.tolist() == [1, 0]
    # Of a trial in which nothing can be marked there is no rate, not one of 0.
    assert sum_postcards([GOLDEN], 2, LINK).marked_packets is None


def test_marks_of_bins_count_in_proportion() -> None:
    bins = {name: np.ones(2) for name in BIN_COLUMNS} | {
        "bin_start_ns": np.array([0, 10]), "flow": np.array([0, 0]),
        "marked_packets": np.array([4, 8], np.uint32),
    }  # fmt: skip
    marked = sum_bins([bins], 1, Link((0, 15), 8, 0), bin_ns=10).marked_packets
    assert marked is not None
    assert marked.tolist() == [8.0]
    bins["marked_packets"] = np.full(2, np.nan)
    assert sum_bins([bins], 1, Link((0, 15), 8, 0), bin_ns=10).marked_packets is None


def test_window_sums_of_the_golden_queue() -> None:
    totals = sum_postcards([GOLDEN], 2, LINK)
    assert totals.arrived_packets.tolist() == [2, 3]
    assert totals.dropped_packets.tolist() == [0, 1]
    assert totals.dropped_bytes.tolist() == [0, 1000]
    assert totals.departed_bytes.tolist() == [2000, 2000]
    # Flow 0: 1000 B x (1 + 2.5) ms; flow 1: 1000 B x (1.8 + 1) ms.
    assert totals.occupancy_byte_ns.tolist() == [3.5e9, 2.8e9]
    assert totals.delay_sum_ns.tolist() == [3.5e6, 2.8e6]
    assert totals.busy_ns == 4e6
    assert totals.backlog_byte_ns == 6.3e9


def test_window_sums_cut_stays_at_the_window() -> None:
    # Window 1 ms to 2.5 ms: flow 0's second packet is in the queue for all 1.5 ms of it,
    # flow 1's first for 1 ms; the link is busy throughout; only flow 1's packet leaves in it
    # (2 ms; the one leaving at exactly 1 ms does too, the window's start is in it).
    totals = sum_postcards([GOLDEN], 2, Link((1_000_000, 2_500_000), 8_000_000, 0))
    assert totals.occupancy_byte_ns.tolist() == [1.5e9, 1.0e9]
    assert totals.departed_packets.tolist() == [1, 1]
    assert totals.arrived_packets.tolist() == [0, 0]
    assert totals.busy_ns == 1.5e6


def test_overhead_counts_on_the_wire_only() -> None:
    # 1000 B + 250 B overhead at 10 Mbit/s: again 1 ms each.
    totals = sum_postcards([GOLDEN], 2, Link((0, 10_000_000), 10_000_000, 250))
    assert totals.busy_ns == 4e6
    assert totals.occupancy_byte_ns.tolist() == [3.5e9, 2.8e9]
    assert totals.backlog_byte_ns == 6.3e9 * 1.25


def test_bins_give_the_same_sums() -> None:
    # The golden queue in bins of 5 ms, as the data plane would count it: flow 1's last packet
    # lies in the second bin.
    bins = {
        "bin_start_ns": np.array([0, 0, 5]) * 1_000_000,
        "flow": np.array([0, 1, 1]),
        "departed_bytes": np.array([2000, 1000, 1000]),
        "departed_packets": np.array([2, 1, 1]),
        "dropped_packets": np.array([0, 1, 0]),
        "dropped_bytes": np.array([0, 1000, 0]),
        "occupancy_bytes_mean": np.array([3.5e9, 1.8e9, 1.0e9]) / 5e6,
        "qdelay_mean_ns": np.array([1.75e6, 1.8e6, 1.0e6]),
        "marked_packets": np.full(3, np.nan),
    }
    found, exact = sum_bins([bins], 2, LINK, 5_000_000), sum_postcards([GOLDEN], 2, LINK)
    for name in ("arrived_packets", "dropped_bytes", "departed_bytes"):
        assert getattr(found, name).tolist() == getattr(exact, name).tolist()
    assert found.occupancy_byte_ns == pytest.approx(exact.occupancy_byte_ns)
    assert found.delay_sum_ns == pytest.approx(exact.delay_sum_ns)
    assert found.busy_ns == exact.busy_ns
    assert found.delay_counts is None


def test_mean_occupancy() -> None:
    # 3.5e9 B ns over 10 ms = 350 B.
    assert mean_occupancy(np.array([3.5e9, 2.8e9]), 10_000_000).tolist() == [350.0, 280.0]


def test_occupancy_at_instants() -> None:
    # At 0.5 ms: the enqueue at 0.5 ms counts, so 2 packets of flow 0 and one of flow 1.
    # At 1 ms the first has left; at 2 ms the second; at 3 ms all; at 5.5 ms the last is in.
    instants = np.array([-1, 0, 500, 1000, 2000, 3000, 5500, 6000]) * 1000
    found = occupancy_at([GOLDEN], 2, instants)
    assert found[0].tolist() == [0, 1000, 2000, 1000, 1000, 0, 0, 0]
    assert found[1].tolist() == [0, 0, 1000, 1000, 0, 0, 1000, 0]


def test_occupancy_bins() -> None:
    # Bins of 1 ms from 0. Flow 0: 1 + 0.5, 1, 1, 0, 0, 0; flow 1: 0.8, 1, 0, 0, 0, 1 (x 1000 B).
    found = occupancy_bins([GOLDEN], 2, TimeBins(0, 1_000_000, 6))
    assert found[0].tolist() == [1500, 1000, 1000, 0, 0, 0]
    assert found[1].tolist() == [800, 1000, 0, 0, 0, 1000]


def test_queueing_delay() -> None:
    # 4 packets, 1 + 1.8 + 2.5 + 1 = 6.3 ms: mean 1.575 ms.
    assert packet_mean_delay(6.3e6, 4) == pytest.approx(1.575e-3)
    # 6.3e9 B ns over 10 ms: 630 B on average, 0.63 ms at 8 Mbit/s.
    assert time_mean_delay(6.3e9, 10_000_000, 8_000_000) == pytest.approx(0.63e-3)
    assert np.isnan(packet_mean_delay(0.0, 0))


def test_delay_percentiles() -> None:
    delays = np.array([1_000_000, 2_000_000, 3_000_000, 4_000_000])
    counts = count_durations(delays)
    assert duration_percentile(counts, 0.5) == pytest.approx(2e6, rel=1e-3)
    assert duration_percentile(counts, 0.51) == pytest.approx(3e6, rel=1e-3)
    assert duration_percentile(counts, 1.0) == pytest.approx(4e6, rel=1e-3)
    assert duration_percentile(count_durations(np.zeros(5, int)), 0.5) == 0.0
    assert np.isnan(duration_percentile(count_durations(np.array([], int)), 0.5))


def test_retransmits() -> None:
    # Readings at 0, 1, 2, 3 s; window 1 s to 2.5 s: from the one at 1 s to the one at 2 s.
    t = np.arange(4) * S
    assert increase(t, np.array([10, 20, 50, 90]), (S, 5 * S // 2)) == 30.0
    # Before the first reading the counter was 0.
    assert increase(t + S, np.array([10, 20, 50, 90]), (0, S)) == 10.0
    assert retransmit_share(30.0, 600.0) == 0.05
    assert np.isnan(retransmit_share(0.0, 0.0))


def test_rtt_series() -> None:
    # Flow 0: 40 and 60 ms in the first bin; 0 (none yet) is left out. Flow 1: nothing there.
    found = rtt_series(
        np.array([0, 500, 600, 1500]),
        np.array([0, 0, 0, 1]),
        np.array([40_000, 60_000, 0, 80_000]),
        2,
        np.array([0, 1000, 2000]),
    )
    assert found[0, 0] == pytest.approx(0.05)
    assert found[1, 1] == pytest.approx(0.08)
    assert np.isnan([found[0, 1], found[1, 0]]).all()


def test_peak_rtt() -> None:
    # Flow 0: 40 and 60 ms in the window, 90 ms before it; flow 1: nothing but a 0.
    t, flow = np.array([0, 10, 20, 15]), np.array([0, 0, 0, 1])
    found = peak_rtt(t, flow, np.array([90_000, 40_000, 60_000, 0]), 2, (5, 25))
    assert found[0] == pytest.approx(0.06)
    assert np.isnan(found[1])


def test_share_line() -> None:
    # y = 0.1 + 0.5 x exactly.
    x = np.array([0.0, 0.2, 0.4])
    line = share_line(x, 0.1 + 0.5 * x)
    assert line is not None
    assert (line.slope, line.intercept, line.r2, line.n) == pytest.approx((0.5, 0.1, 1.0, 3))
    assert share_line(x[:2], x[:2]) is None
    assert share_line(np.full(4, 0.25), np.arange(4.0)) is None


def test_estimate() -> None:
    # Mean 2, s = 1, n = 3: t(0.975, 2) = 4.302653, half width 4.302653 / sqrt(3) = 2.484138.
    found = estimate([1.0, 2.0, 3.0])
    assert found is not None
    assert (found.mean, found.n) == (2.0, 3)
    assert found.ci95 == pytest.approx(2.484138, abs=1e-6)
    single = estimate([5.0, float("nan")])
    assert single is not None
    assert (single.mean, single.n, single.ci95) == (5.0, 1, None)


def test_points_stand_for_an_interval_that_cannot_be() -> None:
    # Losses of 0.7 and 3.1 %: 1.9 +- 12.706 x 1.2, far below zero.
    found = estimate([0.031, 0.007], possible=(0, 1))
    assert found is not None
    assert (found.mean, found.n, found.ci95) == (pytest.approx(0.019), 2, None)
    assert found.points == (0.007, 0.031)
    assert with_interval(found.scaled(100)) == ("1.90", "(0.700, 3.10)")


@pytest.mark.parametrize(
    ("values", "half"),
    [
        ([0.019, 0.01905, 0.0191], 4.30265 * 0.00005 / 3**0.5),  # it is possible
        ([0.0, 0.0, 0.0, 0.01], 3.1824 * 0.0025),  # from four on
        ([0.0, 0.0, 0.0], 0.0),  # nothing varies
    ],
)
def test_other_intervals_stay(values: list[float], half: float) -> None:
    found = estimate(values, possible=(0, 1))
    assert found is not None
    assert found.ci95 == pytest.approx(half, rel=1e-4)
    assert found.points == ()
    assert estimate([]) is None


def test_two_trials_are_their_values() -> None:
    found = estimate([0.019, 0.0191], possible=(0, 1))
    assert found is not None
    assert (found.ci95, found.points) == (None, (0.019, 0.0191))


def test_rtt_order() -> None:
    sizes, rtts = (2, 2, 2), (10, 30, 50)
    # Three flows: 2 on 10 ms and 1 on 30 ms are the shortest.
    assert rtt_order((2, 1, 0), sizes, rtts) == 1
    assert rtt_order((1, 2, 0), sizes, rtts) == pytest.approx(2 / 3)
    assert rtt_order((0, 1, 2), sizes, rtts) == pytest.approx(1 / 3)
    # Two flows on the longest are none of the two shortest; all flows are always in order.
    assert rtt_order((0, 0, 2), sizes, rtts) == 0
    assert rtt_order((2, 2, 2), sizes, rtts) == 1
    # The order of the groups does not matter, and two groups of one base RTT are as one.
    assert rtt_order((0, 1, 2), sizes, (50, 30, 10)) == 1
    assert rtt_order((0, 2, 0), sizes, (10, 10, 50)) == 1
    assert math.isnan(rtt_order((0, 0, 0), sizes, rtts))


def test_crossing() -> None:
    # Lead of the second: +2 at 1, +1 at 2, -1 at 3: crosses half way between 2 and 3.
    first = {1: 4.0, 2: 4.0, 3: 5.0}
    second = {1: 6.0, 2: 5.0, 3: 4.0}
    assert crossings(first, second) == [Crossing(2.5, (2, 3))]
    # Exactly equal at a mix.
    assert crossings({1: 1.0, 2: 3.0}, {1: 2.0, 2: 3.0}) == [Crossing(2.0, (2, 2))]
    # Ahead everywhere, or behind from the first: none.
    assert crossings({1: 1.0, 2: 1.0}, {1: 2.0, 2: 2.0}) == []
    assert crossings({1: 2.0, 2: 2.0}, {1: 1.0, 2: 1.0}) == []
    # Rising through is none; falling again is.
    lead = {1: 1.0, 2: -1.0, 3: 1.0, 4: -3.0}
    assert [c.at for c in crossings(dict.fromkeys(lead, 0.0), lead)] == [1.5, 3.25]


def test_crossing_of_published_experiment_1() -> None:
    # Published: between 7 and 8. By hand: leads 10.4 - 7.5 = 2.9 and 8.8 - 12.4 = -3.6,
    # so 7 + 2.9 / 6.5 = 7.446.
    bbr = dict(enumerate([35.6, 24.8, 19.7, 15.8, 13.5, 12.2, 10.4, 8.8, 7.9], 1))
    cubic = dict(enumerate([6.7, 5.7, 5.1, 5.3, 5.4, 5.5, 7.5, 12.4, 23.5], 1))
    (found,) = crossings(cubic, bbr)
    assert found.between == (7, 8)
    assert found.at == pytest.approx(7.446, abs=1e-3)


def test_registry_is_complete_and_closed() -> None:
    for metric in METRICS.values():
        assert metric.definition.endswith(".")
        assert metric.source
        assert metric.unit in DISPLAY
    # Bounds know them without the analysis. A name that two metrics had fails here, too.
    assert {name: (each.scope, each.unit) for name, each in METRICS.ours.items()} == METRIC_UNITS
    with pytest.raises(KeyError, match="there are per_flow_throughput"):
        metric_named("speed")
