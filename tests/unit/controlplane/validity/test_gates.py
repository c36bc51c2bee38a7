"""The gates on measurements made by hand: each bound from both sides."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.applications import Application, Media
from nashbed.controlplane.contract.messages.dataplane import (
    Counters,
    DepartureLateness,
    DisturbanceTotals,
    FlowRegisters,
    LaneCounters,
    LoopCounters,
    PortCounters,
    SharedCounters,
    TelemetryTotals,
)
from nashbed.controlplane.contract.messages.flows import (
    ReadyFlow,
    SenderFlowReport,
    SenderReport,
    SinkFlowReport,
    SinkReport,
    TimerLateness,
)
from nashbed.controlplane.contract.path_changes import Reorder
from nashbed.controlplane.contract.plan import PlannedTrial
from nashbed.controlplane.contract.records import FLOW_SAMPLE, GOODPUT
from nashbed.controlplane.contract.target import (
    PLAIN_LANE,
    Applied,
    Capabilities,
    Limit,
    TimeBounds,
)
from nashbed.controlplane.contract.trial import Gate, HostStrain, Setting
from nashbed.controlplane.contract.units import Duration, Share
from nashbed.controlplane.lane.programmed import difference, loss_counters
from nashbed.controlplane.plan.attempt import Attempt, TrialFlow
from nashbed.controlplane.validity import gates
from nashbed.controlplane.validity.findings import marks_of
from nashbed.controlplane.validity.hold_ups import (
    DisturbanceEvidence,
    HoldUps,
    QueueingDelay,
    WindowLimits,
)
from nashbed.controlplane.validity.measurement import DatagramCounts, Evidence, TrialMeasurement
from nashbed.controlplane.validity.postcard_evidence import Edges, SinkTotals, SocketSightings
from tests.fakes.traffic import departed
from tests.unit.controlplane.conftest import SCENARIO

MS = 10**6
LIMIT = Limit(unit="bytes", value=250_000)
SETTING = Setting(
    label="b2bdp", rate_bps=10**8, buffer_bytes=250_000, buffer_label="2bdp",
    buffer_bdp=2, base_rtt_ns=(10 * MS,), limit=LIMIT,
)  # fmt: skip
CAN = Capabilities(
    target="made up", lanes=1, flows=1, lane=PLAIN_LANE, max_rate_bps=10**9,
    max_buffer_bytes=10**6, arrival_stamps=True,
)  # fmt: skip
EXACT = TimeBounds(departure_ns=0, loop_gap_ns=0, sampling_ns=10_000, delay_ns=1, rate_percent=0.0)
"""A target whose times are exact."""
SENT = SenderFlowReport(
    flow=0, cc_applied="cubic", connect_ns=None, handshake_ns=1, start_ns=1, end_ns=400 * MS,
    bytes_acked=0, bytes_sent=0, bytes_retrans=0, total_retrans=0, notsent_bytes=0,
    min_rtt_us=None, error=None,
)  # fmt: skip
LATENESS = DepartureLateness(
    count=110, mean_ns=1, p50_ns=1, p99_ns=1, p999_ns=400_000, max_ns=400_000, max_gap_ns=2000
)
REGISTERS = FlowRegisters(
    arrived_packets=(110,), arrived_bytes=(166_540,),
    departed_packets=(100,), departed_bytes=(151_400,),
    dropped_packets=(10,), dropped_bytes=(15_140,),
    in_queue_bytes=(0,), peak_queue_bytes=(1,), marked_packets=(0,), marked_bytes=(0,),
)  # fmt: skip
SHARED = SharedCounters(
    ports={
        "senders": PortCounters(
            rx_packets=5,
            tx_packets=6,
            rx_bytes=7,
            tx_bytes=8,
            rx_dropped=1,
            tx_dropped=12,
            rx_no_mbuf=2,
            xdp_rx_dropped=3,
            xdp_rx_ring_full=10,
            xdp_fill_ring_empty=13,
            xdp_tx_invalid=11,
            rx_unstamped=14,
            link_downs=15,
        )
    },
    rings={"no_memory": 4, "p4": 5, "discarded": 6},
    loop=LoopCounters(iterations=1, busy=1, busy_ns=1, max_gap_ns=1),
    unshaped={"reverse_packets": 7, "malformed_packets": 8},
)


def flow(index: int, cc: str) -> TrialFlow:
    return TrialFlow(index, 0, "main", cc, 10 * MS, "10.64.0.1", "10.65.0.1", 10000 + index, 0)


def attempt() -> Attempt:
    trial = PlannedTrial(key="b2bdp-k0-r0", setting=SETTING, mix=(), repetition=0)
    scenario = parse_scenario(SCENARIO, "s.yaml").model
    return Attempt(scenario, trial, 0, 0, Path("unused"), 1, (flow(0, "cubic"),), 1)


@pytest.fixture
def trial() -> TrialMeasurement:
    lane = LaneCounters(
        queue_packets=0, delay_packets=0, random_loss_packets=0, postcards=110, lateness=LATENESS
    )
    edges = Edges(1, (100 * MS, 400 * MS), 0.1)
    edges.first[:] = edges.last[:] = True
    return TrialMeasurement(
        attempt=attempt(),
        applied=Applied(rate_bps=10**8, limit=LIMIT, buffer_bytes=250_000, overhead_bytes=0),
        t0_ns=1,
        epoch_ns=0,
        started_utc="",
        ended_utc="",
        ready=(ReadyFlow(flow=0, cc_applied="cubic", handshake_ns=1),),
        sender=SenderReport(
            flows=(SENT,),
            lost=0,
            lateness=TimerLateness(count=100, missed=0, mean_ns=10_000, max_ns=10_000),
        ),
        sink=sunk(144_800),
        window_ns=(100 * MS, 400 * MS),
        steadiness=None,
        counters=Counters(flows=REGISTERS, lane=lane, shared=SHARED),
        telemetry=totals(110, 110, 0, 0),
        disturbances=DisturbanceTotals(bins=4, pauses=2, lost=0),
        losses={"nbs0_tx_dropped": 0},
        link_downs={},
        strain=HostStrain(),
        evidence=Evidence(
            None,
            edges,
            WindowLimits(1, (100 * MS, 400 * MS)),
            queued(30 * MS),
            undisturbed(),
            DatagramCounts(1),
            SinkTotals(1, (100 * MS, 400 * MS)),
        ),
        capabilities=CAN,
    )


def queued(mean_ns: int) -> QueueingDelay:
    """A window in which two packets left, after this time in the queue on average."""
    found = QueueingDelay((100 * MS, 400 * MS))
    times, delays = np.array([100 * MS, 399 * MS]), np.array([0.0, 2.0 * mean_ns])
    found.examine(departed(times, delays, np.array([1, 1], np.uint32)))
    return found


def undisturbed() -> DisturbanceEvidence:
    """A thousand departures and returns, none held up; ten responses of 50 us."""
    found = DisturbanceEvidence((100 * MS, 400 * MS))
    found.departures = found.returns = HoldUps(1000, 0, 0)
    found.responses = HoldUps(10, 500_000, 50_000)
    return found


def disturbed(trial: TrialMeasurement, **hold_ups: HoldUps) -> TrialMeasurement:
    found = undisturbed()
    vars(found).update(hold_ups)
    return replace(trial, evidence=replace(trial.evidence, disturbance=found))


def able(trial: TrialMeasurement, **abilities: Any) -> TrialMeasurement:
    return replace(trial, capabilities=trial.capabilities.model_copy(update=abilities))


def totals(seen: int, written: int, gaps: int, lost: int) -> TelemetryTotals:
    return TelemetryTotals(seen=seen, written=written, gaps=gaps, lost=lost)


def sunk(read: int) -> SinkReport:
    never = TimerLateness(count=0, missed=0, mean_ns=0, max_ns=0)
    flow = SinkFlowReport.model_construct(flow=0, bytes=read, first_byte_ns=None, last_byte_ns=None)
    return SinkReport(strangers=0, acks=0, segments=0, lateness=never, flows=(flow,))


def with_sender(trial: TrialMeasurement, **changes: Any) -> TrialMeasurement:
    flows = (SENT.model_copy(update=changes),)
    return replace(trial, sender=trial.sender.model_copy(update={"flows": flows}))


def with_registers(trial: TrialMeasurement, **changes: tuple[int]) -> TrialMeasurement:
    flows = REGISTERS.model_copy(update=changes)
    return replace(trial, counters=trial.counters.model_copy(update={"flows": flows}))


def with_lateness(trial: TrialMeasurement, **changes: int) -> TrialMeasurement:
    late = LATENESS.model_copy(update=changes)
    lane = trial.counters.lane.model_copy(update={"lateness": late})
    return replace(trial, counters=trial.counters.model_copy(update={"lane": lane}))


def with_base_rtt(trial: TrialMeasurement, rtt_ns: int) -> TrialMeasurement:
    planned = trial.attempt.trial
    setting = planned.setting.model_copy(update={"base_rtt_ns": (rtt_ns,)})
    planned = planned.model_copy(update={"setting": setting})
    return replace(trial, attempt=replace(trial.attempt, trial=planned))


def test_a_good_trial_passes_every_gate(trial: TrialMeasurement) -> None:
    assert [gate.name for gate in gates.judge(trial) if not gate.passed] == []


def test_every_gate_has_a_name_of_its_own(trial: TrialMeasurement) -> None:
    names = [gate.name for gate in gates.judge(trial)]
    assert len(set(names)) == len(gates.GATES)


def test_any_loss_outside_the_bottleneck_fails(trial: TrialMeasurement) -> None:
    gate = gates.no_other_loss(replace(trial, losses={"a": 0, "ring x": 3, "port y": 2}))
    assert (gate.passed, gate.value, gate.detail) == (False, 5, "ring x 3; port y 2")


def reordered(trial: TrialMeasurement) -> TrialMeasurement:
    """The trial with a path that reorders, of which TCP discarded three packets for their age."""
    group = trial.attempt.scenario.flows[0].model_copy(
        update={"reorder": Reorder(share=Share(10**8), by=Duration(5 * MS))}
    )
    scenario = trial.attempt.scenario.model_copy(update={"flows": (group,)})
    attempt = replace(trial.attempt, scenario=scenario)
    return replace(trial, attempt=attempt, losses={"rcv PAWSEstab": 3, "ring x": 0})


def test_what_tcp_discards_of_a_reordered_path_is_no_loss_of_the_hosts(
    trial: TrialMeasurement,
) -> None:
    gate = gates.no_other_loss(reordered(trial))
    assert gate.passed
    assert gate.detail.endswith("TCP discarded 3 reordered packets for their age (PAWS)")
    in_order = replace(trial, losses={"rcv PAWSEstab": 3})
    assert not gates.no_other_loss(in_order).passed
    other = replace(reordered(trial), losses={"rcv PAWSEstab": 3, "ring x": 1})
    assert (gates.no_other_loss(other).passed, gates.no_other_loss(other).value) == (False, 1)


def test_a_link_that_was_lost_fails(trial: TrialMeasurement) -> None:
    downs = {"port senders": 0, "port receivers": 1, "enp4s0f1": 1}
    gate = gates.links_up(replace(trial, link_downs=downs))
    assert (gate.passed, gate.value) == (False, 2)
    assert gate.detail == "port receivers 1; enp4s0f1 1"


@pytest.mark.parametrize("counts", [(9, 9, 1, 0), (9, 9, 0, 1)])
def test_a_lost_postcard_fails(trial: TrialMeasurement, counts: tuple[int, int, int, int]) -> None:
    gate = gates.postcards_complete(replace(trial, telemetry=totals(*counts)))
    assert (gate.passed, gate.value) == (False, 1)


@pytest.mark.parametrize(
    ("changes", "detail"),
    [
        ({"start_ns": 100 * MS + 1}, "flow 0 sent from 100000001 to 400000000 ns"),
        ({"end_ns": 400 * MS - 1}, "flow 0 sent from 1 to 399999999 ns"),
        ({"end_ns": None}, "flow 0 sent from 1 to None ns"),
        ({"error": "Connection reset"}, "flow 0: Connection reset"),
    ],
)
def test_a_flow_must_send_for_the_whole_window(
    trial: TrialMeasurement, changes: dict[str, Any], detail: str
) -> None:
    gate = gates.flows_overlapped(with_sender(trial, **changes))
    assert (gate.passed, gate.detail) == (False, detail)


@pytest.mark.parametrize(("late_ns", "passes"), [(100 * MS, True), (100 * MS + 1, False)])
def test_a_flow_that_starts_with_the_window_has_a_margin(
    trial: TrialMeasurement, late_ns: int, passes: bool
) -> None:
    """It is to start 100 ms after t0, where the window begins."""
    flows = tuple(replace(flow, start_ns=100 * MS) for flow in trial.attempt.flows)
    planned = replace(trial, attempt=replace(trial.attempt, flows=flows))
    changed = with_sender(planned, start_ns=100 * MS + late_ns)
    assert gates.flows_overlapped(changed).passed is passes


@pytest.mark.parametrize(("late_ns", "passes"), [(120 * MS, True), (120 * MS + 1, False)])
def test_in_a_window_of_its_own_a_strategy_has_begun_when_its_last_flow_is_to_have(
    trial: TrialMeasurement, late_ns: int, passes: bool
) -> None:
    """The second flow is to start 20 ms after the first, which is 10 ms late itself."""
    flows = [
        replace(flow(index, "cubic"), start_ns=at) for index, at in ((0, 60 * MS), (1, 80 * MS))
    ]
    scenario = trial.attempt.scenario.model_copy(update={"window": "whole"})
    sent = [
        SENT.model_copy(update={"flow": index, "start_ns": at})
        for index, at in ((0, 70 * MS), (1, 70 * MS + late_ns))
    ]
    edges = Edges(2, trial.window_ns, 0.1)
    edges.first[:] = edges.last[:] = True
    whole = replace(
        trial,
        attempt=replace(trial.attempt, scenario=scenario, flows=tuple(flows)),
        sender=trial.sender.model_copy(update={"flows": tuple(sent)}),
        sink=trial.sink.model_copy(update={"flows": trial.sink.flows * 2}),
        evidence=replace(trial.evidence, edges=edges),
    )
    assert gates.flows_overlapped(whole).passed is passes


def test_a_flow_must_be_seen_at_both_ends(trial: TrialMeasurement) -> None:
    edges, why = trial.evidence.edges, ", and had nothing to send"
    edges.last[0] = False
    assert gates.flows_overlapped(trial).detail == f"flow 0 (cubic) sent nothing at the end{why}"
    edges.last[0], edges.first[0] = True, False
    gate = gates.flows_overlapped(trial)
    assert gate.detail == f"flow 0 (cubic) sent nothing at the beginning{why}"


@pytest.mark.parametrize("waiting", ["unacked", "notsent_bytes"])
def test_a_starved_flow_competes_as_long_as_its_socket_is_alive(
    trial: TrialMeasurement, waiting: str
) -> None:
    """Silent from 200 ms on, with data to send; then with none, then dead."""
    edges = trial.evidence.edges
    edges.last[0] = False
    samples = np.zeros(2, FLOW_SAMPLE)
    samples["t_ns"] = 200 * MS, 390 * MS
    SocketSightings(edges).examine(samples)
    assert not gates.flows_overlapped(trial).passed
    samples[waiting] = 1
    SocketSightings(edges).examine(samples)
    assert gates.flows_overlapped(trial).passed
    dead = with_sender(trial, error="Connection timed out", end_ns=300 * MS)
    assert gates.flows_overlapped(dead).detail == "flow 0: Connection timed out"


def bounded(trial: TrialMeasurement, **bounds: str) -> TrialMeasurement:
    text = SCENARIO + f"gates: {bounds}\n".replace("'", "")
    scenario = parse_scenario(text, "s.yaml").model
    return replace(trial, attempt=replace(trial.attempt, scenario=scenario))


def verdict(gate: Gate) -> tuple[bool, float | None, float | None]:
    return gate.passed, gate.value, gate.limit


def test_round_trips_are_held_to_one_percent_of_rtt_and_queue(trial: TrialMeasurement) -> None:
    """10 ms of base RTT and 30 ms of queue: 1 % is 0.4 ms, over a thousand returns 400 ms."""
    exactly = disturbed(trial, returns=HoldUps(1000, 400 * MS, 40 * MS))
    gate = gates.round_trips(exactly)
    assert verdict(gate) == (True, 400_000, 400_000)
    assert gate.detail == (
        "round trips 0.4 ms too long on average (1 % of 40 ms), at most 40 ms; no pause"
    )
    longer = disturbed(
        trial, returns=HoldUps(1000, 400 * MS + 1000, MS), pauses=HoldUps(2, 9 * MS, 6 * MS)
    )
    gate = gates.round_trips(longer)
    assert verdict(gate) == (False, 400_001, 400_000)
    assert gate.detail.endswith("at most 1 ms; 2 pauses, longest 6 ms")
    assert gates.round_trips(bounded(longer, round_trip_error="2%")).limit == 800_000
    assert not gates.round_trips(bounded(exactly, round_trip_error="0.5%")).passed


def test_a_loop_that_pauses_for_too_much_of_the_window_is_refused(trial: TrialMeasurement) -> None:
    begin, end = trial.window_ns
    most = int(gates.PAUSED * (end - begin))
    some = disturbed(trial, pauses=HoldUps(20, most, 20 * MS))
    assert verdict(gates.paused(some)) == (True, most, most)
    assert gates.paused(some).detail == "paused for 1.5 % of the window, 20 times"
    many = disturbed(trial, pauses=HoldUps(21, most + 1, 20 * MS))
    assert verdict(gates.paused(many)) == (False, most + 1, most)
    assert gates.paused(bounded(many, paused="2%")).passed
    assert not gates.paused(bounded(some, paused="0.5%")).passed


def test_no_round_trip_is_held_up_for_longer_than_itself(trial: TrialMeasurement) -> None:
    held_up = disturbed(trial, returns=HoldUps(1000, 40 * MS + 1, 40 * MS + 1))
    assert verdict(gates.round_trips(held_up)) == (False, 40 * MS + 1, 40 * MS)
    assert gates.round_trips(bounded(held_up, longest_hold_up="1s")).passed


def test_no_round_trip_is_held_up_for_a_retransmission_timeout(trial: TrialMeasurement) -> None:
    """300 ms of base RTT and 30 ms of queue, but 200 ms is TCP's shortest timeout."""
    slow = with_base_rtt(trial, 300 * MS)
    allowed = disturbed(slow, returns=HoldUps(1000, 200 * MS, 200 * MS))
    assert verdict(gates.round_trips(allowed)) == (True, 200_000, 3_300_000)
    held_up = disturbed(slow, returns=HoldUps(1000, 200 * MS + 1, 200 * MS + 1))
    assert verdict(gates.round_trips(held_up)) == (False, 200 * MS + 1, 200 * MS)


