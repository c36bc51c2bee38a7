"""What is read of a control that tells its mode: hand-made samples of one flow, every 10 ms."""

from typing import Any

import numpy as np
import pytest
from nashbed.analysis.metrics.modes import told_by
from nashbed.controlplane.contract.battery import BatteryReading

MS = 10**6
STARTUP, DRAIN, DOWN, CRUISE, UP = 1, 2, 3, 4, 6
MODES = [STARTUP] * 3 + [DRAIN] * 2 + [DOWN, CRUISE, CRUISE, UP, UP, UP, DOWN, CRUISE]


def samples(modes: list[float]) -> dict[str, np.ndarray]:
    numbers = np.arange(len(modes))
    return {
        "t_ns": numbers * 10 * MS,
        "bbr_mode": np.array(modes, float),
        "bbr_pacing_gain": np.where(np.array(modes) == UP, 1.25, 1.0),
        "bbr_cwnd_gain": np.full(len(modes), 2.0),
        "bbr_bw_bps": numbers * 1e6,
        "cwnd_pkts": 10 + numbers,
        "mss": np.full(len(modes), 1448),
        "inflight_bytes": 1000 * numbers,
    }


def told(modes: list[float] = MODES, **reading: Any) -> float:
    return told_by(BatteryReading.model_validate(reading), samples(modes))


@pytest.mark.parametrize(
    ("metric", "mode", "after", "value"),
    [
        # It is in Startup at the first sample, and so does not enter it.
        ("mode_entries", "Startup", None, 0),
        ("longest_in_mode", "Startup", None, 0.03),
        ("mode_entries", "ProbeBW down", None, 2),
        ("mode_entries", "ProbeBW down", "ProbeBW up", 1),
        ("first_mode_entry", "ProbeBW down", None, 0.05),
        ("first_mode_entry", "ProbeBW down", "ProbeBW up", 0.11),
        ("longest_in_mode", "ProbeBW cruise", None, 0.02),
        # The last one had not ended.
        ("shortest_in_mode", "ProbeBW cruise", None, 0.02),
        ("shortest_in_mode", "ProbeBW down", None, 0.01),
        ("mode_entries", "ProbeRTT", None, 0),
        ("longest_in_mode", "ProbeRTT", None, 0),
        ("most_pacing_gain", "ProbeBW up", None, 1.25),
        ("most_pacing_gain", "ProbeBW down", None, 1),
        ("least_bandwidth_estimate", "ProbeBW down", "ProbeBW up", 11e6),
        ("least_cwnd", "Drain", None, 13 * 1448),
        ("most_inflight", None, None, 12_000),
    ],
)
def test_what_is_told(metric: str, mode: str | None, after: str | None, value: float) -> None:
    assert told(metric=metric, mode=mode, after=after) == pytest.approx(value)


def test_what_is_not_told_is_not_known() -> None:
    never = {"mode": "ProbeRTT"}
    assert np.isnan(told(metric="first_mode_entry", **never))
    assert np.isnan(told(metric="shortest_in_mode", **never))
    assert np.isnan(told(metric="least_cwnd", **never))
    assert np.isnan(told([float("nan")] * 3, metric="mode_entries", mode="Drain"))
    assert np.isnan(told([], metric="mode_entries", mode="Drain"))


@pytest.mark.parametrize(
    ("reading", "says"),
    [
        ({"metric": "mode_entries"}, "mode: a bound on mode_entries needs it"),
        ({"metric": "most_cwnd", "after": "Drain"}, "after: a mode comes after it"),
        ({"metric": "loss_rate", "mode": "Drain"}, "mode: a bound on loss_rate has none"),
        ({"metric": "crossing"}, "crossing is of a whole run"),
    ],
)
def test_a_reading_that_makes_no_sense(reading: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        BatteryReading.model_validate(reading)
