"""Metrics of starvation and of changes of the path against cases computed by hand."""

import math

import numpy as np
import pytest
from nashbed.analysis.align.course import PathChange, steps
from nashbed.analysis.align.data import Goodput, QueueTotals, TrialData
from nashbed.analysis.align.totals import Link, sum_bins, sum_postcards
from nashbed.analysis.errors import NotMeasuredError
from nashbed.analysis.metrics import METRICS
from nashbed.analysis.metrics.changes import (
    convergence_time,
    responses_of,
    time_to_fairness,
    time_to_use_capacity,
)
from nashbed.analysis.metrics.starvation import starvation, starved_after_ns

S = 1_000_000_000
MS = 1_000_000


def test_starvation_by_hand() -> None:
    # Intervals of 1 s, a fair share of 10 each, T = 2 s: less than 2 in two intervals starves.
    edges = np.arange(11) * S
    received = np.array(
        [
            [5, 0, 5, 5, 5, 5, 5, 5, 5, 5],  # one interval of nothing is 5 in two
            [5, 0, 1, 0, 5, 5, 1, 0, 5, 5],  # 3 s and 2 s
            [0, 1, 0, 1, 0, 1, 0, 1, 0, 1],  # 1 in any two: all of it, in one spell
            [1, 1, 1, 1, 1, 1, 1, 1, 1, 1],  # a tenth is not less than a tenth
        ],
        dtype=np.float64,
    )
    found = starvation(edges, received, np.full(10, 10.0), 2 * S)
    assert found.share.tolist() == pytest.approx([0, 0.5, 1, 0])
    assert found.longest_s.tolist() == [0, 3, 10, 0]


def test_nobody_starves_while_the_link_is_down() -> None:
    edges = np.arange(5) * S
    fair = np.array([10.0, 0, 0, 10])
    found = starvation(edges, np.array([[10.0, 0, 0, 10], [10, 0, 0, 0]]), fair, S)
    assert found.share.tolist() == [0, 0.25]


def test_starvation_of_a_time_shorter_than_t_is_not_known() -> None:
    found = starvation(np.array([0, S]), np.zeros((1, 1)), np.ones(1), 2 * S)
    assert np.isnan(found.share).all()


def test_usual_t() -> None:
    # 40 ms, and 1 MB at 100 Mbit/s for 80 ms: ten times 120 ms. Without a queue to speak of: 1 s.
    assert starved_after_ns(40 * MS, 10**6, 10**8) == 1_200 * MS
    assert starved_after_ns(10 * MS, 1514, 10**8) == S


def test_convergence_by_hand() -> None:
    # 20 s from 10 s on, windows of 2 s. 4 a second until 13 s, then 10: the final mean is 10, and
    # the first window that is within 9 to 11 begins at 13 s.
    edges = np.arange(31) * S
    received = np.where(np.arange(30) < 13, 4.0, 10.0)
    assert convergence_time(edges, received, (10 * S, 30 * S)) == 3.0
    # At once; and out of it again: 8 a second from 16 to 18 s, which is half of the window at 17.
    assert convergence_time(edges, np.full(30, 7.0), (10 * S, 30 * S)) == 0.0
    received[16:18] = 8.0
    assert convergence_time(edges, received, (10 * S, 30 * S)) == 7.0
    # One second of 8.0 in two is 9 in the mean: just within.
    received[16:18] = 8.0, 10.0
    assert convergence_time(edges, received, (10 * S, 30 * S)) == 3.0


def test_what_moves_until_the_end_has_not_converged() -> None:
    edges = np.arange(31) * S
    assert math.isnan(convergence_time(edges, np.arange(30.0), (10 * S, 30 * S)))
    assert math.isnan(convergence_time(edges, np.zeros(30), (10 * S, 30 * S)))


