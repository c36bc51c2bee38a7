"""CUBIC's losses and BBR's path: cases computed by hand, and a whole run."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.correlation import correlate_run, correlation_answer, mix_readings
from nashbed.analysis.correlation.bbr import (
    flight_in_bdp,
    least_before,
    mean_min_rtt,
    rtt_plus,
)
from nashbed.analysis.correlation.congestion_events import (
    CongestionEvent,
    congestion_events,
    event_length_ns,
    first_drops,
    losing_shares,
    shifted_null,
)
from nashbed.analysis.correlation.cubic_losses import (
    least_bins,
    queue_and_flight_at,
    share_around,
    window_cuts,
)
from nashbed.analysis.correlation.k_verdict import KPrediction, judge_k
from nashbed.analysis.correlation.series import load_series, window_bins
from nashbed.analysis.measures import measure_run
from nashbed.analysis.metrics.queue import TimeBins
from nashbed.analysis.report import build_report
from tests.support.synthetic_run import SCENARIO, RunWriter

MS = 1_000_000


def test_event_length() -> None:
    # 40 ms around, 80 ms of a full queue, 10 ms of waiting for reordering.
    assert event_length_ns(40 * MS, 80 * MS) == 130 * MS


def test_congestion_events() -> None:
    # Length 100 from the first drop: 0, 50, 100 | 101 | 250. A trickle does not become one.
    times, flows = np.array([101, 0, 250, 50, 100]), np.array([1, 0, 2, 0, 3])
    found = congestion_events(times, flows, 100)
    assert found == [
        CongestionEvent(0, 100, (0, 3), 3),
        CongestionEvent(101, 101, (1,), 1),
        CongestionEvent(250, 250, (2,), 1),
    ]
    assert congestion_events(times[:0], flows[:0], 100) == []
    assert first_drops(np.sort(times), 100).tolist() == [0, 3, 4]


def test_losing_shares() -> None:
    events = [CongestionEvent(0, 1, (0, 3), 3), CongestionEvent(5, 6, (9,), 1),
              CongestionEvent(8, 9, (0, 1, 2, 3), 4)]  # fmt: skip
    # Of flows 0 to 3: two lose, none (left out), all four.
    assert losing_shares(events, range(4)).tolist() == [0.5, 1.0]
    assert losing_shares([], range(4)).tolist() == []


def test_losses_that_come_together_are_more_than_chance() -> None:
    # Ten flows lose at the same 20 instants, one in 5 s; an event lasts for 10 ms. All of them
    # lose together; shifted against each other hardly two of them do.
    t_ns = np.repeat(np.arange(20) * 5_000 * MS, 10)
    flow = np.tile(np.arange(10), 20)
    found = shifted_null(t_ns, flow, range(10), 10 * MS, (0, 100_000 * MS))
    assert found is not None
    assert losing_shares(congestion_events(t_ns, flow, 10 * MS), range(10)).mean() == 1
    # By chance: another flow's instants fall into the 10 ms after a first one with a probability
    # of 1 in 500, so that an event of one flow in ten has 9/500 flows more.
    assert found.low <= found.mean <= found.high
    assert found.mean == pytest.approx(0.1 * (1 + 9 / 500), abs=0.002)
    assert found == shifted_null(t_ns, flow, range(10), 10 * MS, (0, 100_000 * MS))


def test_losses_that_never_pause_are_no_more_than_chance() -> None:
    # Every flow loses once a millisecond: in 10 ms all lose, shifted or not.
    t_ns = np.repeat(np.arange(100) * MS, 3)
    found = shifted_null(t_ns, np.tile(np.arange(3), 100), range(3), 10 * MS, (0, 100 * MS))
    assert found is not None
    assert (found.mean, found.low, found.high) == (1, 1, 1)


def test_chance_needs_two_flows_that_lose() -> None:
    assert shifted_null(np.arange(3), np.zeros(3, int), range(2), 1, (0, 10)) is None


def test_window_cuts() -> None:
    # Open at 100, recovery from 90 down to 70, open again at 70; one that does not end.
    state = np.array([0, 1, 3, 3, 0, 0, 3, 4])
    window = np.array([95, 100, 90, 75, 70, 80, 60, 1])
    order = np.array([3, 0, 1, 2, 7, 6, 5, 4])
    found = window_cuts(np.arange(8)[order], window[order], state[order])
    assert found.tolist() == [0.7]
    # After a timeout the window starts anew: 10 of 80.
    timeout = window_cuts(np.arange(3), np.array([80, 1, 8]), np.array([0, 4, 0]))
    assert timeout.tolist() == [0.1]
    assert window_cuts(np.arange(2), np.array([1, 1]), np.array([0, 0])).tolist() == []


def test_least_before() -> None:
    # Bins of 2.5 s: the least of a bin and the four before it; the first four have no 10 s.
    series = np.array([1.0, 5, 4, 3, 6, 7, 8, 2])
    found = least_before(series, 2_500 * MS)
    assert np.isnan(found[:4]).all()
    assert found[4:].tolist() == [1, 3, 3, 2]
    assert np.isnan(least_before(series[:4], 2_500 * MS)).all()


def test_least_bins() -> None:
    # Bins of 10; events at 5, 25, 26: least of bins 0 and 1, then bin 2 alone.
    bins = TimeBins(0, 10, 4)
    found = least_bins(np.array([7.0, 3, 5, 1]), bins, np.array([5, 25, 26]))
    assert found.tolist() == [1, 2]
    assert least_bins(np.ones(4), bins, np.empty(0, np.int64)).tolist() == []


def test_share_around() -> None:
    # Three bins around each: (1 + 2 + 3)/(4 + 4 + 4), at the start two of them, and nothing.
    mine, everything = np.array([1.0, 2, 3, 0, 0, 0]), np.array([4.0, 4, 4, 0, 0, 0])
    found = share_around(mine, everything, np.array([1, 0, 4]), 2)
    assert found[:2].tolist() == [0.5, 3 / 8]
    assert np.isnan(found[2])


def test_queue_and_flight_at() -> None:
    # One packet of flow 0 in the queue from 100 to 200; base RTT 60: in flight from 70 to 230.
    # One of flow 1 (base RTT 20) from 150 to 300: in flight from 140 to 310. One is dropped.
    chunk = {
        "kind": np.array([0, 0, 1], np.uint8),
        "flow": np.array([0, 1, 1], np.uint32),
        "packet_bytes": np.array([1000, 500, 400], np.uint32),
        "enqueue_ns": np.array([100, 150, 160]),
        "dequeue_ns": np.array([200, 300, 160]),
    }
    at = np.array([69, 70, 99, 145, 150, 200, 229, 230, 309, 310])
    queue, flight = queue_and_flight_at([chunk], np.array([60, 20]), at)
    assert queue.tolist() == [
        [0, 0, 0, 1000, 1000, 0, 0, 0, 0, 0], [0, 0, 0, 0, 500, 500, 500, 500, 0, 0],
    ]  # fmt: skip
    assert flight.tolist() == [
        [0, 1000, 1000, 1000, 1000, 1000, 1000, 0, 0, 0],
        [0, 0, 0, 500, 500, 500, 500, 500, 500, 0],
    ]


def test_bbr_path() -> None:
    assert mean_min_rtt(np.array([40_000.0, 60_000.0, 0.0, np.nan])) == pytest.approx(0.05)
    assert np.isnan(mean_min_rtt(np.array([np.nan])))
    # 40 ms and 100 kB at 20 Mbit/s (2.5 MB/s): 40 ms more.
    assert rtt_plus(0.04, 100_000, 20e6) == pytest.approx(0.08)
    # 8 Mbit/s x 50 ms = 50 kB: 100 kB in flight is 2 BDP, 50 kB is 1; without an estimate left out.
    flight = flight_in_bdp(
        np.array([100_000, 50_000, 7]), np.array([8e6, 8e6, np.nan]), np.array([5e4, 5e4, 5e4])
    )
    assert flight == pytest.approx(1.5)


def _prediction(
    measured: float, given: float, low: float, high: float, mix: int = 1, repetition: int = 0
) -> KPrediction:
    predicted = {"measured": given, "synchronised": low, "desynchronised": high}
    return KPrediction(
        trial=f"s-k{mix}-r{repetition}-a0", setting="s", bbr_share=measured,
        k=dict.fromkeys(predicted, 0.8), predicted=predicted,
    )  # fmt: skip


def test_judge_k() -> None:
    # Errors of the measured k 0.01, 0.02, 0.03; of the bounds 0.1 more, and 0.01 less.
    rows = [_prediction(0.5, 0.5 + e / 100, 0.6 + e / 100, 0.49 + e / 100, e) for e in (1, 2, 3)]
    found = judge_k(rows)
    assert found is not None
    assert found.errors["measured"].mean == pytest.approx(0.02)
    assert found.gains["synchronised"].mean == pytest.approx(0.1)
    assert found.gains["desynchronised"].mean == pytest.approx(-0.01)
    assert found.gains["synchronised"].answer == "better"
    assert found.gains["desynchronised"].answer == "worse"
    assert "over 3 mixes (3 trials)" in found.text
    json.dumps(found.model_dump(), allow_nan=False)


def test_a_mix_is_one_observation() -> None:
    # Errors 0.01 and 0.03 in three trials each of one mix, 0.06 in one of another: the means
    # 0.02 and 0.06 have the mean 0.04 (over the seven trials it would be 0.026).
    errors = [(1, 0.01)] * 3 + [(1, 0.03)] * 3 + [(2, 0.06)]
    rows = [_prediction(0.5, 0.5 + e, 0.9, 0.1, mix, r) for r, (mix, e) in enumerate(errors)]
    found = judge_k(rows)
    assert found is not None
    assert found.errors["measured"].mean == pytest.approx(0.04)
    assert found.errors["measured"].n == 2
    assert "over 2 mixes (7 trials)" in found.text


def test_trials_that_cannot_tell_are_left_out() -> None:
    assert judge_k([_prediction(0.5, 0.4, 0.4, 0.4)]) is None
    one = judge_k([_prediction(0.5, 0.5, 0.6, 0.4), _prediction(0.5, 0.4, 0.4, 0.4)])
    assert one is not None
    assert one.errors["measured"].n == 1
    assert one.gains["synchronised"].answer == "no clear difference"  # no interval from one trial


def test_window_bins_grow_with_the_flows() -> None:
    assert window_bins((0, 1_000 * MS), 10) == TimeBins(0, 10 * MS, 100)
    assert window_bins((0, 100_000 * MS), 8000).length_ns == 100 * MS


def test_series_of_bins_agree_with_postcards(tmp_path: Path) -> None:
    raw = {**SCENARIO, "telemetry": {**SCENARIO["telemetry"], "postcards": {"bins": "10ms"}}}
    writer = RunWriter(tmp_path / "run", raw)
    setting = writer.settings()[0]
    writer.add(setting, (2,), tables=("postcards", "goodput", "flow_samples"))
    writer.add(setting, (2,), attempt=1, tables=("bins", "goodput", "flow_samples"))
    writer.finish()
    trials = {t.record.attempt: t for t in measure_run(tmp_path / "run").run.trials}
    exact = load_series(trials[0], writer.scenario, 4)
    binned = load_series(trials[1], writer.scenario, 4)
    assert exact is not None
    assert binned is not None
    assert np.allclose(exact.occupancy, binned.occupancy)
    assert np.allclose(exact.departed, binned.departed)
    assert exact.drops is not None
    assert binned.drops is not None
    assert set(exact.drops.t_ns // (10 * MS)) == set(binned.drops.t_ns // (10 * MS))


def test_a_whole_run(whole_run: Path) -> None:
    measures = measure_run(whole_run)
    run = correlate_run(measures)
    assert len(run.trials) == 5
    setting = measures.run.settings[0]
    mixed = [t for t in run.trials if t.cubic is not None and t.bbr is not None]
    assert len(mixed) == 3
    for trial in mixed:
        cubic = trial.cubic
        assert cubic is not None
        assert len(cubic.b_min) == max(len(cubic.events_ns) - 1, 0)
        assert (cubic.window >= cubic.b_max).all()
        assert ((cubic.shares > 0) & (cubic.shares <= 1)).all()
        assert len(cubic.share_min) == len(cubic.b_min)
        # Five seconds are less than BBR's 10: what it saw in them is not known.
        assert set(trial.held) <= {"full", "least_share", "largest", "keeps", "losing", "kept"}
        assert 0 < trial.held["full"].measured <= trial.held["full"].synchronised
    assert len(mix_readings(run, setting)) == 5
    ledgers = correlation_answer(run).settings[0].ledgers
    mixes = [f"{n} cubic + {4 - n} bbr" for n in (3, 2, 1)]
    assert [ledger.mix for ledger in ledgers] == mixes
    assert {"flight", "rtt_plus", "seen"} <= set(ledgers[0].not_measured)
    assert "the ledger is incomplete: " in ledgers[0].sentence


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_report_has_the_section(whole_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(whole_run, tmp_path / "run"))
    page = build_report(run, ("html",)).read_text()
    assert '<section id="correlation">' in page
    assert "one at a time" in page
    assert "Equation (5) of Mishra" not in page
    summary = json.loads((run / "report" / "summary.json").read_text())
    assert summary["correlation"]["settings"][0]["mixes"]