def test_round_trips_are_judged_by_what_is_there(trial: TrialMeasurement) -> None:
    gate = gates.round_trips(disturbed(trial, returns=HoldUps()))
    assert verdict(gate) == (True, None, None)
    assert gate.detail == "not judged: nothing came back in the window"
    lost = replace(trial, disturbances=DisturbanceTotals(bins=4, pauses=2, lost=3))
    gate = gates.round_trips(lost)
    assert (verdict(gate), gate.unit) == ((False, 3, 0), "records")


def test_a_host_answers_within_a_round_trip(trial: TrialMeasurement) -> None:
    exactly = disturbed(trial, responses=HoldUps(10, 40 * MS, 40 * MS))
    gate = gates.responses(exactly)
    assert verdict(gate) == (True, 40 * MS, 40 * MS)
    assert gate.detail == "answered after 4 ms on average, 40 ms at most"
    stalled = disturbed(trial, responses=HoldUps(10, 41 * MS, 40 * MS + 1))
    assert verdict(gates.responses(stalled)) == (False, 40 * MS + 1, 40 * MS)
    assert gates.responses(bounded(stalled, longest_hold_up="50ms")).passed
    slow = with_base_rtt(disturbed(trial, responses=HoldUps(1, 201 * MS, 201 * MS)), 300 * MS)
    assert verdict(gates.responses(slow)) == (False, 201 * MS, 200 * MS)


