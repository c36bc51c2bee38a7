"""What senders tell of themselves: their states, and views that lose no peak."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.explore.samples import (
    NO_THRESHOLD,
    SERIES,
    STATES,
    Samples,
    read_samples,
    states_of,
)
from nashbed.controlplane.store.sealed_trial import open_trial


def state(strategy: str, **told: float) -> str:
    """The state of one sample."""
    usual = {
        "ca_state": 0, "has_bbr": 0, "cwnd_pkts": 100, "ssthresh_pkts": 50, "bbr_pacing_gain": 1.0,
        "bbr_mode": np.nan,
    }  # fmt: skip
    table = {name: np.array([value]) for name, value in (usual | told).items()}
    return STATES[states_of(table, np.array([strategy]))[0]]


@pytest.mark.parametrize(
    ("strategy", "told", "expected"),
    [
        ("cubic", {}, "open"),
        ("cubic", {"ssthresh_pkts": NO_THRESHOLD}, "slow start"),
        ("cubic", {"ssthresh_pkts": 200}, "slow start"),
        ("cubic", {"ca_state": 1}, "disorder"),
        ("cubic", {"ca_state": 3}, "recovery"),
        ("cubic", {"ca_state": 4}, "loss"),
        ("bbr", {"has_bbr": 1, "bbr_pacing_gain": 2.89}, "startup"),
        ("bbr", {"has_bbr": 1, "bbr_pacing_gain": 0.35}, "drain"),
        ("bbr", {"has_bbr": 1, "bbr_pacing_gain": 1.25}, "up"),
        ("bbr", {"has_bbr": 1, "bbr_pacing_gain": 0.75}, "down"),
        ("bbr", {"has_bbr": 1}, "cruise"),
        ("bbr", {"has_bbr": 1, "cwnd_pkts": 4}, "ProbeRTT"),
        ("bbr", {"has_bbr": 1, "bbr_pacing_gain": 1.25, "ca_state": 3}, "recovery"),
        ("bbr3", {"has_bbr": 1, "bbr_mode": 7}, "ProbeRTT"),
        ("bbr3", {"has_bbr": 1, "bbr_mode": 5}, "refill"),
        ("copa", {"has_bbr": 1, "bbr_mode": 2}, "open"),
    ],
)
def test_states(strategy: str, told: dict[str, float], expected: str) -> None:
    assert state(strategy, **told) == expected


def ramps(ticks: int) -> Samples:
    t_ns = np.arange(ticks) * 50_000_000
    values = np.tile(np.arange(ticks, dtype=float), (2, 1))
    values[1, ticks // 2] = 1e9
    states = np.zeros((2, ticks), np.int8)
    states[0, ticks // 9] = STATES.index("ProbeRTT")
    return Samples(t_ns, dict.fromkeys(SERIES, values), states)


def test_a_wide_view_keeps_peaks_rare_states_and_what_adds_up() -> None:
    whole = ramps(1001)
    part = whole.within(0, 10**12, 50)
    assert len(part.t_ns) == part.state.shape[1] == part.series["cwnd"].shape[1] <= 100
    assert np.all(np.diff(part.t_ns) >= 0)
    assert part.series["cwnd"][1].max() == 1e9
    assert part.series["cwnd"][0].min() == 0
    assert STATES.index("ProbeRTT") in part.state[0]
    assert part.series["retransmitted"].sum() == whole.series["retransmitted"].sum()


def test_a_narrow_view_has_every_sample_and_one_more_on_either_side() -> None:
    part = ramps(1001).within(10 * 50_000_000, 20 * 50_000_000, 1000)
    assert (part.t_ns // 50_000_000).tolist() == list(range(9, 21))


def test_gaps_stay_gaps() -> None:
    samples = ramps(90)
    samples.series["cwnd"][0, 30:60] = np.nan
    part = samples.within(0, 10**12, 30)
    assert np.isnan(part.series["cwnd"][0]).sum() == 20


def test_samples_of_a_trial_are_on_common_ticks(whole_run: Path) -> None:
    trial = open_trial(sorted((whole_run / "trials").iterdir())[2])
    samples = read_samples(trial)
    assert samples is not None
    table = trial.arrays("flow_samples")
    assert samples.t_ns.tolist() == np.unique(table["t_ns"]).tolist()
    mine = table["flow"] == 1
    assert samples.series["srtt"][1].tolist() == (table["srtt_us"][mine] / 1e6).tolist()
    sent_again = table["bytes_retrans"][mine]
    assert samples.series["retransmitted"][1].sum() == sent_again[-1] - sent_again[0]


def test_a_trial_without_samples_has_none(run_copy: Path) -> None:
    path = sorted((run_copy / "trials").iterdir())[0]
    (path / "flow_samples.parquet").unlink()
    assert read_samples(open_trial(path)) is None
