"""What a field of a lane needs of a target: said at the field, found by one walk."""

from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.target import EVERY_LANE, Capabilities, Lane
from nashbed.controlplane.machine.paths import CONFIGS
from nashbed.controlplane.plan.refusals import refusals
from nashbed.controlplane.targets.registry import capabilities_of

LIMIT = {"unit": "packets", "value": 64}
ASKED = Lane.model_validate(
    {
        "rate_bps": 10**7,
        "limit": LIMIT,
        "arrive_as": "trains",
        "limit_counts": "queue",
        "back": {"rate_bps": 10**6, "limit": {"unit": "bytes", "value": 5000}},
        "queues": {
            "scheduler": "drr",
            "memory": {"name": "static", "limits_bytes": (5000, 5000)},
            "queues": ({"name": "a"}, {"name": "b", "discipline": {"name": "codel"}}),
            "dscp": ((46, 0),),
        },
        "policer": {"rate_bps": 10**6, "burst_bytes": 9000},
        "shaper": {"burst_bytes": 9000, "peak_bps": 10**8, "mtu_bytes": 1514},
    }
)
OURS = "use a testbed of target dpdk or virtual"


def can(target: str) -> Capabilities:
    return capabilities_of(load_testbed(CONFIGS / "testbeds" / f"{target}.yaml").model)


def test_all_that_there_is_of_a_lane() -> None:
    assert can("embedded").lane == EVERY_LANE
    assert {
        "unit": ("bytes", "packets", "cells"),
        "arrive_as": ("frames", "trains"),
        "limit_counts": ("system", "queue"),
        "discipline": ("droptail", "step", "red", "codel", "pie", "fq_codel", "dualpi2"),
        "queues": 8,
        "scheduler": ("drr", "strict_priority"),
        "memory": ("complete_sharing", "complete_partitioning", "static", "dynamic_threshold"),
        **dict.fromkeys(("dscp", "changes", "trace", "policer", "shaper", "back", "file"), True),
    } == EVERY_LANE
    assert set(can("bmv2").lane) <= set(EVERY_LANE)


def test_each_field_that_asks_for_more_says_it_in_its_words() -> None:
    said = list(refusals(ASKED, can("bmv2")))
    assert list(dict.fromkeys(said)) == [
        "target bmv2 cannot limit in packets",
        f"target bmv2 has no policer (bottleneck.policer); {OURS}",
        f"target bmv2 has no token-bucket shaper (bottleneck.shaper); {OURS}",
        "the limit of target bmv2 counts the system, not the queue (bottleneck.limit_counts); "
        f"leave it out, or {OURS}",
        f"target bmv2 admits frames, not trains (bottleneck.arrive_as); {OURS}",
        "bottleneck.return: target bmv2 has no queue on the way back; remove it, or " + OURS,
        "2 queues, but target bmv2 has 1 (bottleneck.queues): each priority queue of "
        f"simple_switch has a rate of its own; write fewer, or {OURS}",
        "the queue of target bmv2 is droptail, not codel (bottleneck.queues.1.discipline); " + OURS,
        f"queues of target bmv2 share memory by , not by static (bottleneck.shared_buffer); {OURS}",
        "target bmv2 sorts packets by flow, not by DSCP (bottleneck.queues); write `flows`, or "
        + OURS,
    ]


def test_what_is_possible_or_not_asked_for_is_not_refused() -> None:
    assert list(refusals(ASKED, can("embedded"))) == []
    plain = Lane.model_validate({"rate_bps": 1, "limit": {"unit": "bytes", "value": 1}})
    assert list(refusals(plain, can("bmv2"))) == []
