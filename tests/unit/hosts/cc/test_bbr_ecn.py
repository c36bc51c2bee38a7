"""BBR's answer to marks in the simulator, and that without it nothing has changed."""

import pytest
from tests.support.bbr_phases import CRUISE, DOWN, STARTUP, UP
from tests.support.cc_sim import FRAME_BYTES, SimPath, SimRun, needs_simulator, simulate

pytestmark = needs_simulator

THRESHOLD = 10 * FRAME_BYTES
SHORT = SimPath(mbps=100, rtt_ms=4, buffer_bdp=5, mark_bytes=THRESHOLD)
"""Below the 5 ms up to which BBR heeds marks."""
BOTH = pytest.mark.parametrize("version", ["bbr2", "bbr3"])


def outcome(run: SimRun) -> list[tuple[float, int, int]]:
    return [(flow.throughput_bps, flow.sent, flow.lost) for flow in run.flows]


@BOTH
def test_it_heeds_no_mark_on_a_longer_path_or_without_ecn(version: str) -> None:
    """To the bit as the version that knows no marks, though many segments are marked."""
    longer = SimPath(100, 10, buffer_bdp=4, mark_bytes=THRESHOLD)
    marked = simulate(longer, [f"{version}_ecn"] * 2, seconds=15)
    assert marked.marks > 0
    assert outcome(marked) == outcome(simulate(longer, [version] * 2, seconds=15))
    unmarked = SimPath(100, 4, buffer_bdp=5)
    assert outcome(simulate(unmarked, [f"{version}_ecn"] * 2, seconds=15)) == outcome(
        simulate(unmarked, [version] * 2, seconds=15)
    )


@BOTH
def test_marks_keep_its_queue_short(version: str) -> None:
    heeding = simulate(SHORT, [f"{version}_ecn"] * 2, seconds=30)
    deaf = simulate(SHORT, [version] * 2, seconds=30)
    assert deaf.marks == 0  # it does not ask for ECN
    assert heeding.mean_queue_bytes < deaf.mean_queue_bytes / 2
    assert heeding.utilisation > 0.95
    assert heeding.drops == 0


@BOTH
def test_two_rounds_with_half_their_segments_marked_end_startup(version: str) -> None:
    """Earlier than three rounds without more bandwidth do, and so with less in flight."""
    most = {}
    for name in (version, f"{version}_ecn"):
        samples = simulate(SHORT, [name], seconds=2, warmup_s=1, sample_ms=0.5).of_flow(0)
        end = next(one for one in samples if one.mode != STARTUP)
        most[name] = end.time_ns
    assert most[f"{version}_ecn"] < most[version]


@pytest.mark.slow
@BOTH
def test_it_cruises_below_the_threshold(version: str) -> None:
    """What probes add to the queue is marked, and the bounds fall until nothing is."""
    samples = simulate(SHORT, [f"{version}_ecn"], seconds=20, sample_ms=0.5).of_flow(0, after_s=5)
    assert {CRUISE, DOWN, UP} <= {one.mode for one in samples}
    cruising = [one.queue_bytes for one in samples if one.mode == CRUISE]
    assert sum(cruising) / len(cruising) < THRESHOLD
