"""Packets leave as they came, byte for byte, in their order."""

import pytest
from tests.conformance.conftest import Run
from tests.conformance.packets import burst, noise, spaced, tcp, tcp_key, udp, udp_key
from tests.conformance.target import Packet, Target, needs
from tests.support.replay import Bottleneck

DEEP = Bottleneck(rate_bps=900_000_000, limit=4_000_000)


def test_every_size(run: Run) -> None:
    frames = [tcp(size=size) for size in range(60, 1515)]
    outcome = run(burst(frames), [tcp_key()], DEEP)
    assert outcome.frames == frames
    assert list(outcome.postcards["packet_bytes"]) == list(range(60, 1515))
    assert list(outcome.postcards["payload_bytes"]) == list(range(6, 1461))


@pytest.mark.slow
def test_udp_of_many_sizes(run: Run, target: Target) -> None:
    """Each of the short ones, which are padded, and some of the others."""
    sizes = [*range(max(42, target.capabilities.shortest_frame), 130), *range(130, 1515, 29), 1514]
    frames = [udp(size=size) for size in sizes]
    outcome = run(burst(frames), [udp_key()], DEEP)
    assert outcome.frames == frames
    assert list(outcome.postcards["payload_bytes"]) == [size - 42 for size in sizes]


def test_padding_is_kept_and_is_no_payload(run: Run) -> None:
    padded = [tcp(size=54 + n) + noise(6 - n) for n in range(7)]
    padded.append(udp(size=42) + noise(18))
    outcome = run(spaced(padded), [tcp_key(), udp_key()], Bottleneck())
    assert outcome.frames == padded
    assert list(outcome.postcards["packet_bytes"]) == [60] * 8
    assert list(outcome.postcards["payload_bytes"]) == [0, 1, 2, 3, 4, 5, 6, 0]


def test_tcp_options_are_kept_and_are_no_payload(run: Run) -> None:
    options = [("NOP", None)]
    frames = [tcp(options=options * (4 * words)) for words in range(11)]
    outcome = run(spaced(frames), [tcp_key()], Bottleneck())
    assert outcome.frames == frames
    assert list(outcome.postcards["payload_bytes"]) == [1460 - 4 * words for words in range(11)]


def test_wrong_checksums_are_not_our_business(run: Run) -> None:
    frames = [tcp(chksum=1), tcp(ip={"chksum": 1})]
    assert run(spaced(frames), [tcp_key()], Bottleneck()).frames == frames


def test_order_is_kept_over_flows(run: Run) -> None:
    frames = [tcp(i * i % 7, 60 + i * 37 % 1400, seq=i) for i in range(300)]
    keys = [tcp_key(flow) for flow in (0, 1, 4, 2)]
    packets = burst(frames[:100]) + [Packet(1000 * i, f) for i, f in enumerate(frames[100:])]
    outcome = run(packets, keys, Bottleneck(limit=10_000_000))
    assert outcome.frames == frames
    assert list(outcome.postcards["tcp_seq"]) == list(range(300))


@pytest.mark.parametrize("size", [1515, 1518, 2048])
def test_frames_beyond_the_usual_size(run: Run, target: Target, size: int) -> None:
    needs(target, size <= target.capabilities.longest_frame, "its buffers are too short for them")
    frames = [tcp(size=size)] * 3
    assert run(spaced(frames), [tcp_key()], Bottleneck()).frames == frames
