"""Which flow a packet belongs to."""

from dataclasses import replace

import pytest
from tests.conformance.conftest import Run
from tests.conformance.packets import ip_of, spaced, tcp, tcp_key, udp, udp_key
from tests.conformance.target import Count
from tests.model.classifier import FlowKey
from tests.support.replay import Bottleneck


def test_tcp_and_udp_of_the_same_ports_are_two_flows(run: Run) -> None:
    outcome = run(spaced([tcp(), udp(), tcp()]), [tcp_key(), udp_key()], Bottleneck())
    assert list(outcome.postcards["flow"]) == [0, 1, 0]


def test_flows_are_told_apart_by_each_part_of_the_5_tuple(run: Run) -> None:
    first = tcp_key()
    keys = [
        first,
        replace(first, src="10.64.0.2"),
        replace(first, dst="10.65.0.2"),
        replace(first, sport=10001),
        replace(first, dport=5002),
        replace(first, src="11.64.0.1"),
        replace(first, sport=10000 + 256),
    ]
    frames = [tcp(key=key) for key in keys] + [tcp(key=key) for key in reversed(keys)]
    outcome = run(spaced(frames), keys, Bottleneck())
    assert list(outcome.postcards["flow"]) == [*range(7), *reversed(range(7))]


@pytest.mark.slow
def test_many_flows(run: Run) -> None:
    keys = [tcp_key(flow) for flow in range(600)]
    outcome = run(spaced([tcp(flow, 60) for flow in range(600)]), keys, Bottleneck())
    assert list(outcome.postcards["flow"]) == list(range(600))
    assert all(flow["departed_packets"] == 1 for flow in outcome.flows)


def test_what_is_not_of_the_5_tuple_does_not_matter(run: Run) -> None:
    frames = [
        tcp(),
        tcp(ip={"tos": 0xB9}),
        tcp(ip={"ttl": 1}),
        tcp(ip={"id": 4711, "flags": "DF"}),
        tcp(seq=2**31, ack=77, window=3, urgptr=9, flags="SAFRPUEC"),
        b"\xff" * 6 + tcp()[6:],
    ]
    outcome = run(spaced(frames), [tcp_key()], Bottleneck())
    assert outcome.flows[0]["departed_packets"] == len(frames)


def test_a_first_fragment_is_of_its_flow_and_later_ones_are_not(run: Run) -> None:
    first = tcp(ip={"flags": "MF"})
    # Its payload begins like a TCP header of another flow.
    later = bytes(ip_of(tcp_key(), frag=185, proto=6)) + tcp(7, 200)[34:]
    last = bytes(ip_of(udp_key(), frag=1, proto=17)) + udp(8, 100)[34:]
    outcome = run(spaced([first, later, last]), [tcp_key()], Bottleneck())
    assert outcome.flows[0]["arrived_packets"] == 1
    assert outcome.unshaped["unknown"] == Count(2, len(later) + len(last))


def test_addresses_of_any_value(run: Run) -> None:
    keys = [
        FlowKey("255.255.255.255", "0.0.0.0", 65535, 0, 6),
        FlowKey("0.0.0.0", "255.255.255.255", 1, 65535, 17),
    ]
    frames = [tcp(key=keys[0]), udp(key=keys[1])]
    outcome = run(spaced(frames), keys, Bottleneck())
    assert list(outcome.postcards["flow"]) == [0, 1]
    assert outcome.frames == frames
