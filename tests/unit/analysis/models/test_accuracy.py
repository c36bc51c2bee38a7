"""Models against measured mixes: a small file by hand, the published one, and a run."""

from pathlib import Path

import pytest
from nashbed.analysis.models import MODELS, cubic_against
from nashbed.analysis.models.accuracy import (
    MeasuredGame,
    MeasuredMix,
    accuracy_by_buffer,
    accuracy_of_games,
    equilibrium_errors,
)
from nashbed.analysis.models.measured import PUBLISHED_WINDOW_BYTES, measured_mixes
from nashbed.analysis.models.mix_files import PUBLISHED_MIXES as MIXES
from nashbed.analysis.models.starts import iperf3_starts
from nashbed.controlplane.store.errors import RunError
from tests.support.published_panels import published_equilibria
from tests.support.synthetic_run import SCENARIO, RunWriter, write_run

HEAD = (
    "bandwidth_mbps,base_rtt_ms,buffer_bdp,n_flows,n_bbr,n_cubic,"
    "bbr_agg_mbps,cubic_agg_mbps,valid\n"
)


def test_by_hand() -> None:
    # At 3 BDP the synchronised bound says 0.5 for every mix: errors 0.1, -0.2 and 0.05,
    # median of the absolutes 0.1, median 0.05. At 0.5 BDP it refuses.
    def mix(bdp, bbr, share):
        return MeasuredMix(cubic_against(100e6, 0.04, bdp * 500_000, 10 - bbr, bbr), share, bdp)

    mixes = [mix(3, 2, 0.4), mix(0.5, 5, 0.9), mix(3, 5, 0.7), mix(3, 8, 0.45)]
    rows = accuracy_by_buffer(mixes, [MODELS["mishra-synchronised"]])
    assert [(row.buffer_bdp, row.mixes) for row in rows] == [(0.5, 1), (3, 3), (None, 4)]
    (shallow,), (deep,), (all_,) = (row.models for row in rows)
    assert (shallow.answered, shallow.refused, shallow.median_abs) == (0, 1, None)
    assert "below 1 BDP" in shallow.reason
    assert (deep.answered, deep.refused) == (3, 0)
    assert deep.median_abs == pytest.approx(0.1)
    assert deep.median == pytest.approx(0.05)
    assert (all_.answered, all_.refused) == (3, 1)
    assert accuracy_by_buffer([]) == []


def test_a_band_is_right_inside() -> None:
    # At 3 BDP and 10 flows the bounds are 0.5 and, with 4 and 3 CUBIC flows, 0.636873 and 0.625672
    # (test_band): inside, 0.1 above the upper and 0.05 below the lower one.
    def mix(bdp, bbr, share):
        return MeasuredMix(cubic_against(100e6, 0.04, bdp * 500_000, 10 - bbr, bbr), share, bdp)

    mixes = [mix(3, 6, 0.6), mix(3, 6, 0.736873), mix(3, 7, 0.45), mix(0.5, 5, 0.9)]
    bounds = [MODELS[f"mishra-{name}"] for name in ("synchronised", "desynchronised")]
    shallow, deep, every = (row.band for row in accuracy_by_buffer(mixes, bounds))
    assert shallow is None
    assert deep is not None
    assert deep == every
    assert (deep.answered, deep.holds) == (3, pytest.approx(1 / 3))
    assert deep.outside == pytest.approx(0.05)
    assert deep.width == pytest.approx(0.136873, abs=1e-6)
    # One bound alone is no band.
    assert accuracy_by_buffer(mixes, bounds[:1])[-1].band is None


def test_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mixes.csv"
    rows = ["0,10,0,96,ok", "4,6,40,60,ok", "5,5,90,90,INVALID_total_gt_1.05C", "10,0,96,0,ok"]
    file.write_text(HEAD + "".join(f"100,40,3,10,{row}\n" for row in rows))
    found = measured_mixes(file)
    (mix,) = found.mixes
    assert mix.share == pytest.approx(0.4)
    assert (mix.question.first.flows, mix.question.second.flows) == (6, 4)
    assert mix.question.buffer_bytes == 1_500_000
    assert sum(found.left_out.values()) == 1
    # Started by iperf3: the 4 BBR streams are there before the 6 of CUBIC.
    starts = iperf3_starts(6, 4, 0.04, 3)
    assert (mix.question.first.start_s, mix.question.second.start_s) == (starts.cubic_s, 0)
    assert mix.question.measured_from_s == starts.lead_s / 2
    assert (mix.question.duration_s, mix.question.second.start_spread_s) == (120, 0)
    assert mix.question.second.window_bytes == PUBLISHED_WINDOW_BYTES
    file.write_text(HEAD + "100,40,3,10,0,10,0,96,ok\n")
    with pytest.raises(RunError, match="no mix of cubic and bbr"):
        measured_mixes(file)


