"""Vivace as in its authors' Linux module, in the simulator: where it is not the paper's."""

from functools import cache
from itertools import pairwise

import pytest
from tests.support.cc_sim import SimPath, SimSample, needs_simulator, simulate

pytestmark = needs_simulator

STARTING, WAITING, HIGH, LOW, MOVING = 1, 2, 3, 4, 5
PATH = SimPath(mbps=50, rtt_ms=40)
INITIAL_RATE = 512 * 1024


@cache
def record() -> list[SimSample]:
    """One flow alone, sampled every millisecond."""
    run = simulate(PATH, ["vivace_kernel"], seconds=30, sample_ms=1)
    return [one for one in run.of_flow(0) if one.mode]


def rates_in(mode: int) -> list[int]:
    """The base rates of a mode in bytes a second, each once where it stays."""
    rates = [one.bw for one in record() if one.mode == mode]
    return rates[:1] + [b for a, b in pairwise(rates) if a != b]


@pytest.mark.parametrize("rtt_ms", [5, 40, 100])
@pytest.mark.parametrize("mbps", [10, 50, 200])
def test_one_flow_has_nine_tenths_of_the_link(mbps: float, rtt_ms: float) -> None:
    run = simulate(SimPath(mbps, rtt_ms), ["vivace_kernel"], seconds=45, warmup_s=15)
    assert run.utilisation > 0.9


@pytest.mark.slow
def test_the_start_grows_by_a_half_and_goes_back() -> None:
    rates = rates_in(STARTING)
    assert rates[0] == INITIAL_RATE
    assert all(later == earlier + earlier // 2 for earlier, later in pairwise(rates))
    after = next(one for one in record() if one.mode != STARTING)
    assert after.bw == rates[-2]


def test_it_probes_five_percent_to_either_side() -> None:
    probes = [one for one in record() if one.mode in (HIGH, LOW)]
    for one in probes:
        factor = 1.05 if one.mode == HIGH else 0.95
        assert one.pacing_bps / 8 == pytest.approx(factor * one.bw, rel=1e-5)
    assert {one.mode for one in probes} == {HIGH, LOW}


def test_a_step_is_a_fiftieth_of_the_rate_at_least_and_bounded() -> None:
    """2.2 % at least; 10 % at most, and 7 % more for each further one that is bounded."""
    moves = [
        (a.bw, b.bw)
        for a, b in pairwise(record())
        if a.mode == MOVING and b.mode == MOVING and a.bw != b.bw
    ]
    assert len(moves) > 20
    for before, after in moves:
        assert 0.0219 <= (after - before) / before <= 0.31


def test_the_first_interval_of_a_move_is_still_sent_at_the_old_rate() -> None:
    """The module sets that interval's rate before it takes the better one."""
    starts = [b for a, b in pairwise(record()) if b.mode == MOVING != a.mode]
    ratios = {round(one.pacing_bps / 8 / one.bw, 3) for one in starts}
    assert ratios == {round(1 / 1.05, 3), round(1 / 0.95, 3)}


def test_moves_go_on_upwards_only() -> None:
    """The module compares a step's direction with one that it never sets."""
    for a, b in pairwise(record()):
        if a.mode == MOVING and b.mode == MOVING:
            assert b.bw >= a.bw


@pytest.mark.slow
def test_it_takes_more_from_cubic_than_the_papers_does() -> None:
    """The authors' module took 32 and 93 % with 1 and 5 of 10 (100 Mbit/s, 40 ms, 2 BDP)."""
    for flows, least in ((1, 0.25), (5, 0.88)):
        ccas = ["vivace_kernel"] * flows + ["cubic"] * (10 - flows)
        run = simulate(SimPath(100, 40), ccas, seconds=120, warmup_s=20)
        assert flows * run.mean_mbps("vivace_kernel") > least * 100


@pytest.mark.parametrize("path", [PATH, SimPath(50, 5)], ids=str)
def test_two_flows_share(path: SimPath) -> None:
    run = simulate(path, ["vivace_kernel"] * 2, seconds=120, warmup_s=60)
    rates = [flow.mbps for flow in run.flows]
    assert max(rates) < 1.2 * min(rates)