def test_responses_are_judged_by_what_is_there(trial: TrialMeasurement) -> None:
    assert verdict(gates.responses(disturbed(trial, responses=HoldUps()))) == (True, None, None)
    stalled = disturbed(trial, responses=HoldUps(1, 10**9, 10**9))
    # Beside a switch the senders' host is asked all the same.
    assert not gates.responses(able(stalled, switch_beside=True)).passed


def test_where_times_are_exact_no_response_is_too_late(trial: TrialMeasurement) -> None:
    """No core can be taken away: what takes long there is TCP's own timers."""
    stalled = disturbed(trial, responses=HoldUps(1, 10**9, 10**9))
    gate = gates.responses(able(stalled, time_bounds=EXACT))
    assert verdict(gate) == (True, 10**9, None)
    assert gate.detail.startswith("not judged: times are exact; answered after 1e+03 ms on average")


def test_lateness_beside_a_switch_is_held_to_one_percent_of_the_rtt_or_half_a_millisecond(
    trial: TrialMeasurement,
) -> None:
    beside = able(trial, switch_beside=True)
    exactly = with_lateness(beside, p999_ns=500_000)
    assert verdict(gates.lateness(exactly)) == (True, 500_000, 500_000)
    late = with_lateness(beside, p999_ns=500_001)
    assert verdict(gates.lateness(late)) == (False, 500_001, 500_000)
    assert gates.lateness(bounded(late, lateness_p999="1ms")).passed
    assert gates.lateness(with_base_rtt(late, 200 * MS)).limit == 2 * MS


