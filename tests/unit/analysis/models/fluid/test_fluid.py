"""The fluid model of CUBIC and BBRv1: what must hold exactly, and what is known of them."""

import ctypes
import math
from dataclasses import replace
from statistics import mean, median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.models import MODELS, Competition, FlowKind, ModelError, cubic_against
from nashbed.analysis.models.fluid import (
    FITTED,
    Outcome,
    ccas,
    model,
    native,
    simulate,
)
from nashbed.analysis.models.starts import Starts
from nashbed.controlplane.contract.units import PACKET_BYTES

MBIT = 1e6
EXPERIMENT_1 = {
    1: (35.6, 6.7),
    2: (24.8, 5.7),
    3: (19.7, 5.1),
    4: (15.8, 5.3),
    5: (13.5, 5.4),
    6: (12.2, 5.5),
    7: (10.4, 7.5),
    8: (8.8, 12.4),
    9: (7.9, 23.5),
}
"""Srivastava 2023, experiment 1: BBR flows -> Mbit/s of one (BBR, CUBIC) flow, as published."""


def deep(bbr: int, second: str = "bbr", duration_s: float = 120.0) -> Competition:
    """100 Mbit/s, 40 ms, 50 BDP, 50 flows."""
    size = 50 * 100 * MBIT * 0.04 / 8
    return cubic_against(100 * MBIT, 0.04, size, 50 - bbr, bbr, second, duration_s)


def alone(cca: str, flows: int, buffer_bdp: float, base_rtt_s: float = 0.04) -> Competition:
    size = buffer_bdp * 100 * MBIT * base_rtt_s / 8
    return Competition(100 * MBIT, size, (FlowKind(cca, flows, base_rtt_s),))


def run(competition: Competition, seed: int = 1, bin_s: float = 1.0) -> Outcome:
    return simulate(competition, seed, FITTED, bin_s)


kinds = st.builds(
    FlowKind,
    st.sampled_from(["cubic", "bbr"]),
    st.integers(1, 60),
    st.floats(0.001, 0.3),
    st.floats(0, 5),
    st.floats(0, 2),
    st.sampled_from([math.inf, 20 * PACKET_BYTES, 3e6]),
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    rate_mbps=st.floats(1, 1000),
    buffer_ms=st.floats(0.5, 3000),
    flows=st.lists(kinds, min_size=1, max_size=4),
    seed=st.integers(0, 2**63),
)
def test_whatever_is_asked(rate_mbps, buffer_ms, flows, seed) -> None:
    """Nothing is made, nothing gets lost but in the queue, nothing leaves faster than the rate."""
    rate = rate_mbps * MBIT
    size = max(3 * PACKET_BYTES, rate * buffer_ms / 8e3)
    out = run(Competition(rate, size, tuple(flows), duration_s=12, measured_from_s=6), seed)
    assert np.isfinite(out.throughput_bps).all()
    assert (out.throughput_bps >= 0).all()
    assert 0 <= out.utilisation <= 1 + 1e-9
    assert ((out.loss >= 0) & (out.loss < 1)).all()
    assert 0 <= out.queueing_delay_s <= size * 8 / rate + 1e-9
    assert out.throughput_bps.sum() == pytest.approx(out.utilisation * rate, rel=1e-2, abs=1)
    course = out.course.departed_bytes
    assert course.shape == (12, len(flows))
    assert (out.min_rtt_s[out.throughput_bps > 0] > 0.0009).all()
    assert (course.sum(axis=1) <= (1 + 1e-2) * rate / 8).all()
    measured = course[6:].sum(axis=0) * 8 / 6
    assert out.throughput_bps == pytest.approx(measured, rel=2e-2, abs=rate * 1e-3)


def test_bbr_alone_keeps_the_queue_below_a_bdp_and_the_base_rtt() -> None:
    """Its limit in flight is 2 BDP, and ProbeRTT empties the queue."""
    out = run(alone("bbr", 4, 20))
    assert out.queueing_delay_s < 0.05
    assert out.min_rtt_s[0] == pytest.approx(0.04, abs=0.004)
    assert out.loss[0] < 0.01


def test_cubic_alone_fills_the_buffer() -> None:
    out = run(alone("cubic", 4, 4))
    assert 0.08 < out.queueing_delay_s < 0.16
    assert 0 < out.losing[0] <= 1


