"""What senders tell of themselves: their states, and views that lose no peak."""

from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.explore.samples import (
    NO_THRESHOLD,
    SERIES,
    STATES,
    Samples,
    epochs_of,
    read_samples,
    states_of,
)
from nashbed.controlplane.store.sealed_trial import open_trial
from tests.support.synthetic_run import write_table


def state(strategy: str, **told: float) -> str:
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


def epochs(strategy: str, *samples: tuple[int, int, int]) -> list[int]:
    """Epochs of one flow's samples: window, threshold, TCP's state."""
    window, threshold, ca = np.array(samples).T
    table = {"flow": np.zeros(len(window), int), "cwnd_pkts": window, "ssthresh_pkts": threshold,
             "ca_state": ca}  # fmt: skip
    return epochs_of(table, np.array([strategy] * len(window))).tolist()


def test_an_epoch_lasts_from_one_reduction_to_the_next() -> None:
    told = [
        (10, NO_THRESHOLD, 0), (80, NO_THRESHOLD, 0),
        (70, 56, 3), (56, 56, 3), (60, 56, 0),  # recovery: one reduction, however long it takes
        (50, 42, 0), (55, 42, 0),  # a new threshold alone: recovery came and went between samples
        (50, 38, 2), (38, 38, 0),  # CWR: a mark
        (2, 38, 4), (20, 38, 0),  # a timeout that found the threshold as it was
    ]  # fmt: skip
    assert epochs("cubic", *told) == [0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 4]
    assert epochs("bbr", *told) == [-1] * len(told)
    assert epochs("bbr3", *told) == [-1] * len(told)


def test_a_threshold_that_rises_above_the_window_is_no_reduction() -> None:
    """The kernel takes a reduction back that was for nothing."""
    assert epochs("reno", (56, 56, 0), (70, 90, 0), (95, 90, 0)) == [0, 0, 0]


def test_epochs_take_turns_in_the_bands(run_copy: Path) -> None:
    trial = sorted((run_copy / "trials").iterdir())[2]
    table = open_trial(trial).arrays("flow_samples")
    third = table["t_ns"] // 2_000_000_000  # of 6 s
    window, threshold = np.full(len(third), 100), 90 - 10 * third
    columns = {n: v for n, v in table.items() if not n.startswith("bbr_")}
    write_table(trial, "flow_samples", columns | {"cwnd_pkts": window, "ssthresh_pkts": threshold})
    samples = read_samples(open_trial(trial))
    assert samples is not None
    ticks = samples.t_ns // 2_000_000_000
    assert samples.epoch[0].tolist() == ticks.tolist()
    names = [STATES[code] for code in samples.state[0]]
    assert names == [("open", "next epoch")[tick % 2] for tick in ticks]
    assert set(samples.epoch[3]) == {-1}  # BBR
    assert {STATES[code] for code in samples.state[3]} == {"open"}


def ramps(ticks: int) -> Samples:
    t_ns = np.arange(ticks) * 50_000_000
    values = np.tile(np.arange(ticks, dtype=float), (2, 1))
    values[1, ticks // 2] = 1e9
    states = np.zeros((2, ticks), np.int8)
    states[0, ticks // 9] = STATES.index("ProbeRTT")
    return Samples(t_ns, dict.fromkeys(SERIES, values), states, np.full((2, ticks), -1, np.int32))


def test_a_wide_view_keeps_peaks_rare_states_and_what_adds_up() -> None:
    whole = ramps(1001)
    part = whole.within(0, 10**12, 50)
    assert len(part.t_ns) == part.state.shape[1] == part.series["cwnd"].shape[1] <= 50
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
    part = samples.within(0, 10**12, 60)
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
