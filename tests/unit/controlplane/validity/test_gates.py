"""The gates on facts made by hand: each bound from both sides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.trial import Gate, Setting
from nashbed.controlplane.lane.losses import difference, loss_counters
from nashbed.controlplane.plan.flows import TrialFlow
from nashbed.controlplane.targets import TelemetryTotals
from nashbed.controlplane.validity import gates
from nashbed.controlplane.validity.gates import Facts
from tests.unit.controlplane.conftest import SCENARIO

MS = 10**6


def flow(index: int, cc: str) -> TrialFlow:
    return TrialFlow(index, 0, "main", cc, 10 * MS, "10.64.0.1", "10.65.0.1", 10000 + index, 0)


def told(**changes: Any) -> dict[str, Any]:
    usual = {"cc_applied": "cubic", "start_ns": 1, "end_ns": 400 * MS, "error": None}
    return usual | {"bytes_retrans": 0} | changes


@pytest.fixture
def facts() -> Facts:
    return Facts(
        scenario=parse_scenario(SCENARIO, "s.yaml").model,
        setting=Setting(
            label="b2bdp", rate_bps=10**8, buffer_bytes=250_000, buffer_label="2bdp",
            buffer_bdp=2, base_rtt_ns=(10 * MS,), overhead_bytes=0,
        ),
        flows=(flow(0, "cubic"),),
        ready={0: {"cc_applied": "cubic"}},
        sender={0: told()},
        sink={0: {"bytes": 144_800}},
        sampling={"count": 100, "missed": 0, "mean_ns": 10_000},
        registers={
            "arrived_packets": [110], "arrived_bytes": [166_540],
            "departed_packets": [100], "departed_bytes": [151_400],
            "dropped_packets": [10], "dropped_bytes": [15_140],
            "in_queue_bytes": [0], "peak_queue_bytes": [1],
        },
        lateness={"p999_ns": 400_000, "max_ns": 400_000, "max_gap_ns": 2000},
        losses={"nbs0_tx_dropped": 0},
        telemetry=TelemetryTotals(110, 110, 0, 0),
        evidence=None,
        seen_first=np.array([True]),
        seen_last=np.array([True]),
    )  # fmt: skip


def with_sender(facts: Facts, **changes: Any) -> Facts:
    return replace(facts, sender={0: told(**changes)})


def test_good_facts_pass_every_gate(facts: Facts) -> None:
    assert [gate.name for gate in gates.judge(facts) if not gate.passed] == []


def test_every_gate_has_a_name_of_its_own(facts: Facts) -> None:
    names = [gate.name for gate in gates.judge(facts)]
    assert len(set(names)) == len(gates.GATES)


def test_any_loss_outside_the_bottleneck_fails(facts: Facts) -> None:
    gate = gates.no_other_loss(replace(facts, losses={"a": 0, "ring x": 3, "port y": 2}))
    assert (gate.passed, gate.value, gate.detail) == (False, 5, "ring x 3; port y 2")


@pytest.mark.parametrize("totals", [(9, 9, 1, 0), (9, 9, 0, 1)])
def test_a_lost_postcard_fails(facts: Facts, totals: tuple[int, int, int, int]) -> None:
    gate = gates.postcards_complete(replace(facts, telemetry=TelemetryTotals(*totals)))
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
    facts: Facts, changes: dict[str, Any], detail: str
) -> None:
    gate = gates.flows_overlapped(with_sender(facts, **changes))
    assert (gate.passed, gate.detail) == (False, detail)


def test_a_flow_must_be_seen_at_both_ends(facts: Facts) -> None:
    gate = gates.flows_overlapped(replace(facts, seen_last=np.array([False])))
    assert gate.detail == "flow 0 (cubic) sent nothing at the end"
    gate = gates.flows_overlapped(replace(facts, seen_first=np.array([False])))
    assert gate.detail == "flow 0 (cubic) sent nothing at the beginning"


def bounded(facts: Facts, **bounds: str) -> Facts:
    text = SCENARIO + f"gates: {bounds}\n".replace("'", "")
    return replace(facts, scenario=parse_scenario(text, "s.yaml").model)


def verdict(gate: Gate) -> tuple[bool, float | None, float | None]:
    return gate.passed, gate.value, gate.limit


def test_lateness_is_held_to_one_percent_of_the_rtt_or_half_a_millisecond(facts: Facts) -> None:
    exactly = replace(facts, lateness={"p999_ns": 500_000, "max_ns": 1})
    assert verdict(gates.lateness(exactly)) == (True, 500_000, 500_000)
    late = replace(facts, lateness={"p999_ns": 500_001, "max_ns": 1})
    assert verdict(gates.lateness(late)) == (False, 500_001, 500_000)
    assert gates.lateness(bounded(late, lateness_p999="1ms")).passed
    far = facts.setting.model_copy(update={"base_rtt_ns": (200 * MS,)})
    assert gates.lateness(replace(late, setting=far)).limit == 2 * MS


def test_the_longest_pause_is_held_to_a_base_rtt(facts: Facts) -> None:
    assert verdict(gates.loop_gap(paused(facts, 10 * MS))) == (True, 10 * MS, 10 * MS)
    assert not gates.loop_gap(paused(facts, 10 * MS + 1)).passed
    assert gates.loop_gap(paused(bounded(facts, loop_gap="1s"), 11 * MS)).passed
    far = facts.setting.model_copy(update={"base_rtt_ns": (40 * MS,)})
    assert gates.loop_gap(replace(facts, setting=far)).limit == 40 * MS


def paused(facts: Facts, gap_ns: int) -> Facts:
    return replace(facts, lateness=facts.lateness | {"max_gap_ns": gap_ns})


def test_registers_must_add_up(facts: Facts) -> None:
    assert gates.conservation(facts).detail == "exact"
    for name, found in (
        ("dropped_bytes", "flow 0: -1 bytes unaccounted"),
        ("departed_packets", "flow 0: -1 packets gone"),
    ):
        registers = facts.registers | {name: [facts.registers[name][0] + 1]}
        gate = gates.conservation(replace(facts, registers=registers))
        assert (gate.passed, gate.detail) == (False, found)
    registers = facts.registers | {"in_queue_bytes": [60], "arrived_bytes": [166_600]}
    gate = gates.conservation(replace(facts, registers=registers))
    assert gate.detail == "flow 0: bytes left in the drained queue"


@pytest.mark.parametrize(
    ("read", "passed"),
    [(144_800, True), (146_000, True), (146_001, False), (0, True), (-1, True)],
)
def test_without_all_postcards_the_sink_is_held_to_bounds(
    facts: Facts, read: int, passed: bool
) -> None:
    # 100 packets of 1514 bytes: at most 100 x 1460 bytes of payload; nothing is too little
    # with a queue and a path that may still hold all of it.
    assert gates.sink_bytes(replace(facts, sink={0: {"bytes": read}})).passed is passed


@pytest.mark.parametrize(
    ("mean", "missed", "passed"),
    [(12_500_000, 1, True), (12_500_001, 0, False), (0, 2, False)],
)
def test_sampling_is_on_time(facts: Facts, mean: int, missed: int, passed: bool) -> None:
    sampling = {"count": 99, "missed": missed, "mean_ns": mean}
    assert gates.sampling(replace(facts, sampling=sampling)).passed is passed


def test_congestion_control_is_read_back(facts: Facts) -> None:
    gate = gates.congestion_control(replace(facts, ready={0: {"cc_applied": "reno"}}))
    assert gate.detail == "flow 0: 'reno' instead of 'cubic'"
    assert not gates.congestion_control(with_sender(facts, cc_applied="reno")).passed


SHARED: dict[str, Any] = {
    "ports": {"senders": {"rx_packets": 5, "rx_dropped": 1, "rx_no_mbuf": 2, "xdp": {"err": 3}}},
    "rings": {"no_memory": 4, "p4": 5, "discarded": 6},
    "unshaped": {"reverse_packets": 7, "malformed_packets": 8},
}


def test_which_counters_are_losses() -> None:
    assert loss_counters(SHARED, {"softnet_dropped": 9}) == {
        "softnet_dropped": 9,
        "port senders rx_dropped": 1,
        "port senders rx_no_mbuf": 2,
        "port senders xdp err": 3,
        "ring no_memory": 4,
        "ring p4": 5,
        "unshaped malformed_packets": 8,
    }


def test_losses_are_counted_from_before() -> None:
    assert difference({"a": 5, "b": 1}, {"a": 3}) == {"a": 2, "b": 1}