def test_lateness_that_is_compensated_is_not_judged(trial: TrialMeasurement) -> None:
    gate = gates.lateness(with_lateness(trial, p999_ns=10**9))
    assert verdict(gate) == (True, 10**9, None)
    assert gate.detail.startswith("not judged: the return path compensates; p99.9 1000000000 ns")


def test_where_nothing_is_stamped_the_longest_pause_is_held_to_a_base_rtt(
    trial: TrialMeasurement,
) -> None:
    plain = able(trial, arrival_stamps=False)
    assert verdict(gates.loop_gap(paused(plain, 10 * MS))) == (True, 10 * MS, 10 * MS)
    assert not gates.loop_gap(paused(plain, 10 * MS + 1)).passed
    assert gates.loop_gap(paused(bounded(plain, longest_hold_up="1s"), 11 * MS)).passed
    assert gates.loop_gap(with_base_rtt(plain, 40 * MS)).limit == 40 * MS


def test_a_pause_outside_the_window_does_not_count(trial: TrialMeasurement) -> None:
    """The lane's own longest pause is that since its reset."""
    plain = able(with_lateness(trial, max_gap_ns=10**9), arrival_stamps=False)
    assert verdict(gates.loop_gap(plain)) == (True, 0, 10 * MS)


def test_a_pause_is_not_judged_where_it_moves_no_arrival_or_is_a_rest(
    trial: TrialMeasurement,
) -> None:
    gate = gates.loop_gap(paused(trial, 10**9))
    assert verdict(gate) == (True, 10**9, None)
    assert gate.detail.startswith("not judged: arrivals are stamped; 1 pauses in the window")
    asleep = able(paused(trial, 10**9), arrival_stamps=False, loop_polls=False)
    gate = gates.loop_gap(asleep)
    assert verdict(gate) == (True, None, None)
    assert gate.detail == "not judged: the loop sleeps (dataplane.loop)"


