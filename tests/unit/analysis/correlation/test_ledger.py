"""The ledger of made-up trials: what each measured value costs, and the sentence."""

import json
from dataclasses import replace

import numpy as np
import pytest
from nashbed.analysis.correlation.answer import ledger_answer, ledger_row
from nashbed.analysis.correlation.assumptions import ASSUMPTIONS, AssumptionCheck, check_assumptions
from nashbed.analysis.correlation.bbr import BbrWindows
from nashbed.analysis.correlation.congestion_events import ShiftedNull
from nashbed.analysis.correlation.ledger import Ledger, ledger_of
from nashbed.analysis.correlation.series import FlowSeries
from nashbed.analysis.measures import TrialMeasures
from nashbed.analysis.metrics.queue import TimeBins
from nashbed.analysis.models.mishra2022 import Inputs, share_of_bbr_with
from tests.unit.analysis.figures.made_correlations import (
    correlation,
    held,
    losses,
    measures_of_three,
)

X = 2.0
"""The made trials' buffer in BDP: 1 MB at 100 Mbit/s and 40 ms; 2 CUBIC flows, 1 BBR flow."""


def one_bbr() -> TrialMeasures:
    return next(t for t in measures_of_three().trials if t.state[0][1] == 1)


def ledger(**ratios: float) -> Ledger:
    found = ledger_of([correlation(one_bbr(), held=held(**ratios))])
    assert found is not None
    return found


def points(found: Ledger) -> dict[str, tuple[float, float]]:
    return {
        e.assumption.key: (e.alone["synchronised"].points, e.alone["desynchronised"].points)
        for e in found.entries
    }


def test_where_all_holds_nothing_costs() -> None:
    found = ledger()
    assert {e.assumption.key for e in found.entries} == {a.key for a in ASSUMPTIONS}
    costs = points(found)
    # All lost together: that is one bound, and as far from the other as the bounds are.
    assert costs.pop("losing") == pytest.approx(
        (0, 100 * (share_of_bbr_with(X, Inputs()) - share_of_bbr_with(X, Inputs(losing=0.5))))
    )
    assert all(cost == pytest.approx((0, 0)) for cost in costs.values())
    # 30 of 20 + 20 + 30 Mbit/s.
    assert found.share.mean == pytest.approx(30 / 70)
    assert found.replaced is not None
    assert found.replaced.share == pytest.approx(share_of_bbr_with(X, Inputs()))
    assert found.left_over == pytest.approx(100 * (30 / 70 - found.replaced.share))


def test_one_value_alone_and_last() -> None:
    found = ledger(full=0.95, rtt_plus=1.02)
    entry = next(e for e in found.entries if e.assumption.key == "full")
    published = share_of_bbr_with(X, Inputs())
    alone = share_of_bbr_with(X, Inputs(full=0.95))
    both = share_of_bbr_with(X, Inputs(full=0.95, rtt_plus=1.02))
    assert entry.ratio("synchronised") == pytest.approx(0.95)
    assert entry.alone["synchronised"].points == pytest.approx(100 * (alone - published))
    without = share_of_bbr_with(X, Inputs(rtt_plus=1.02))
    assert entry.last["synchronised"].points == pytest.approx(100 * (both - without))
    assert found.replaced is not None
    assert found.replaced.share == pytest.approx(both)


def test_what_follows_from_others_is_not_one_more() -> None:
    found = ledger(queue=1.01, full=0.999)
    entry = next(e for e in found.entries if e.assumption.key == "queue")
    assert entry.last == {}
    assert abs(entry.moves) > 0
    assert found.replaced is not None
    assert found.replaced.share == pytest.approx(share_of_bbr_with(X, Inputs(full=0.999)))
    dearest = found.dearest()
    assert dearest is not None
    assert dearest.assumption.key == "losing"


def test_without_a_solution() -> None:
    # In flight at half of what is assumed: b_cmin would be (2 + 1)/1 - 1 = 2 BDP, all of B.
    found = ledger(flight=0.5)
    entry = next(e for e in found.entries if e.assumption.key == "flight")
    cost = entry.alone["synchronised"]
    assert cost.solved is None
    assert all(entry.last == {} for entry in found.entries)
    assert "more than it keeps" in cost.why
    assert cost.points == pytest.approx(-100 * share_of_bbr_with(X, Inputs()))
    assert found.left_over is None
    sentence = found.sentence()
    assert "BBR keeps twice its throughput times RTT+ in flight" in sentence
    assert f"at least {cost.points:+.1f} points" in sentence
    assert "the model has no solution with all measured values" in sentence
    row = ledger_row(entry)
    assert row.points_synchronised is None
    assert "more than it keeps" in row.no_solution_synchronised


def test_the_sentence_names_both_directions() -> None:
    sentence = ledger(full=0.9, rtt_plus=0.98, losing=0.75).sentence()
    assert sentence.startswith("BBR has 42.9 % where the model says ")
    assert "the costliest assumption is that the buffer is always full" in sentence
    assert "acts in the opposite direction: " in sentence
    assert "points unexplained." in sentence