@pytest.mark.slow
def test_a_short_base_rtt_helps_cubic_and_a_long_one_bbr() -> None:
    """Mishra 2022, figure 10: at the equilibrium CUBIC is on the shortest base RTTs."""
    ratio = {}
    for cca in ("cubic", "bbr"):
        flows = tuple(FlowKind(cca, 10, rtt) for rtt in (0.01, 0.05))
        asked = Competition(100 * MBIT, 2e6, flows, 120, 20)
        got = np.sum([run(asked, seed).throughput_bps for seed in range(6)], axis=0)
        ratio[cca] = got[0] / got[1]
    assert ratio["cubic"] > 1.05
    assert ratio["bbr"] < 0.5


def test_who_starts_first_keeps_the_lead_in_a_deep_buffer() -> None:
    first = MODELS["fluid"].predict(deep(20).started(Starts(5.0, 0.0, 0.1), 20.0))
    late = MODELS["fluid"].predict(deep(20).started(Starts(0.0, 5.0, 0.1), 20.0))
    assert first.share_range[0] > late.share_range[1]


def test_deep_buffers_are_a_transient() -> None:
    """BBR collapses in its first 10 s and takes minutes to recover."""
    course = run(deep(10, duration_s=600.0)).course.departed_bytes
    share = course[:, 1] / course.sum(axis=1)
    assert share[20:70].mean() < 0.15
    assert share[400:600].mean() > 2 * share[20:70].mean()


def test_windows_limit_what_is_in_flight() -> None:
    flows = (FlowKind("cubic", 2, 0.1, window_bytes=10 * PACKET_BYTES),)
    out = run(Competition(100 * MBIT, 1e6, flows, 20, 10))
    assert out.throughput_bps[0] == pytest.approx(2 * 10 * PACKET_BYTES * 8 / 0.1, rel=0.02)
    assert out.queueing_delay_s < 0.001


def test_experiment_1_which_was_not_fitted() -> None:
    """Ten flows at 2 BDP, published as one trial each; the constants are of fifty flows."""
    off = []
    for bbr, (of_bbr, of_cubic) in EXPERIMENT_1.items():
        share = bbr * of_bbr / (bbr * of_bbr + (10 - bbr) * of_cubic)
        asked = cubic_against(100 * MBIT, 0.04, 1e6, cubic=10 - bbr, others=bbr, duration_s=200.0)
        answer = MODELS["fluid"].predict(asked)
        off.append(abs(answer.share - share))
        assert 0.06 < answer.inner["queueing_delay_s"] < 0.072
    assert max(off) < 0.1
    assert median(off) < 0.03


def test_a_prediction_is_the_mean_of_its_seeds() -> None:
    asked = deep(25)
    shares = [run(asked, seed).share_of("bbr") for seed in model.SEEDS]
    answer = MODELS["fluid"].predict(asked)
    assert answer.share == pytest.approx(mean(shares))
    assert answer.share_range == (min(shares), max(shares))
    assert answer.status == "valid"


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(ModelError, match="reno: the fluid model knows cubic, bbr"):
        run(alone("reno", 1, 1))
    with pytest.raises(ModelError, match="17 kinds of flows; give 1 to 16"):
        run(replace(alone("cubic", 1, 1), kinds=(FlowKind("cubic", 1, 0.04),) * 17))
    with pytest.raises(ModelError, match="0 cubic flows; give at least 1"):
        run(deep(50))
    with pytest.raises(ModelError, match="no flow competes; give at least one"):
        alone("cubic", 0, 1)
    with pytest.raises(ModelError, match="base_rtt_s is -1"):
        FlowKind("cubic", 1, -1)
    with pytest.raises(ModelError, match="shorter time"):
        run(replace(alone("cubic", 1, 1), duration_s=1e8), bin_s=1e8)


def test_a_library_of_another_version_is_refused(monkeypatch) -> None:
    real = ctypes.sizeof
    monkeypatch.setattr(native.ctypes, "sizeof", lambda kind: real(kind) - 8)
    with pytest.raises(ModelError, match="another version; run `make build`"):
        run(alone("cubic", 1, 1))


def test_without_the_library_the_model_says_how_to_build_it(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(native, "LIBRARY", tmp_path / "none.so")
    native.library.cache_clear()
    try:
        answer = model.simulated.__wrapped__(deep(10))
        assert answer.share is None
        assert "run `make build`" in answer.refusals[0]
    finally:
        native.library.cache_clear()
    assert {"cubic", "bbr"} <= set(ccas())