def paused(trial: TrialMeasurement, pause_ns: int) -> TrialMeasurement:
    return disturbed(trial, pauses=HoldUps(1, pause_ns, pause_ns))


def test_registers_must_add_up(trial: TrialMeasurement) -> None:
    assert gates.conservation(trial).detail == "exact"
    for name, detail in (
        ("dropped_bytes", "flow 0: -1 bytes unaccounted"),
        ("departed_packets", "flow 0: -1 packets gone"),
    ):
        more = (getattr(REGISTERS, name)[0] + 1,)
        gate = gates.conservation(with_registers(trial, **{name: more}))
        assert (gate.passed, gate.detail) == (False, detail)
    queued = with_registers(trial, in_queue_bytes=(60,), arrived_bytes=(166_600,))
    gate = gates.conservation(queued)
    assert gate.detail == "flow 0: bytes left in the drained queue"


@pytest.mark.parametrize(
    ("read", "passed"),
    [(144_800, True), (146_000, True), (146_001, False), (0, True), (-1, True)],
)
def test_without_all_postcards_the_sink_is_held_to_bounds(
    trial: TrialMeasurement, read: int, passed: bool
) -> None:
    # 100 packets of 1514 bytes: at most 100 x 1460 bytes of payload; nothing is too little
    # with a queue and a path that may still hold all of it.
    assert gates.sink_bytes(replace(trial, sink=sunk(read))).passed is passed