def test_time_to_use_capacity_by_hand() -> None:
    # 10 a second until 5 s, then 100. Windows of 2 s from 5 s on; used: 50 at 5, 80, 90, 95 ...
    edges = np.arange(11) * S
    could = np.where(np.arange(10) < 5, 10.0, 100.0)
    used = np.array([10, 10, 10, 10, 10, 50, 80, 90, 95, 95], dtype=np.float64)
    # From 6 s: 170 of 200; from 7 s: 185 of 200.
    assert time_to_use_capacity(edges, used, could, (5 * S, 10 * S), 2 * S) == 2.0
    assert math.isnan(time_to_use_capacity(edges, used / 2, could, (5 * S, 10 * S), 2 * S))


def test_time_to_fairness_by_hand() -> None:
    # The second flow begins at 2 s. In windows of 2 s it has 3 of the first one's 20 from then on,
    # 6 from 3 s and 10 from 4 s.
    edges = np.arange(11) * S
    rising = [0, 0, 1, 2, 4, 6, 8, 10, 10, 10]
    received = np.array([[10] * 10, rising], dtype=np.float64)
    assert time_to_fairness(edges, received, 2 * S, 2 * S) == 2.0
    # A window of 1 s would say 3 s; one of 9 s does not fit.
    assert time_to_fairness(edges, received, 2 * S, S) == 3.0
    assert math.isnan(time_to_fairness(edges, received, 2 * S, 9 * S))
    # A third flow that stays at 4 is never fair; nor are flows that all stand still.
    third = np.vstack((received, np.full(10, 4.0)))
    assert math.isnan(time_to_fairness(edges, third, 2 * S, 2 * S))
    assert math.isnan(time_to_fairness(edges, np.zeros((2, 10)), 0, 2 * S))


def test_time_to_fairness_of_a_trial() -> None:
    """It counts from the last flow's first byte; flows without data to send are not held to it."""
    # Base RTTs of 80 ms: windows of 2 s.
    received = np.array([[10.0] * 10, [0, 0, 1, 2, 4, 6, 8, 10, 10, 10], [0, 1] + [0] * 8])
    more = {
        "goodput": Goodput(np.arange(1, 11) * S, received, S), "strategy": ("cubic", "bbr", "bbr"),
        "group": np.array([0, 0, 0]), "base_rtt_ns": np.full(3, 80 * MS),
        "always_sends": np.array([True, True, False]),
    }  # fmt: skip
    compute = METRICS["time_to_fairness"].compute
    assert compute(stepped(**more)) == 2.0
    with pytest.raises(NotMeasuredError, match="fewer than two flows"):
        compute(stepped())
    received[1] = 0.0
    with pytest.raises(NotMeasuredError, match="one of them had nothing"):
        compute(stepped(**more))


STEP = PathChange(5 * S, "10 to 100 Mbit/s", 100_000_000, 10_000_000)


def test_capacity_of_a_path_that_changes() -> None:
    down = PathChange(8 * S, "down", 0, 100_000_000)
    course = steps(10_000_000, (STEP, down), 10 * S)
    bits = course.capacity_bits(np.array([0, 4 * S, 6 * S, 8 * S, 10 * S]))
    assert bits.tolist() == pytest.approx([40e6, 110e6, 200e6, 0])
    assert [(c.text, end) for c, end in course.segments(10 * S)] == [
        ("10 to 100 Mbit/s", 8 * S), ("down", 10 * S),
    ]  # fmt: skip
    assert steps(10_000_000, (), 10 * S).segments(10 * S) == []
    assert course.rate_varies
    longer = PathChange(10 * S, "base RTT 80 ms", 10_000_000, 10_000_000)
    assert not steps(10_000_000, (longer,), 10 * S).rate_varies