def test_a_file_that_says_how_flows_ran(tmp_path: Path) -> None:
    more = (
        "duration_s,cubic_start_s,bbr_start_s,start_spread_s,measured_from_s,window_bytes,control"
    )
    rows = [
        "4,6,40,60,ok,600,5,0,0.1,300,,bbr",
        "4,6,40,60,ok,60,0,1,0.2,20,2e6,",
        "4,6,40,60,ok,60,0,0,0.1,20,,copa",
    ]
    file = tmp_path / "mixes.csv"
    file.write_text(f"{HEAD.strip()},{more}\n" + "".join(f"100,40,3,10,{row}\n" for row in rows))
    found = measured_mixes(file)
    assert found.left_out == {"it has copa flows": 1}
    first, second = (mix.question for mix in found.mixes)
    assert (first.duration_s, first.measured_from_s) == (600, 300)
    assert first.second.window_limit is None
    assert (first.first.start_s, first.second.start_s, first.second.start_spread_s) == (5, 0, 0.1)
    late = second.second
    assert (late.start_s, late.start_spread_s, late.window_bytes) == (1, 0.2, 2e6)


def a_game(*cubic: int, flows: int = 10) -> MeasuredGame:
    question = cubic_against(100e6, 0.04, 1_500_000, flows, 0)
    return MeasuredGame("a setting", 3, flows, cubic, question.with_second)


def test_equilibria_by_hand() -> None:
    # At 3 BDP the synchronised bound settles at half of the flows: 5 CUBIC flows of 10.
    sync = MODELS["mishra-synchronised"]
    found = accuracy_of_games(
        [a_game(6), a_game(1, 9), a_game(5)], [sync, MODELS["mishra-given-k"]]
    )
    assert [game.of(sync.name).off_cubic for game in found] == pytest.approx([1, 4, 0])
    error, without_k = equilibrium_errors(found)
    assert (error.answered, error.refused) == (3, 0)
    assert (error.median_abs, error.within) == pytest.approx((1, 2 / 3))
    assert (without_k.answered, without_k.refused, without_k.median_abs) == (0, 3, None)
    assert found[1].measured_cubic == (1, 9)
    assert equilibrium_errors([]) == []


def test_the_published_equilibria() -> None:
    games = measured_mixes(MIXES).games
    expected = published_equilibria()
    assert sorted(set(game.cubic) for game in games) == sorted(
        states for states, _ in expected.values()
    )
    # Every mix is asked with its own start.
    late = [games[0].question(k) for k in (1, 49)]
    assert late[0].first.start_s == late[1].second.start_s > 0


@pytest.mark.slow
def test_the_published_mixes() -> None:
    found = measured_mixes(MIXES)
    # 49 settings of 49 mixes with both, less 7 invalid ones.
    assert (len(found.mixes), sum(found.left_out.values())) == (49 * 49 - 7, 7)
    published = [MODELS[n] for n in MODELS if n.startswith(("ware", "mishra"))]
    rows = accuracy_by_buffer(found.mixes, published)
    assert [row.buffer_bdp for row in rows] == [0.5, 5, 10, 20, 30, 40, 50, None]
    median = {(row.buffer_bdp, e.model): e.median_abs for row in rows for e in row.models}
    answered = {model.name for model in published if median[0.5, model.name] is not None}
    assert answered == {"ware"}
    assert median[0.5, "ware"] < 0.07
    for buffer in (5, 10, 20, 30, 40, 50):
        for name in ("ware", "mishra-synchronised", "mishra-desynchronised"):
            assert 0 < median[buffer, name] < 0.3
    # Outside the band, they are less far away than from either of its edges.
    bands = {row.buffer_bdp: row.band for row in rows}
    assert bands[0.5] is None
    assert bands[None].answered == 2051
    assert bands[None].holds == pytest.approx(0.363, abs=0.001)
    assert [round(100 * bands[b].outside, 1) for b in (5, 10, 20, 30, 40, 50)] == [
        3.5, 2.1, 1.1, 4.4, 7.6, 8.5,
    ]  # fmt: skip


def test_a_run(tmp_path: Path) -> None:
    found = measured_mixes(write_run(tmp_path / "run", duration="3s"))
    (game,) = found.games
    assert game.flows == 4
    assert set(game.cubic) <= set(range(5))
    assert game.question(1) == found.mixes[0].question
    assert [mix.question.second.flows for mix in found.mixes] == [1, 2, 3]
    assert all(0 < mix.share < 1 for mix in found.mixes)
    assert found.left_out == {"it has only one congestion control": 2}
    (row, _) = accuracy_by_buffer(found.mixes)
    assert row.buffer_bdp == 2
    # 3 s are too short for Ware's model; Mishra's has no duration.
    states = {error.model: (error.answered, error.refused) for error in row.models}
    assert states["ware"] == (0, 3)
    assert states["mishra-synchronised"] == (3, 0)


def test_several_rtts_are_left_out_with_a_reason(tmp_path: Path) -> None:
    flows = [
        {"name": "near", "count": 2, "base_rtt": "10ms"},
        {"name": "far", "count": 2, "base_rtt": "50ms"},
    ]
    writer = RunWriter(tmp_path / "run", {**SCENARIO, "flows": flows, "duration": "2s"})
    (setting,) = writer.settings()
    writer.add(setting, (1, 1))
    with pytest.raises(RunError, match="several base RTTs"):
        measured_mixes(writer.finish())
