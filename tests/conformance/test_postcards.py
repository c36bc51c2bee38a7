"""The telemetry record, field by field."""

from tests.conformance.conftest import Run
from tests.conformance.packets import burst, spaced, tcp, tcp_key, udp, udp_key
from tests.support.replay import Bottleneck


def test_every_tcp_flag(run: Run) -> None:
    flags = [1 << bit for bit in range(8)] + [0, 0xFF]
    outcome = run(spaced([tcp(flags=value) for value in flags]), [tcp_key()], Bottleneck())
    assert list(outcome.postcards["tcp_flags"]) == flags


def test_sequence_numbers_wrap(run: Run) -> None:
    numbers = [0, 1, 2**31 - 1, 2**31, 2**32 - 1448, 2**32 - 1, 0, 1447]
    outcome = run(spaced([tcp(seq=number) for number in numbers]), [tcp_key()], Bottleneck())
    assert list(outcome.postcards["tcp_seq"]) == numbers


def test_udp_has_neither_sequence_nor_flags(run: Run) -> None:
    frames = [tcp(seq=77, flags="SA"), udp(), udp()]
    outcome = run(spaced(frames), [tcp_key(), udp_key()], Bottleneck())
    assert list(outcome.postcards["tcp_seq"]) == [77, 0, 0]
    assert list(outcome.postcards["tcp_flags"]) == [0x12, 0, 0]


def test_queue_bytes_are_those_found_at_arrival(run: Run) -> None:
    sizes = [60, 1514, 700, 61, 1000]
    frames = [tcp(i, size) for i, size in enumerate(sizes)]
    outcome = run(burst(frames), [tcp_key(i) for i in range(5)], Bottleneck(limit=2500))
    # The fifth found 60 + 1514 + 700 + 61 and no room.
    assert list(outcome.departed["queue_bytes"]) == [0, 60, 1574, 2274]
    assert list(outcome.dropped["queue_bytes"]) == [2335]


def test_the_lane_counts_all_its_postcards(run: Run) -> None:
    outcome = run(burst([tcp(size=1000)] * 20), [tcp_key()], Bottleneck(limit=7000))
    assert len(outcome.dropped) == 13
    assert list(outcome.postcards["lane_seq"]) == list(range(20))


def test_constant_fields(run: Run) -> None:
    outcome = run(burst([tcp(size=1000)] * 3), [tcp_key()], Bottleneck(limit=2000))
    assert set(outcome.postcards["version"]) == {1}
    assert set(outcome.postcards["lane"]) == {0}
    assert set(outcome.postcards["marks"]) == {0}
    assert set(outcome.postcards["kind"]) == {0, 1}
