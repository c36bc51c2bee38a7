"""Findings of a trial: copies that came late or never came, with their gate, and marks."""

from dataclasses import replace

import numpy as np
import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.trial import HostStrain, Repeated, SocketLimit, WindowLimited
from nashbed.controlplane.store.postcards import PostcardBatch
from nashbed.controlplane.validity.findings import marks_of, repeated_payload, window_limited
from nashbed.controlplane.validity.gates import no_repaired_loss, window_goodput
from nashbed.controlplane.validity.measurement import TrialMeasurement
from nashbed.controlplane.validity.postcard_evidence import LinkBusy, PostcardEvidence, QueueDepth
from nashbed.controlplane.validity.streams import HOSTS_RESPONSE_NS
from tests.unit.controlplane.conftest import SCENARIO
from tests.unit.controlplane.validity import test_gates as base

MS = 10**6
RTT_NS = 10 * MS
ISN = 2**32 - 1500
trial = base.trial
"""A trial of one flow, without postcards."""
Row = tuple[int, int, bool, int, int]
"""Begin in the stream, payload, dropped, arrival and departure in ns."""
FIRST: list[Row] = [(0, 1000, False, 0, 5 * MS), (1000, 1000, False, 1, 6 * MS)]


def with_postcards(trial: TrialMeasurement, rows: list[Row], retrans: int) -> TrialMeasurement:
    """The trial with a SYN and these segments, in the order of their departure."""
    begin, payload, dropped, arrived, left = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    count = len(rows) + 1
    batch = PostcardBatch(
        dropped=np.append(False, dropped),
        flow=np.zeros(count, np.int64),
        packet_bytes=np.append(74, payload + 66),
        payload_bytes=np.append(0, payload),
        tcp_seq=np.append(ISN, (ISN + 1 + begin) % 2**32),
        tcp_flags=np.append(0x02, np.full(len(rows), 0x10)),
        queue_bytes=np.zeros(count, np.int64),
        enqueue_ns=np.append(0, arrived),
        dequeue_ns=np.append(0, left),
        seq=np.arange(count),
        marks=np.zeros(count, np.uint8),
    )
    postcards = PostcardEvidence.empty([RTT_NS], trial.window_ns, LinkBusy(10**8, 0), QueueDepth())
    for examiner in postcards:
        examiner.examine(batch)
    evidence = replace(trial.evidence, postcards=postcards)
    return base.with_sender(replace(trial, evidence=evidence), bytes_retrans=retrans)


def copy(wait_ns: int) -> Row:
    """The first segment again, so long after it left; it leaves at once."""
    return (0, 1000, False, 5 * MS + wait_ns, 5 * MS + wait_ns)


def test_a_dropped_segment_that_came_again_is_no_other_loss(trial: TrialMeasurement) -> None:
    dropped: Row = (2000, 1000, True, 7 * MS, 7 * MS)
    again: Row = (2000, 1000, False, 30 * MS, 31 * MS)
    made = with_postcards(trial, [*FIRST, dropped, again], retrans=1000)
    assert repeated_payload(made) == ()
    assert base.verdict(no_repaired_loss(made)) == (True, 0, 0)


def test_a_copy_that_the_news_could_not_have_prevented(trial: TrialMeasurement) -> None:
    made = with_postcards(trial, [*FIRST, copy(RTT_NS + HOSTS_RESPONSE_NS)], retrans=1000)
    assert repeated_payload(made) == (
        Repeated(
            flow=0, bytes=1000, packets=1, late=0, longest_ns=RTT_NS + HOSTS_RESPONSE_NS,
            missing_bytes=0,
        ),
    )  # fmt: skip
    gate = no_repaired_loss(made)
    assert (gate.passed, gate.detail) == (True, "1 packets sent again without need")


def test_a_copy_of_what_was_lost_behind_the_bottleneck_fails(trial: TrialMeasurement) -> None:
    made = with_postcards(trial, [*FIRST, copy(RTT_NS + HOSTS_RESPONSE_NS + 1)], retrans=1000)
    gate = no_repaired_loss(made)
    assert base.verdict(gate) == (False, 1, 0)
    assert gate.detail == "flow 0: 1 packets lost behind the bottleneck, 0 bytes before it"


def test_a_copy_of_what_never_arrived_fails(trial: TrialMeasurement) -> None:
    # The second segment was sent twice, but one copy of it alone is seen.
    gate = no_repaired_loss(with_postcards(trial, FIRST, retrans=1000))
    assert base.verdict(gate) == (False, 1, 0)
    assert gate.detail == "flow 0: 0 packets lost behind the bottleneck, 1000 bytes before it"