@pytest.mark.parametrize(("read", "passed"), [(1_000_000, True), (999_999, False)])
def test_without_all_postcards_the_sink_may_read_too_little(
    trial: TrialMeasurement, read: int, passed: bool
) -> None:
    """1000 packets of 1514 bytes with headers of 134 carry 1.38 MB, of which 375 kB may be on their
    way (the buffer, and 10 ms of 100 Mbit/s), and 5 kB came again.
    """
    many = with_registers(trial, departed_packets=(1000,), departed_bytes=(1_514_000,))
    again = with_sender(replace(many, sink=sunk(read)), bytes_retrans=5000)
    assert gates.sink_bytes(again).passed is passed


@pytest.mark.parametrize(
    ("mean", "missed", "marks"),
    [
        (12_500_000, 1, ()),
        (12_500_001, 0, ("samples of TCP's state: 0 of 99 missed, mean 12.5 ms late",)),
        (0, 2, ("samples of TCP's state: 2 of 101 missed, mean 0 ms late",)),
    ],
)
def test_samples_that_are_missing_are_a_mark(
    trial: TrialMeasurement, mean: int, missed: int, marks: tuple[str, ...]
) -> None:
    """A quarter of the 50 ms between samples, and 1 % of the ticks."""
    late = with_timer(trial, count=99, missed=missed, mean_ns=mean, max_ns=mean)
    assert gates.sampling(late).passed
    assert gates.sampling(late).detail.startswith("not judged: a mark tells; ")
    assert marks_of(late) == marks


def with_timer(trial: TrialMeasurement, **timer: int) -> TrialMeasurement:
    lateness = TimerLateness(**timer)
    return replace(trial, sender=trial.sender.model_copy(update={"lateness": lateness}))


def test_where_times_are_exact_nothing_may_be_late(trial: TrialMeasurement) -> None:
    """The scenario's bounds, however wide, do not widen those of the target."""
    wide = bounded(trial, lateness_p999="1s", round_trip_error="50%", longest_hold_up="1s")
    exact = able(wide, time_bounds=EXACT)
    on_time = with_lateness(exact, p999_ns=0, max_ns=0, max_gap_ns=0)
    assert verdict(gates.lateness(on_time)) == (True, 0, 0)
    assert verdict(gates.loop_gap(on_time)) == (True, 0, 0)
    assert verdict(gates.lateness(with_lateness(on_time, max_ns=1))) == (False, 1, 0)
    assert verdict(gates.loop_gap(with_lateness(on_time, max_gap_ns=1))) == (False, 1, 0)
    assert gates.round_trips(on_time).passed
    late = disturbed(on_time, returns=HoldUps(1000, 1, 1))
    assert verdict(gates.round_trips(late)) == (False, 1, 0)
    for mean, missed, passed in ((10_000, 0, True), (10_001, 0, False), (0, 1, False)):
        timed = with_timer(exact, count=10_000, missed=missed, mean_ns=mean, max_ns=mean)
        assert gates.sampling(timed).passed is passed
        assert marks_of(timed) == ()


def test_cca_is_read_back(trial: TrialMeasurement) -> None:
    ready = (trial.ready[0].model_copy(update={"cc_applied": "reno"}),)
    gate = gates.congestion_control(replace(trial, ready=ready))
    assert gate.detail == "flow 0: 'reno' instead of 'cubic'"
    assert not gates.congestion_control(with_sender(trial, cc_applied="reno")).passed


