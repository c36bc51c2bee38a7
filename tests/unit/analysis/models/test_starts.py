"""Starts of a mix, as the scenario has them and as models are asked."""

from typing import Any

import pytest
from nashbed.analysis.models.starts import BUSY_CONNECT_RTTS, Starts, iperf3_starts, starts_of
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import FlowSpan, TrialRecord
from nashbed.controlplane.plan.sweep import scenario_settings
from tests.unit.analysis.made_measures import BASE

MIX = ((2, 3),)


def of(start: Any, state: Any = MIX, records: Any = (), **raw: Any) -> Starts:
    flows = [{"name": "main", "count": 5, "base_rtt": "40ms"}]
    scenario = Scenario.model_validate({**BASE, "flows": flows, "start": start, **raw})
    (setting,) = scenario_settings(scenario)
    return starts_of(scenario, setting, state, records)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("together", (0, 0, 0.1)),
        ({"random": "5s"}, (0, 0, 5.1)),
        ({"order": ["bbr", "cubic"], "gap": "5s"}, (5, 0, 0.1)),
        ({"offsets": {"cubic": "3s"}}, (3, 0, 0.1)),
        # CUBIC at 0 and 1 s, BBR at 2, 3 and 4 s: spans of 1 and 2 s, by flows 1.6 s; with it the
        # means are 0.5 and 3 s, the former as near as a start of 0 lets it be.
        ({"staggered": "1s"}, (0, 2.2, 1.7)),
    ],
)
def test_by_hand(start: Any, expected: tuple[float, float, float]) -> None:
    starts = of(start)
    assert (starts.cubic_s, starts.second_s, starts.spread_s) == pytest.approx(expected)


def test_groups_start_later_on_their_own() -> None:
    flows = [{"name": "a", "count": 2, "base_rtt": "40ms"},
             {"name": "b", "count": 2, "base_rtt": "40ms", "start_offset": "4s"}]  # fmt: skip
    starts = of("together", ((2, 0), (0, 2)), flows=flows)
    assert (starts.cubic_s, starts.second_s, starts.lead_s) == (0, 4, 4)


def test_every_other_repetition_of_a_settled_run_is_spread() -> None:
    record = TrialRecord.model_construct(repetition=0)
    records = [record, record.model_copy(update={"repetition": 1})]
    settled = {"until": "settled"}
    assert of("together", records=records, duration=settled).spread_s == pytest.approx(5.05)
    assert of("together", records=records[:1], duration=settled).spread_s == pytest.approx(0.1)


def test_by_iperf3_the_smaller_process_sends_first() -> None:
    # 40 streams connect while 10 send: 40 ms each, and in the queue as long as that and 30 %.
    starts = iperf3_starts(50, 10, 0.04, 20)
    assert starts == Starts(
        cubic_s=pytest.approx(40 * 0.04 * (1 + BUSY_CONNECT_RTTS)),
        second_s=0.0,
        spread_s=0.0,
        connecting_s=pytest.approx(10 * 0.04),
    )
    # A buffer of half a BDP is half full on average.
    assert iperf3_starts(1, 3, 0.04, 0.5).second_s == pytest.approx(2 * 0.04 * 1.25)
    assert iperf3_starts(5, 5, 0.04, 20).lead_s == 0
    assert iperf3_starts(5, 0, 0.04, 20).lead_s == 0


def test_by_iperf3_a_run_says_when_they_sent() -> None:
    spans = tuple(
        FlowSpan(group=0, strategy=name, start_ns=start, first_byte_ns=None, last_byte_ns=None,
                 end_ns=None)
        for name, start in (("cubic", 10**9), ("bbr", 3 * 10**9))
    )  # fmt: skip
    record = TrialRecord.model_construct(repetition=0, spans=spans)
    assert of("iperf3", records=[record]) == Starts(0.0, 2.0, 0.0, connecting_s=0.08)
    assert of("iperf3") == iperf3_starts(2, 3, 0.04, 2)