def test_what_was_sent_again_after_the_report_is_no_loss(trial: TrialMeasurement) -> None:
    assert no_repaired_loss(with_postcards(trial, [*FIRST, copy(MS)], retrans=0)).passed


def test_what_cannot_be_judged(trial: TrialMeasurement) -> None:
    assert repeated_payload(trial) is None
    gate = no_repaired_loss(trial)
    assert (gate.passed, gate.value, gate.detail) == (True, None, "not judged: needs all postcards")
    made = with_postcards(trial, FIRST, retrans=1000)
    lane = made.counters.lane.model_copy(update={"random_loss_packets": 1})
    counters = made.counters.model_copy(update={"lane": lane})
    gate = no_repaired_loss(replace(made, counters=counters))
    assert (gate.passed, gate.value) == (True, None)


def limited(trial: TrialMeasurement, by: SocketLimit, share: float) -> TrialMeasurement:
    trial.evidence.limits.shares[by][0] = share
    return trial


def test_a_good_trial_has_no_mark(trial: TrialMeasurement) -> None:
    assert marks_of(trial) == ()
    assert window_limited(limited(trial, "send buffer", 0.01)) == ()


def test_a_flow_that_its_socket_held_back(trial: TrialMeasurement) -> None:
    assert window_limited(limited(trial, "receive window", 0.0101)) == (
        WindowLimited(
            flow=0, group=0, strategy="cubic", by="receive window", share=0.0101, stated=False
        ),
    )
    assert marks_of(trial) == (
        "flow 0 (cubic) was limited by its receive window for 1.0% of the window",
    )


def test_what_the_scenario_states_is_told_without_a_mark(trial: TrialMeasurement) -> None:
    scenario = parse_scenario(SCENARIO + "hosts: {rmem_max: 4MiB}\n", "s.yaml").model
    stated = replace(trial, attempt=replace(trial.attempt, scenario=scenario))
    assert [flow.stated for flow in window_limited(limited(stated, "receive window", 0.9))] == [
        True
    ]
    assert marks_of(stated) == ()
    limited(stated, "send buffer", 0.5)
    assert marks_of(stated) == (
        "flow 0 (cubic) was limited by its send buffer for 50.0% of the window",
    )


def test_what_ran_short_in_the_hosts(trial: TrialMeasurement) -> None:
    strain = HostStrain(
        pressure={"snd PruneCalled": 0, "rcv PruneCalled": 3, "rcv TCPRcvCollapsed": 9}
    )
    short = replace(trial, strain=strain)
    assert marks_of(short) == ("the hosts ran short: rcv PruneCalled 3, rcv TCPRcvCollapsed 9",)


def across_an_edge(edge_ns: int, behind: int) -> list[Row]:
    """A hole that is open for 20 ms about a time, with so much behind it; 80 kB leave after it."""
    begin, end = edge_ns - 10 * MS, edge_ns + 10 * MS
    return [
        (0, 1000, False, begin, begin),
        (1000, 1000, True, begin, begin),
        (2000, behind, False, begin, begin),
        (1000, 1000, False, begin, end),
        (2000 + behind, 79_000, False, end, end),
    ]


@pytest.mark.parametrize(("behind", "value"), [(8000, 0.1), (20_000, 0.25)])
def test_what_left_before_the_window_and_is_read_in_it(
    trial: TrialMeasurement, behind: int, value: float
) -> None:
    """The window is 300 ms long, and 80 kB leave in it."""
    gate = window_goodput(with_postcards(trial, across_an_edge(100 * MS, behind), 1000))
    assert base.verdict(gate) == (value <= 0.1, value, 0.1)
    assert gate.detail.startswith(
        f"holes shift {100 * value:.2g} % of the window's payload; "
        f"of flow 0, {behind} bytes had left before it"
    )


def test_what_left_in_the_window_and_is_read_behind_it(trial: TrialMeasurement) -> None:
    """Before the end 1000 bytes are readable and 39 000 more have left: 39 of 40 are missing."""
    made = with_postcards(trial, across_an_edge(400 * MS, 39_000), 1000)
    gate = window_goodput(made)
    assert base.verdict(gate) == (False, 0.975, 0.1)
    assert gate.detail == (
        "holes shift 98 % of the window's payload; of flow 0, 39000 bytes were behind a hole at "
        "its end; make the window (duration less warmup) 3 s or longer"
    )


def test_holes_within_the_window_shift_nothing(trial: TrialMeasurement) -> None:
    gate = window_goodput(with_postcards(trial, across_an_edge(200 * MS, 50_000), 1000))
    assert (gate.passed, gate.value, gate.detail) == (True, 0, "exact")