def test_ecn_is_read_back(trial: TrialMeasurement) -> None:
    assert gates.ecn(trial).passed
    gate = gates.ecn(with_sender(trial, ecn=True))
    assert (gate.passed, gate.detail) == (False, "flow 0 (cubic) has ECN")
    (flow,) = trial.attempt.flows
    asked = replace(trial, attempt=replace(trial.attempt, flows=(replace(flow, ecn=True),)))
    assert gates.ecn(asked).detail == "flow 0 (cubic) has no ECN"
    assert gates.ecn(with_sender(asked, ecn=True)).passed


def test_which_counters_are_losses() -> None:
    assert loss_counters(SHARED, {"softnet_dropped": 9}) == {
        "softnet_dropped": 9,
        "port senders rx_dropped": 1,
        "port senders tx_dropped": 12,
        "port senders rx_no_mbuf": 2,
        "port senders xdp_rx_dropped": 3,
        "port senders xdp_rx_ring_full": 10,
        "port senders xdp_tx_invalid": 11,
        "ring no_memory": 4,
        "ring p4": 5,
        "unshaped malformed_packets": 8,
    }


def test_losses_are_counted_from_before() -> None:
    assert difference({"a": 5, "b": 1}, {"a": 3}) == {"a": 2, "b": 1}


def media(trial: TrialMeasurement, sent: int, there: int, lost: int = 0) -> TrialMeasurement:
    """The trial with datagrams of 100 B payload as its flow: 110 at the bottleneck, 100 left it."""
    wire = 142
    registers = REGISTERS.model_copy(
        update={"departed_bytes": (100 * wire,), "dropped_bytes": (10 * wire,),
                "arrived_bytes": (110 * wire,)}
    )  # fmt: skip
    lane = trial.counters.lane.model_copy(update={"random_loss_packets": lost})
    counters = trial.counters.model_copy(update={"flows": registers, "lane": lane})
    counts = DatagramCounts(1)
    counts.sent[0], counts.arrived[0] = sent, there
    return replace(
        trial,
        attempt=replace(trial.attempt, flows=(replace(trial.attempt.flows[0], cc="udp"),)),
        counters=counters,
        sink=sunk(there * 100),
        evidence=replace(trial.evidence, datagrams=counts),
    )


@pytest.mark.parametrize(
    ("sent", "there", "lost", "passes"),
    [
        (110, 100, 0, True),
        (111, 100, 0, False),
        (111, 100, 1, True),
        (112, 100, 1, False),
        (109, 100, 1, False),
        (110, 99, 0, False),
    ],
)
def test_what_was_sent_has_arrived_or_was_dropped_or_lost_at_random(
    trial: TrialMeasurement, sent: int, there: int, lost: int, passes: bool
) -> None:
    changed = media(trial, sent, there, lost)
    assert gates.conservation(changed).passed is passes
    assert gates.sink_bytes(changed).passed is (there == 100)


def test_a_datagram_that_arrives_twice_is_found(trial: TrialMeasurement) -> None:
    changed = media(trial, 110, 100)
    changed.evidence.datagrams.copies = 1
    assert not gates.conservation(changed).passed


def test_datagrams_have_no_congestion_control_to_read_back(trial: TrialMeasurement) -> None:
    assert gates.congestion_control(media(trial, 110, 100)).passed


@pytest.mark.parametrize(
    ("app", "passes"),
    [
        ({"rate": "387kbit"}, False),
        ({"rate": "386kbit"}, True),  # a full segment in 30.01 ms
        ({"video": {"ladder": ["1mbit"], "segment": "1s", "buffer": "4s"}}, True),
        # The first part of the window is 100 to 130 ms, the last one 370 to 400 ms.
        ({"on": "50ms", "off": "400ms"}, True),
        ({"on": "110ms", "off": "400ms"}, False),
        ({"on": "50ms", "off": "330ms"}, False),
    ],
)
def test_a_flow_need_not_be_seen_while_it_pauses_on_purpose(
    trial: TrialMeasurement, app: dict[str, Any], passes: bool
) -> None:
    trial.evidence.edges.first[:] = trial.evidence.edges.last[:] = False
    scenario = trial.attempt.scenario
    group = scenario.flows[0].model_copy(update={"app": Application.model_validate(app)})
    scenario = scenario.model_copy(update={"flows": (group,)})
    changed = replace(trial, attempt=replace(trial.attempt, scenario=scenario))
    assert gates.flows_overlapped(changed).passed is passes


