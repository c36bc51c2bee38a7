"""What makes a train, against the plain rules; and each rule by a case of its own."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.core import Train
from tests.model.trains import ACK, CWR, ECE, FIN, PSH, RST, SYN, URG, Frame, Segment, trains

MSS = 1448
HEADERS = 66

STEPS = st.tuples(
    st.sampled_from([0, 0, 0, 0, 1]),  # time since the last frame
    st.sampled_from([0, 0, 0, 0, 0, 1]),  # lane
    st.sampled_from([0, 0, 0, 0, 0, 1]),  # flow
    st.sampled_from([MSS, MSS, MSS, MSS, 100, 0, 8_900]),  # payload
    st.sampled_from(
        [ACK] * 8 + [ACK | PSH, ACK | FIN, SYN, RST, ACK | URG, ACK | ECE, ACK | CWR, 0]
    ),
    st.sampled_from([0, 0, 0, 0, 0, 0, 1]),  # bytes missing in front of it
)


def frames_of(steps: list[tuple[int, int, int, int, int, int]]) -> list[Frame]:
    """Frames of flows that send in sequence, from just before the sequence number's wrap."""
    now_ns, sent = 0, dict.fromkeys((0, 1), 2**32 - 3 * MSS)
    made = []
    for gap_ns, lane, flow, payload, flags, missing in steps:
        now_ns += gap_ns
        seq = (sent[flow] + missing) % 2**32
        sent[flow] = seq + payload
        made.append(Frame(now_ns, lane, HEADERS + payload, Segment(flow, seq, payload, flags)))
    return made


def by_core(frames: list[Frame]) -> list[list[Frame]]:
    """The core's trains."""
    train, made = Train(), list[list[Frame]]()
    for frame in frames:
        if train.add(frame.lane, frame.size, frame.segment, frame.time_ns):
            made[-1].append(frame)
        else:
            made.append([frame])
    return made


@pytest.mark.slow
@given(st.lists(STEPS, max_size=120))
def test_trains_are_those_of_the_rules(steps: list[tuple[int, int, int, int, int, int]]) -> None:
    frames = frames_of(steps)
    assert by_core(frames) == trains(frames)


def test_64_kib_are_the_most() -> None:
    frames = frames_of([(0, 0, 0, MSS, ACK, 0)] * 100)
    assert [len(train) for train in by_core(frames)] == [45, 45, 10]
    small = frames_of([(0, 0, 0, 100, ACK, 0)] * 100)
    assert [len(train) for train in by_core(small)] == [64, 36]


@pytest.mark.parametrize(("last", "lengths"), [(323, [46]), (324, [45, 1])])
def test_64_kib_are_without_the_ethernet_header(last: int, lengths: list[int]) -> None:
    """45 full segments and their headers are 65,226 bytes, of at most 65,535 and 14."""
    frames = frames_of([(0, 0, 0, MSS, ACK, 0)] * 45 + [(0, 0, 0, last, ACK, 0)])
    assert [len(train) for train in by_core(frames)] == lengths


TWO = tuple(frames_of([(0, 0, 0, MSS, ACK, 0)] * 2))
"""Two frames that are a train."""


@pytest.mark.parametrize(
    ("frame", "change"),
    [
        (1, {"time_ns": 1}),
        (1, {"lane": 1}),
        (1, {"segment": replace(TWO[1].segment, flow=1)}),
        (1, {"segment": replace(TWO[1].segment, seq=0)}),
        (1, {"segment": replace(TWO[1].segment, payload=MSS + 1)}),
        (1, {"segment": replace(TWO[1].segment, payload=0)}),
        (0, {"segment": replace(TWO[0].segment, flags=ACK | PSH)}),
        (1, {"segment": replace(TWO[1].segment, flags=ACK | ECE)}),
        (1, {"segment": replace(TWO[1].segment, flags=ACK | SYN)}),
        (1, {"segment": replace(TWO[1].segment, flags=ACK | CWR)}),
    ],
    ids=lambda value: str(value) if isinstance(value, int) else "-".join(value),
)
def test_what_keeps_two_frames_apart(frame: int, change: dict[str, object]) -> None:
    frames = list(TWO)
    assert len(by_core(frames)) == 1
    frames[frame] = replace(frames[frame], **change)  # type: ignore[arg-type]
    assert len(by_core(frames)) == 2


def test_other_than_tcp_makes_no_train() -> None:
    """P4 reports a UDP datagram's sequence number and flags as 0."""
    frame = Frame(0, 0, 1514, Segment(flow=0, seq=0, payload=1472, flags=0))
    assert len(by_core([frame, frame])) == 2
