"""When flows really ran, and the window that follows from it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nashbed.controlplane.contract.disciplines import Discipline
from nashbed.controlplane.contract.limit import LimitCounts
from nashbed.controlplane.contract.messages.flows import (
    SenderFlowReport,
    SenderReport,
    SinkFlowReport,
    SinkReport,
    TimerLateness,
)
from nashbed.controlplane.contract.queues import Memory, Queue, Queues
from nashbed.controlplane.contract.target import Applied
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.trial import FlowSpan, Steadiness
from nashbed.controlplane.plan.attempt import make_attempt
from nashbed.controlplane.targets.dpdk import dpdk_capabilities
from nashbed.controlplane.validity.measurement import Evidence, measured_window, spans
from tests.unit.controlplane.conftest import plan_of, scenario_with
from tests.unit.controlplane.validity.test_postcard_evidence import batch

NEVER = TimerLateness(count=0, missed=0, mean_ns=0, max_ns=0)
SENT = [(300, 1300), (301, 1301), (10, 1010)]
READ = [(350, 1400), (340, 1390), (20, 1050)]


def sender(sent: list[tuple[int | None, int | None]] | list[tuple[int, int]]) -> SenderReport:
    flows = [
        SenderFlowReport.model_construct(flow=i, start_ns=start, end_ns=end)
        for i, (start, end) in enumerate(sent)
    ]
    return SenderReport.model_construct(flows=tuple(flows), lost=0, lateness=NEVER)


def sink() -> SinkReport:
    flows = [
        SinkFlowReport.model_construct(flow=i, first_byte_ns=first, last_byte_ns=last)
        for i, (first, last) in enumerate(READ)
    ]
    return SinkReport.model_construct(flows=tuple(flows), strangers=0, lateness=NEVER)


def test_each_strategy_has_its_own_span(testbed: Testbed) -> None:
    scenario = scenario_with("start_jitter: 50ms", "start: iperf3")
    trial = next(t for t in plan_of(scenario, testbed).trials if t.key.startswith("b2bdp-k01"))
    flows = make_attempt(scenario, trial, 0, 0, Path("/nowhere")).flows
    assert spans(flows, sender(SENT), sink()) == (
        FlowSpan(group=0, strategy="cubic", start_ns=300, first_byte_ns=340, last_byte_ns=1400,
             end_ns=1300),
        FlowSpan(group=0, strategy="bbr", start_ns=10, first_byte_ns=20, last_byte_ns=1050,
             end_ns=1010),
    )  # fmt: skip


def test_windows() -> None:
    report = sender(SENT)
    plain = scenario_with("start_jitter: 50ms", "start: together")
    assert measured_window(plain, report, None) == (100_000_000, 400_000_000)
    whole = scenario_with("start_jitter: 50ms", "start: iperf3\nwindow: whole")
    assert measured_window(whole, report, None) == (10, 1301)
    # What all processes shared, less the warm-up.
    iperf3 = scenario_with("start_jitter: 50ms\n", "start: iperf3\nstart_jitter: 0s\n")
    iperf3 = iperf3.model_copy(update={"warmup": type(iperf3.warmup)(99)})
    assert measured_window(iperf3, report, None) == (301 + 99, 1010)


def test_a_trial_that_settled_is_measured_where_it_was_steady() -> None:
    scenario = scenario_with(
        "duration: 400ms\nwarmup: 100ms", "duration: {until: settled}\nwarmup: 20s"
    )
    steady = Steadiness(settled=True, window_ns=(7, 9), drifts=())
    assert measured_window(scenario, sender(SENT), steady) == (7, 9)


def test_flows_that_never_ran_leave_an_empty_window() -> None:
    whole = scenario_with("start_jitter: 50ms", "start: iperf3\nwindow: whole")
    assert measured_window(whole, sender([(None, None)]), None) == (0, 0)


def test_the_queue_is_not_rebuilt_where_packets_overtake_others(testbed: Testbed) -> None:
    """A flow queue's, and one that nobody knows; CoDel's is first in, first out."""
    scenario, can = scenario_with("small", "usual"), dpdk_capabilities(testbed.dataplane)
    (trial, *_) = plan_of(scenario, testbed).trials
    attempt, limit = make_attempt(scenario, trial, 0, 0, Path("/nowhere")), trial.setting.limit
    for discipline, wrong in (("codel", 1), ("fq_codel", 0), ("mine", 0)):
        applied = Applied(
            rate_bps=10**8,
            limit=limit,
            buffer_bytes=limit.in_bytes,
            overhead_bytes=0,
            discipline=Discipline(name=discipline),
        )
        evidence = Evidence.empty(attempt, applied, can, (0, 10**9)).postcards
        assert evidence is not None
        evidence.depth.examine(batch([(0, 500, 10)], queue_bytes=1000))
        assert evidence.depth.wrong == wrong


@pytest.mark.parametrize(
    ("disciplines", "counts", "told", "wrong"),
    [
        ((None, "codel"), "system", {"own": 1000, "all": 0}, 1),
        ((None, "codel"), "system", {"own": 0, "all": 1000}, 1),
        ((None, "fq_codel"), "system", {"own": 1000, "all": 1000}, 1),
        (("mine", None), "system", {"own": 1000, "all": 1000}, 0),
        ((None, None), "queue", {"own": 0, "all": 0}, 0),
    ],
)
def test_several_queues_are_rebuilt_each_by_itself(
    testbed: Testbed,
    disciplines: tuple[str | None, ...],
    counts: LimitCounts,
    told: dict[str, int],
    wrong: int,
) -> None:
    """A packet of the first of two queues, which met nothing."""
    scenario, can = scenario_with("small", "usual"), dpdk_capabilities(testbed.dataplane)
    (trial, *_) = plan_of(scenario, testbed).trials
    attempt, limit = make_attempt(scenario, trial, 0, 0, Path("/nowhere")), trial.setting.limit
    applied = Applied(
        rate_bps=10**8,
        limit=limit,
        buffer_bytes=limit.in_bytes,
        overhead_bytes=0,
        limit_counts=counts,
        queues=Queues(
            scheduler="drr",
            memory=Memory(name="complete_sharing"),
            queues=tuple(
                Queue(name=f"q{i}", discipline=name and Discipline(name=name))
                for i, name in enumerate(disciplines)
            ),
        ),
    )
    evidence = Evidence.empty(attempt, applied, can, (0, 10**9)).postcards
    assert evidence is not None
    card = batch([(0, 500, 10)], queue_bytes=told["all"])
    own = np.array([told["own"]])
    evidence.depth.examine(replace(card, queue=np.zeros(1, np.uint8), own_queue_bytes=own))
    assert evidence.depth.wrong == wrong