def test_what_was_not_measured_is_said() -> None:
    known = {key: one for key, one in held().items() if key not in ("rtt_plus", "seen")}
    found = ledger_of([correlation(one_bbr(), held=known)])
    assert found is not None
    assert found.missing == ("rtt_plus", "seen")
    assert found.replaced is None
    assert all(entry.last == {} for entry in found.entries)
    assert found.sentence().endswith("RTT+ (9), one b_cmin (9), (18) could not be measured.")
    json.dumps(ledger_answer(found, "1 cubic + 1 bbr").model_dump(), allow_nan=False)


def test_over_repetitions() -> None:
    low, high = held(full=0.9), held(full=1.0)
    null = ShiftedNull(0.5, 0.4, 0.6)
    low["losing"] = replace(low["losing"], null=null)
    high["losing"] = replace(high["losing"], null=ShiftedNull(0.7, 0.6, 0.8))
    found = ledger_of([correlation(one_bbr(), held=each) for each in (low, high)])
    assert found is not None
    entries = {entry.assumption.key: entry for entry in found.entries}
    full = entries["full"]
    assert (full.measured.mean, full.measured.n, full.observations) == pytest.approx((0.95, 2, 2))
    # Of 1 and 1, the values behind them.
    assert full.spread == (1, 1)
    assert entries["losing"].null == ShiftedNull(*map(pytest.approx, (0.6, 0.5, 0.7)))


def test_no_ledger_where_the_model_does_not_hold() -> None:
    alone = next(t for t in measures_of_three().trials if t.state[0][1] == 3)
    assert ledger_of([correlation(alone, held=held())]) is None
    assert ledger_of([correlation(one_bbr())]) is None


def held_by_hand(rate: float = 5e6) -> dict[str, AssumptionCheck]:
    """BDP 500 kB, B 1 MB; the queue holds 300 kB of CUBIC and 400 kB of BBR all the time."""
    measures = one_bbr()
    mask = measures.flow_mask("bbr")
    occupancy = np.where(mask, 400e3, 150e3)[:, None] * np.ones((1, 4))
    series = FlowSeries(TimeBins(0, 1, 4), occupancy, occupancy, None, exact=True)
    windows = BbrWindows(
        min_rtt_s=np.array([0.050, 0.070]),
        flight=np.array([500e3, 700e3]),
        rate=np.array([rate, rate]),
        least=np.array([200e3, 300e3]),
        queue=np.array([700e3, 700e3]),
    )
    cubic = replace(losses(2, [1.0, 0.5, 0.5], 250.0), cuts=np.array([0.7, 0.6]))
    return check_assumptions(measures, series, cubic, windows)


def test_assumptions_by_hand() -> None:
    found = held_by_hand()
    both = {key: (one.synchronised, one.measured) for key, one in found.items()}
    # 600 kB in flight by 5 MB/s times 60 ms.
    assert both["flight"] == pytest.approx((2, 2))
    assert found["flight"].values == pytest.approx([2, 2])
    # 5 MB/s times 40 ms and 700 kB at 12.5 MB/s.
    assert both["delay"] == pytest.approx((5e6 * 0.096, 600e3))
    # 40 ms and 250 kB at 12.5 MB/s.
    assert both["rtt_plus"] == pytest.approx((0.060, 0.060))
    assert both["queue"] == pytest.approx((2 * 250e3 + 500e3, 700e3))
    assert both["full"] == pytest.approx((1e6, 700e3))
    # 125 kB at least between losses, 250 kB in BBR's 10 s.
    assert both["seen"] == pytest.approx((125e3, 250e3))
    assert both["least_share"] == pytest.approx((125 / 525, 0.5))
    # (1 MB - 400 kB)(1 + 1/2); 500 kB in flight at each loss.
    assert both["largest"] == pytest.approx((900e3, 500e3))
    assert both["keeps"] == pytest.approx((0.7, 0.65))
    assert (found["losing"].synchronised, found["losing"].desynchronised) == (1, 0.5)
    assert found["losing"].measured == pytest.approx(2 / 3)
    # k = 1 - 0.35 x 2/3; 125 kB in the queue and half of a BDP of 500 kB in the pipe.
    assert both["kept"] == pytest.approx(((1 - 0.35 * 2 / 3) * 500e3, 375e3))


def test_what_bbr_that_gets_nothing_has_in_flight_is_not_known() -> None:
    found = held_by_hand(rate=0.0)
    assert not {"flight", "delay"} & set(found)
    assert {"rtt_plus", "full"} <= set(found)


def test_held_against_one_cca_alone_is_nothing() -> None:
    alone = next(t for t in measures_of_three().trials if t.state[0][1] == 3)
    series = FlowSeries(TimeBins(0, 1, 1), np.ones((3, 1)), np.ones((3, 1)), None, exact=True)
    assert check_assumptions(alone, series, None, None) == {}
