"""Metrics of finite transfers, media and harm against cases computed by hand."""

import dataclasses
import math
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.align.data import Datagrams, Transfers, TrialData
from nashbed.analysis.metrics import METRICS
from nashbed.analysis.metrics.completion import (
    CLASS_NAMES,
    IdealPath,
    completion_time,
    completions_of,
    ideal_time,
    mean_of_completed,
    needs_handshake,
    percentile,
    size_class,
)
from nashbed.analysis.metrics.harm import harm_of_less, harm_of_more
from nashbed.analysis.metrics.media import lost_share, one_way_delays

S = 1_000_000_000
MS = 1_000_000


def trial(**more) -> TrialData:
    """Two flows at 12.112 Mbit/s, on which a full frame takes 1 ms, and 40 ms."""
    usual = {
        "window_ns": (0, 10 * S), "spans_ns": None, "rate_bps": 12_112_000, "buffer_bytes": 60_000,
        "overhead_bytes": 0, "strategy": ("cubic", "bbr"), "group": np.array([0, 0]),
        "base_rtt_ns": np.array([40, 40]) * MS, "goodput": None, "queue": None, "samples": None,
    }  # fmt: skip
    return TrialData(**(usual | more))


def test_completion_time() -> None:
    found = completion_time(np.array([S, 2 * S]), np.array([1.5 * S, np.nan]))
    assert found.tolist() == [0.5, math.inf]


def test_the_completion_time_of_a_flow() -> None:
    """Flow 1 carried two transfers, of 1 and 3 s; flow 0 sends until the end."""
    own = dataclasses.replace(
        TRANSFERS,
        flow=np.array([1, 1]),
        arrival_ns=np.array([0, 5 * S]),
        completed_ns=np.array([1.0 * S, 8.0 * S]),
    )
    found = METRICS["completion_time"].compute(trial(transfers=own))
    assert np.isnan(found[0])
    assert found[1] == 2


def ideal(size: int, handshake: bool, rate_bps: int = 12_112_000, rtt_ms: int = 40) -> float:
    path = IdealPath(rate_bps)
    of = np.array([size]), np.array([rtt_ms * MS]), np.array([handshake])
    return float(ideal_time(*of, path)[0])


def test_ideal_time_by_hand() -> None:
    # A frame of 1514 B takes 1 ms, and the first ACK comes 41 ms after a round began.
    # One segment: half a round trip and 1 ms; with a handshake 40 ms more.
    assert ideal(1448, handshake=False) == pytest.approx(0.021)
    assert ideal(1448, handshake=True) == pytest.approx(0.061)
    # A byte more is a second segment, of 67 B on the wire: 67 x 8 / 12112000 s.
    assert ideal(1449, handshake=False) == pytest.approx(0.021 + 67 * 8 / 12_112_000)
    # 10 segments are one window: 20 + 10 ms. 11 need a second round: 20 + 41 + 1.
    assert ideal(14_480, handshake=False) == pytest.approx(0.030)
    assert ideal(11 * 1448, handshake=False) == pytest.approx(0.062)
    # Windows 10, 20, 40: the third is 40 ms long, one short of 41, so the fourth fills the pipe.
    # 100 segments: 3 rounds send 70, the rest of 30 follows without a pause.
    assert ideal(100 * 1448, handshake=False) == pytest.approx(0.020 + 3 * 0.041 + 0.030)
    # 1000: 3 rounds, and 930 at the rate.
    assert ideal(1000 * 1448, handshake=True) == pytest.approx(0.060 + 3 * 0.041 + 0.930)


def test_ideal_time_counts_the_overhead() -> None:
    # 1514 + 24 B at 12.304 Mbit/s: again 1 ms.
    path = IdealPath(12_304_000, 24)
    found = ideal_time(np.array([1448]), np.array([40 * MS]), np.array([False]), path)
    assert found.tolist() == pytest.approx([0.021])


