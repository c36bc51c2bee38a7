"""The shipped CCAs as modules of a guest's kernel: what each tells of itself.

One flow alone at 20 Mbit/s, 20 ms, 2 BDP. Virtual time, so that the same numbers come out
everywhere.
"""

from itertools import pairwise

import numpy as np
import pytest
from nashbed.analysis.measures import measure_run
from tests.e2e.conftest import Nashbed, records, table
from tests.e2e.test_virtual import S

pytestmark = [pytest.mark.virtual, pytest.mark.slow, pytest.mark.usefixtures("guests_place")]

RATE_BPS, RTT_S, FRAME_BYTES = 20e6, 0.02, 1514
BDP = RATE_BPS * RTT_S / 8 / FRAME_BYTES
"""In segments."""
LEAST_SHARE = 0.9
DOWN, CRUISE, UP, PROBE_RTT = 3, 4, 6, 7
"""Modes of BBR (hosts/cc/README.md)."""

Samples = dict[str, np.ndarray]


def alone(tool: Nashbed, cca: str) -> Samples:
    """The samples of a flow, after it has filled its link; from the first second on."""
    scenario = tool.scenario(
        "telemetry: {tcp_info: 10ms}", rate="20mbit", rtt="20ms", duration="24s", warmup="4s",
        count=1, mixes="[1]",
    )  # fmt: skip
    scenario.write_text(scenario.read_text().replace("[cubic, bbr]", f"[cubic, {cca}]"))
    run_dir = tool.run(scenario, "virtual")
    ((name, record),) = records(run_dir).items()
    assert record["valid"]
    (trial,) = measure_run(run_dir).trials
    assert trial.total["utilisation"] >= LEAST_SHARE
    samples = table(run_dir, name, "flow_samples")
    later = samples["t_ns"] > S
    return {column: values[later] for column, values in samples.items()}


def starts_of(samples: Samples, mode: int) -> list[float]:
    """When the flow entered a mode, in seconds."""
    inside = samples["bbr_mode"] == mode
    entered = inside & ~np.concatenate([[False], inside[:-1]])
    return [float(t) / S for t in samples["t_ns"][entered]]


@pytest.mark.parametrize(
    ("cca", "down", "up"),
    [pytest.param("bbr2", 0.91, 2.25, marks=pytest.mark.long), ("bbr3", 0.9, 2.25)],
    ids=["bbr2", "bbr3"],
)
def test_bbr_probes_by_its_gains_and_every_five_seconds(
    nashbed: Nashbed, cca: str, down: float, up: float
) -> None:
    samples = alone(nashbed, cca)
    mode, pacing = samples["bbr_mode"], samples["bbr_pacing_gain"]
    assert np.allclose(pacing[mode == DOWN], down, atol=0.01)
    assert np.allclose(pacing[mode == CRUISE], 1)
    assert np.allclose(pacing[mode == UP], 1.25)
    assert np.allclose(samples["bbr_cwnd_gain"][mode == UP], up)
    # The least RTT is that of the path, but for the time that frames take to be sent.
    assert np.all(samples["bbr_min_rtt_us"] < 1.1 * RTT_S * 1e6)
    probes = starts_of(samples, PROBE_RTT)
    assert len(probes) >= 3
    # 5 s, 200 ms and a round, and the time until half the BDP is in flight.
    assert all(5.0 <= after - before <= 6.0 for before, after in pairwise(probes))
    least = samples["cwnd_pkts"][mode == PROBE_RTT].min()
    assert 0.4 * BDP <= least <= 0.6 * BDP


@pytest.mark.parametrize(
    ("cca", "modes", "queued"),
    [
        ("copa", {2.0, 3.0}, (-2, 8)),
        pytest.param("copa_default", {2.0}, (-2, 8), marks=pytest.mark.long),
        pytest.param("copa_mvfst", {2.0}, (5, 35), marks=pytest.mark.long),
    ],
    ids=["copa", "copa_default", "copa_mvfst"],
)
def test_copa_paces_at_twice_its_window(
    nashbed: Nashbed, cca: str, modes: set[float], queued: tuple[float, float]
) -> None:
    samples = alone(nashbed, cca)
    ratio = samples["pacing_rate_bps"] / samples["bbr_bw_bps"]
    # The window in a standing RTT is told. An acknowledgement may come between the two system calls
    # of a sample. mvfst paces by the smoothed RTT, which is not the shorter one.
    alike = ratio <= 2.01 if cca == "copa_mvfst" else np.isclose(ratio, 2, rtol=0.01)
    assert alike.mean() > 0.99
    assert set(samples["bbr_mode"]) <= modes
    # 1/delta is 2, mvfst's 20: about as many segments wait, and the velocity adds some.
    least, most = queued
    assert least <= samples["cwnd_pkts"].mean() - BDP <= most


@pytest.mark.long
def test_vivace_of_the_authors_module_moves_by_single_intervals(nashbed: Nashbed) -> None:
    samples = alone(nashbed, "vivace_kernel")
    assert {3.0, 4.0, 5.0} <= set(samples["bbr_mode"])
    moves = np.diff(samples["bbr_bw_bps"][samples["bbr_mode"] == 5])
    assert (moves > 0).sum() >= 10


def test_vivace_probes_five_per_cent_to_both_sides(nashbed: Nashbed) -> None:
    samples = alone(nashbed, "vivace")
    gains = np.unique(np.round(samples["bbr_pacing_gain"], 2))
    assert set(gains) == {0.95, 1.0, 1.05}
    high, low = starts_of(samples, 3), starts_of(samples, 4)
    assert min(len(high), len(low)) >= 20
    # Pairs: as often the one as the other.
    assert abs(len(high) - len(low)) <= 0.1 * len(high) + 1