@pytest.mark.parametrize(
    ("udp", "passes"),
    [
        ({"rate": "8kbit", "packet": "30B"}, False),
        ({"rate": "8kbit", "packet": "31B"}, True),
        ({"rate": "1mbit", "packet": "200B", "every": "30ms"}, False),
        ({"rate": "1mbit", "packet": "200B", "every": "31ms"}, True),
    ],
)
def test_datagrams_need_not_be_seen_that_are_further_apart_than_a_part_of_the_window(
    trial: TrialMeasurement, udp: dict[str, Any], passes: bool
) -> None:
    """The first and the last part of the window have 30 ms each."""
    trial.evidence.edges.first[:] = trial.evidence.edges.last[:] = False
    scenario = trial.attempt.scenario
    group = scenario.flows[0].model_copy(update={"udp": Media.model_validate(udp)})
    scenario = scenario.model_copy(update={"flows": (group,)})
    changed = replace(trial, attempt=replace(trial.attempt, scenario=scenario))
    assert gates.flows_overlapped(changed).passed is passes


def of_transfer(trial: TrialMeasurement, **changes: Any) -> TrialMeasurement:
    """The same trial with a transfer for its flow; what its sender reports is changed."""
    one = replace(flow(0, "cubic"), mixed=False, size_bytes=200_000)
    return with_sender(replace(trial, attempt=replace(trial.attempt, flows=(one,))), **changes)


@pytest.mark.parametrize(
    ("changes", "passes"),
    [
        ({"start_ns": 150 * MS, "end_ns": 200 * MS}, True),
        ({"start_ns": None, "end_ns": None}, True),  # still in its handshake at the end
        ({"error": "Connection timed out"}, True),  # starved
        ({"error": "Connection reset by peer"}, False),
        ({"error": "Connection refused"}, False),
    ],
)
def test_a_transfer_may_come_and_end_in_the_window(
    trial: TrialMeasurement, changes: dict[str, Any], passes: bool
) -> None:
    trial.evidence.edges.first[:] = trial.evidence.edges.last[:] = False
    assert gates.flows_overlapped(of_transfer(trial, **changes)).passed is passes


@pytest.mark.parametrize(("connected_ns", "passes"), [(None, True), (2, False)])
def test_of_transfers_only_those_that_were_connected_are_read_back(
    trial: TrialMeasurement, connected_ns: int | None, passes: bool
) -> None:
    other = of_transfer(trial, cc_applied="reno", ecn=True, connect_ns=connected_ns)
    other = replace(other, ready=())
    assert gates.congestion_control(other).passed is passes
    assert gates.ecn(other).passed is passes


@pytest.mark.parametrize(("read", "value"), [(3_000_000, 0), (4_125_000, 0.1), (4_500_000, 0.2)])
def test_without_postcards_sinks_read_no_more_than_the_link_carries(
    trial: TrialMeasurement, read: int, value: float
) -> None:
    """100 Mbit/s for 300 ms: 3.75 MB. What is read outside it does not count."""
    records = np.zeros(4, GOODPUT)
    records["t_ns"] = np.array([100, 101, 400, 401]) * MS
    records["bytes"] = 9_000_000, read - 1000, 1000, 9_000_000
    trial.evidence.read.examine(records)
    gate = gates.window_goodput(trial)
    assert verdict(gate) == (value <= 0.1, pytest.approx(value), 0.1)
    assert gate.detail.startswith(
        f"{read} bytes were read in the window, in which the link carries 3750000"
    )


def seen_in_postcards(trial: TrialMeasurement, **found: Any) -> TrialMeasurement:
    """The same trial with all postcards, of which this was found."""
    cards: Any = SimpleNamespace(**found)
    return replace(trial, evidence=replace(trial.evidence, postcards=cards))


@pytest.mark.parametrize(
    ("is_exact", "wrong", "passed"),
    [(True, 0, True), (True, 1, False), (False, 2, True), (False, 3, False)],
)
def test_departures_that_are_only_seen_may_be_late_once_in_a_thousand(
    trial: TrialMeasurement, is_exact: bool, wrong: int, passed: bool
) -> None:
    link = SimpleNamespace(is_exact=is_exact, checked=2000, wrong=wrong, worst_ns=9)
    gate = gates.link_busy(seen_in_postcards(trial, link=link))
    assert verdict(gate) == (passed, wrong, 0 if is_exact else 2)


@pytest.mark.parametrize(
    ("streamed", "read", "passed"),
    [(1000, 1000, True), (1000, 999, False), (1000, 1001, False), (None, 0, False)],
)
def test_the_sink_reads_what_left_the_bottleneck(
    trial: TrialMeasurement, streamed: int | None, read: int, passed: bool
) -> None:
    streams = SimpleNamespace(readable_bytes=lambda: [streamed])
    gate = gates.sink_bytes(seen_in_postcards(replace(trial, sink=sunk(read)), streams=streams))
    assert gate.passed is passed


@pytest.mark.parametrize(("read", "passed"), [(0, True), (1, False)])
def test_a_transfer_that_never_opened_reads_nothing(
    trial: TrialMeasurement, read: int, passed: bool
) -> None:
    streams = SimpleNamespace(readable_bytes=lambda: [None])
    never = replace(of_transfer(trial), sink=sunk(read))
    assert gates.sink_bytes(seen_in_postcards(never, streams=streams)).passed is passed