def sent_one_by_one(size: int, rtt_s: float, frame_s: float, header_s: float) -> float:
    """The ideal, segment by segment: each ACK allows two more segments, the link sends in turn."""
    payload = [1448] * (size // 1448) + ([size % 1448] if size % 1448 else [])
    may_send, free, last = [0.0] * 10, 0.0, 0.0
    for number, amount in zip(count(), payload):
        wire = amount * (frame_s - header_s) / 1448 + header_s
        free = max(free, may_send[number]) + wire
        may_send += [free + rtt_s] * 2
        last = free
    return rtt_s / 2 + last


@given(st.integers(1, 3_000_000), st.integers(100_000, 10**9), st.integers(1, 300))
def test_ideal_time_is_that_of_a_plain_model(size: int, rate_bps: int, rtt_ms: int) -> None:
    found = ideal(size, handshake=False, rate_bps=rate_bps, rtt_ms=rtt_ms)
    frame_s, header_s = 1514 * 8 / rate_bps, 66 * 8 / rate_bps
    assert found == pytest.approx(sent_one_by_one(size, rtt_ms / 1e3, frame_s, header_s), rel=1e-9)


def test_handshakes_are_of_each_connections_first_transfer() -> None:
    found = needs_handshake(np.array([3, 3, 5, 3]), np.array([20, 10, 5, 30]))
    assert found.tolist() == [False, True, True, False]


def test_percentiles_of_what_was_not_completed_are_not_known() -> None:
    values = np.array([4.0, 1.0, np.inf, 3.0, 2.0])
    assert percentile(values, 0.5) == 3.0
    assert percentile(values, 0.8) == 4.0
    assert math.isnan(percentile(values, 0.81))
    assert math.isnan(percentile(np.empty(0), 0.5))
    assert mean_of_completed(values) == 2.5
    assert math.isnan(mean_of_completed(np.array([np.inf])))


def test_size_classes_have_their_upper_limits() -> None:
    found = size_class(np.array([1, 10_000, 10_001, 100_000, 1_000_000, 1_000_001]))
    assert found.tolist() == [0, 0, 1, 1, 2, 3]
    assert len(CLASS_NAMES) == 4


TRANSFERS = Transfers(
    flow=np.array([0, 1, 1, 0]),
    arrival_ns=np.array([1, 2, 3, 11]) * S,
    start_ns=np.array([1, 2, 3, 11]) * S,
    size_bytes=np.array([1448, 1448, 1448, 1448]),
    completed_ns=np.array([1 * S + 122 * MS, 2 * S + 61 * MS, np.nan, 11 * S + MS]),
)


def test_transfers_of_a_trial() -> None:
    # The last one arrives after the window. The first takes 122 ms in place of 61, the second 61.
    data = trial(transfers=TRANSFERS)
    found = completions_of(data)
    assert found.flow.tolist() == [0, 1, 1]
    assert found.slowdown is not None
    assert found.slowdown.tolist() == pytest.approx([2.0, 1.0, math.inf])
    ours = ("flow_completion_time", "slowdown", "unfinished_transfers")
    value = {n: m.compute(data) for n, m in METRICS.items() if n.endswith(ours)}
    assert value["flow_completion_time"] == pytest.approx((0.122 + 0.061) / 2)
    assert value["median_flow_completion_time"] == pytest.approx(0.122)
    assert math.isnan(value["p95_flow_completion_time"])
    assert value["slowdown"] == pytest.approx(1.5)
    assert value["median_slowdown"] == pytest.approx(2.0)
    assert value["unfinished_transfers"] == pytest.approx(1 / 3)


def test_media() -> None:
    # 20, 30, nothing, 50 ms; the last is sent after the window.
    sent = np.array([0, 20, 40, 60, 10_000]) * MS
    arrived = np.array([20, 50, np.nan, 110, 10_001]) * MS
    delays = one_way_delays(sent, arrived)
    assert delays[:2].tolist() == [0.02, 0.03]
    assert lost_share(delays) == pytest.approx(0.2)
    data = trial(datagrams=Datagrams(np.full(5, 1), sent, arrived))
    values = {name: np.asarray(METRICS[name].compute(data)) for name in METRICS
              if "one_way_delay" in name or name == "datagram_loss_rate"}  # fmt: skip
    assert values["one_way_delay"][1] == pytest.approx(0.1 / 3)
    assert values["median_one_way_delay"][1] == pytest.approx(0.03)
    assert values["p95_one_way_delay"][1] == pytest.approx(0.05)
    assert values["datagram_loss_rate"][1] == 0.25
    assert all(math.isnan(each[0]) for each in values.values())


def test_harm() -> None:
    # 10 Mbit/s alone, 4 beside: 60 %. 20 ms alone, 80 beside: 75 %.
    assert harm_of_more(10.0, 4.0) == 0.6
    assert harm_of_less(20.0, 80.0) == 0.75
    # None at all; a benefit; no loss in either; nothing to lose.
    assert harm_of_more(10.0, 10.0) == harm_of_less(20.0, 20.0) == 0.0
    assert harm_of_more(10.0, 12.0) == pytest.approx(-0.2)
    assert harm_of_less(0.0, 0.0) == 0.0
    assert harm_of_less(0.0, 0.01) == 1.0
    assert math.isnan(harm_of_more(0.0, 1.0))
