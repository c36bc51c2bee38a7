"""Frames in and out of the model: vectors of tests/conformance where a chip does the same, and what
is the chip's own.

Left out are those about rates, limits, drops, times and queue bytes, which the model does not
have; about frames below 60 bytes, which a port pads; and about bytes of unshaped frames, which the
chip counts with the frame check sequence.
"""

import pytest
from tests.conformance.conftest import Run
from tests.conformance.packets import spaced, tcp, tcp_key
from tests.conformance.target import Count, Packet
from tests.conformance.test_classification import (
    test_addresses_of_any_value,
    test_flows_are_told_apart_by_each_part_of_the_5_tuple,
    test_tcp_and_udp_of_the_same_ports_are_two_flows,
    test_what_is_not_of_the_5_tuple_does_not_matter,
)
from tests.conformance.test_counters import test_each_flow_has_its_own
from tests.conformance.test_forwarding import (
    test_padding_is_kept_and_is_no_payload,
    test_tcp_options_are_kept_and_are_no_payload,
    test_wrong_checksums_are_not_our_business,
)
from tests.conformance.test_postcards import (
    test_every_tcp_flag,
    test_sequence_numbers_wrap,
    test_udp_has_neither_sequence_nor_flags,
)
from tests.conformance.test_unshaped import UNKNOWN
from tests.support.replay import Bottleneck

__all__ = [
    "test_addresses_of_any_value",
    "test_each_flow_has_its_own",
    "test_every_tcp_flag",
    "test_flows_are_told_apart_by_each_part_of_the_5_tuple",
    "test_padding_is_kept_and_is_no_payload",
    "test_sequence_numbers_wrap",
    "test_tcp_and_udp_of_the_same_ports_are_two_flows",
    "test_tcp_options_are_kept_and_are_no_payload",
    "test_udp_has_neither_sequence_nor_flags",
    "test_what_is_not_of_the_5_tuple_does_not_matter",
    "test_wrong_checksums_are_not_our_business",
]
pytestmark = [pytest.mark.live, pytest.mark.root]


def test_unknown_traffic_passes_and_is_counted(run: Run) -> None:
    frames = list(UNKNOWN.values())
    outcome = run(spaced(frames), [tcp_key()], Bottleneck())
    assert outcome.frames == frames
    assert outcome.unshaped["unknown"] == Count(packets=len(frames))
    assert len(outcome.postcards) == 0


def test_the_way_back_is_not_shaped(run: Run) -> None:
    back = [tcp(size=60, key=tcp_key().reversed(), flags="A"), tcp(key=tcp_key().reversed())]
    forward = [tcp(seq=1), tcp(seq=2)]
    packets = [Packet(0, frame) for frame in (*forward, *back)]
    outcome = run(packets, [tcp_key()], Bottleneck())
    assert outcome.frames == forward
    assert outcome.unshaped["reverse"] == Count(packets=2)


def test_postcards_are_numbered_and_timed_in_order(run: Run) -> None:
    """The model's clock means nothing, but a packet leaves after it came."""
    outcome = run(spaced([tcp(seq=i) for i in range(20)]), [tcp_key()], Bottleneck())
    cards = outcome.postcards
    numbers = cards["lane_seq"].astype(int)
    assert list(numbers - numbers[0]) == list(range(20))
    assert set(cards["kind"]) == {0}
    enqueued = cards["enqueue_high"].astype(int) << 32 | cards["enqueue_low"]
    dequeued = cards["dequeue_high"].astype(int) << 32 | cards["dequeue_low"]
    assert (dequeued >= enqueued).all()