def stepped(**more) -> TrialData:
    """A flow that has 8 Mbit/s until 5 s, 50 until 7 s, and 95 until 25 s."""
    rate = np.array([8.0] * 50 + [50.0] * 20 + [95.0] * 180) * 1e6
    goodput = Goodput(np.arange(1, 251) * S // 10, rate[None, :] / 80, S // 10)
    left = np.repeat(rate, 10) / 100
    queue = QueueTotals(**dict.fromkeys(QueueTotals.__dataclass_fields__) | {"departed_bits": left})
    usual = {
        "window_ns": (S, 25 * S), "spans_ns": None, "rate_bps": 10_000_000,
        "buffer_bytes": 100_000, "overhead_bytes": 0, "strategy": ("cubic",),
        "group": np.array([0]), "base_rtt_ns": np.array([40 * MS]), "goodput": goodput,
        "queue": queue, "samples": None, "course": steps(10_000_000, (STEP,), 25 * S),
    }  # fmt: skip
    return TrialData(**(usual | more))


def test_responses_of_a_trial() -> None:
    # The final mean is 95; windows of 2 s. From 6.8 s on they have 0.2 s of 50 at most: 90.5.
    # From 6.78 s on 90 % of 100 are used in 400 ms: 50 x + 95 (0.4 - x) >= 36, x <= 0.044.
    (found,) = responses_of(stepped())
    assert found.convergence_s == {(0, "cubic"): pytest.approx(1.6)}
    assert found.use_s == pytest.approx(1.96)
    assert found.length_ns == 20 * S


def test_metrics_of_changes() -> None:
    data = stepped()
    assert np.asarray(METRICS["convergence_time"].compute(data)).tolist() == pytest.approx([1.6])
    assert METRICS["time_to_use_capacity"].compute(data) == pytest.approx(1.96)
    for course in (None, steps(10_000_000, (), 25 * S)):
        for name in ("convergence_time", "time_to_use_capacity"):
            with pytest.raises(NotMeasuredError, match="does not change"):
                METRICS[name].compute(stepped(course=course))


def test_the_fair_share_follows_the_capacity() -> None:
    # 8 of 10 and 95 of 100 Mbit/s are no starvation; of two flows the one without anything starves.
    assert np.asarray(METRICS["starved_share"].compute(stepped())).tolist() == [0.0]
    plain = stepped()
    assert plain.goodput is not None
    bytes_ = np.vstack((plain.goodput.bytes, np.zeros(250)))
    two = stepped(
        goodput=Goodput(plain.goodput.t_ns, bytes_, S // 10), strategy=("cubic", "bbr"),
        group=np.array([0, 0]), base_rtt_ns=np.array([40, 40]) * MS,
    )  # fmt: skip
    assert np.asarray(METRICS["starved_share"].compute(two)).tolist() == [0.0, 1.0]
    assert np.asarray(METRICS["longest_starvation"].compute(two)).tolist() == [0.0, 24.0]
    # What does not always have data to send is not judged, and has no share of its own.
    paused = stepped(**{**vars(two), "always_sends": np.array([True, False])})
    assert np.isnan(np.asarray(METRICS["starved_share"].compute(paused))[1])


def test_what_leaves_over_time() -> None:
    # 1000 B + 24 B each, which leave at 0, 9, 10 and 25 ms; the window ends at 20 ms.
    cards = {
        "kind": np.array([0, 0, 0, 0, 1]), "flow": np.zeros(5, np.int64),
        "packet_bytes": np.full(5, 1000), "enqueue_ns": np.zeros(5, np.int64),
        "dequeue_ns": np.array([0, 9, 10, 25, 1]) * MS, "marks": np.full(5, np.nan),
    }  # fmt: skip
    link = Link((0, 20 * MS), 8_000_000, 24, over_time=True)
    found = sum_postcards([cards, cards], 1, link).departed_bits
    assert found is not None
    assert found.tolist() == [4 * 1024 * 8, 2 * 1024 * 8]
    assert sum_postcards([cards], 1, Link((0, 20 * MS), 8_000_000, 24)).departed_bits is None
    bins = {
        "bin_start_ns": np.array([0, 10, 20]) * MS, "flow": np.zeros(3, np.int64),
        "departed_bytes": np.array([2000, 1000, 1000]), "departed_packets": np.array([2, 1, 1]),
        "dropped_packets": np.zeros(3), "dropped_bytes": np.zeros(3),
        "occupancy_bytes_mean": np.zeros(3), "qdelay_mean_ns": np.zeros(3),
        "marked_packets": np.full(3, np.nan),
    }  # fmt: skip
    by_bins = sum_bins([bins], 1, link, 10 * MS).departed_bits
    assert by_bins is not None
    assert by_bins.tolist() == [2 * 1024 * 8, 1024 * 8]
