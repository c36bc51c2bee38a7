"""Which frame caused an acknowledgement, what it gives back, and how long the receiver took."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.model.core import Cause, RoundTrips

FLOW = 0x2710
OTHER = 0x2711
MSS = 1448


LEAST_FLIGHT = 4
"""Packets in flight below which no response is told."""


def sent(trips: RoundTrips, n: int, late_ns: int = 0, flow: int = FLOW) -> None:
    """Frames 1 to n of a flow leave, a microsecond apart, from 1 ms on; four more are behind."""
    for i in range(1, n + LEAST_FLIGHT + 1):
        trips.sent(flow, i * MSS, MSS)
    for i in range(1, n + 1):
        scheduled = 1_000_000 + 1000 * i
        trips.departed(flow, i * MSS, MSS, scheduled, scheduled + late_ns)


def test_the_number_names_the_last_frame_whose_lateness_is_given_back() -> None:
    trips = RoundTrips()
    trips.departed(FLOW, 1 * MSS, MSS, 1000, 1500)
    trips.departed(FLOW, 2 * MSS, MSS, 2000, 2700)
    assert trips.cause(FLOW, 2 * MSS, 5000) == Cause(700, None)


def test_an_acknowledgement_of_two_frames_was_not_put_off() -> None:
    trips = RoundTrips()
    sent(trips, 4)
    assert trips.cause(FLOW, 2 * MSS, 1_003_000).response_ns is None  # nothing came before it
    assert trips.cause(FLOW, 4 * MSS, 1_010_000) == Cause(6000, 6000)


def test_what_a_receiver_takes_is_given_back_unless_the_scenario_has_it_wait() -> None:
    """With what was late on the way out, and to the nanosecond at which the frame was due."""
    trips = RoundTrips()
    sent(trips, 6, late_ns=500)
    trips.cause(FLOW, 2 * MSS, 1_003_000)
    assert trips.cause(FLOW, 4 * MSS, 1_010_000) == Cause(1_010_000 - 1_004_000, 5500)
    assert trips.cause(FLOW, 6 * MSS, 1_011_000, waits=True) == Cause(500, 4500)


def test_where_nobody_tells_what_was_sent_every_prompt_acknowledgement_counts() -> None:
    """Virtual time."""
    trips = RoundTrips()
    for i in range(1, 5):
        trips.departed(FLOW, i * MSS, MSS, 1_000_000, 1_000_000)
    trips.cause(FLOW, 2 * MSS, 1_010_000)
    assert trips.cause(FLOW, 4 * MSS, 1_010_000) == Cause(0, 10_000)


def test_an_acknowledgement_of_a_single_frame_may_have_waited_for_the_next() -> None:
    trips = RoundTrips()
    sent(trips, 3)
    trips.cause(FLOW, 2 * MSS, 1_010_000)
    assert trips.cause(FLOW, 3 * MSS, 41_010_000).response_ns is None


def test_what_fewer_than_four_packets_in_flight_wait_for_is_no_response() -> None:
    """Before the acknowledgement: three full frames, then three and one byte."""
    trips = RoundTrips()
    for i in range(1, 6):
        trips.sent(FLOW, i * MSS, MSS)
        trips.departed(FLOW, i * MSS, MSS, 1_000_000, 1_000_000)
    trips.cause(FLOW, 2 * MSS, 1_010_000)
    assert trips.cause(FLOW, 4 * MSS, 1_010_000) == Cause(0, None)
    trips.sent(FLOW, 7 * MSS, MSS)
    trips.departed(FLOW, 6 * MSS, MSS, 1_020_000, 1_020_000)
    trips.sent(FLOW, 7 * MSS + 1, 1)
    assert trips.cause(FLOW, 6 * MSS, 1_030_000) == Cause(10_000, 10_000)


def test_until_a_loss_is_repaired_nothing_is_a_response() -> None:
    """Frame 3 is lost; the repair ends with what had been sent when it was noticed: frame 16."""
    trips = RoundTrips()
    sent(trips, 12)
    assert trips.cause(FLOW, 2 * MSS, 1_020_000, block=4 * MSS).response_ns is None
    trips.sent(FLOW, 3 * MSS, MSS)
    for i in range(17, 30):
        trips.sent(FLOW, i * MSS, MSS)
    trips.departed(FLOW, 3 * MSS, MSS, 2_000_000, 2_000_000)
    for i in range(13, 26):
        trips.departed(FLOW, i * MSS, MSS, 2_000_000, 2_000_000)
    # Sent again when 16 frames had been sent.
    assert trips.cause(FLOW, 12 * MSS, 2_010_000).response_ns is None
    assert trips.cause(FLOW, 14 * MSS, 2_020_000).response_ns is None
    assert trips.cause(FLOW, 16 * MSS, 2_030_000).response_ns is None
    assert trips.cause(FLOW, 18 * MSS, 2_040_000).response_ns == 40_000


def test_a_frame_that_is_sent_again_without_news_begins_a_repair() -> None:
    """By a timer: no acknowledgement told of a loss."""
    trips = RoundTrips()
    sent(trips, 8)
    trips.cause(FLOW, 2 * MSS, 1_020_000)
    trips.sent(FLOW, 3 * MSS, MSS)
    assert trips.cause(FLOW, 4 * MSS, 1_020_000).response_ns is None


def test_a_new_connection_of_the_same_ports_begins_anew() -> None:
    trips = RoundTrips()
    sent(trips, 8)
    trips.cause(FLOW, 2 * MSS, 1_020_000, block=5 * MSS)
    trips.sent(FLOW, 2**31, 1, is_first=True)
    for i in range(1, 10):
        trips.sent(FLOW, 2**31 + i * MSS, MSS)
        trips.departed(FLOW, 2**31 + i * MSS, MSS, 2_000_000, 2_000_000)
    trips.cause(FLOW, 2**31 + MSS, 2_000_500)
    assert trips.cause(FLOW, 2**31 + 3 * MSS, 2_001_000).response_ns == 1000


def test_behind_a_hole_the_first_block_names_the_frame() -> None:
    trips = RoundTrips()
    sent(trips, 6, late_ns=300)
    trips.cause(FLOW, 2 * MSS, 1_010_000)
    # Frame 3 is lost; 4 and 5 come.
    assert trips.cause(FLOW, 2 * MSS, 1_010_000, block=4 * MSS) == Cause(300, None)
    assert trips.cause(FLOW, 2 * MSS, 1_010_000, block=5 * MSS) == Cause(300, None)


def test_what_fills_a_hole_is_not_what_the_number_names() -> None:
    trips = RoundTrips()
    sent(trips, 6, late_ns=300)
    trips.cause(FLOW, 2 * MSS, 1_010_000)
    trips.cause(FLOW, 2 * MSS, 1_010_000, block=5 * MSS)
    # Frame 3, sent again, fills it; frame 6 had come without an acknowledgement of its own.
    trips.departed(FLOW, 3 * MSS, MSS, 89_000_000, 89_000_050)
    assert trips.cause(FLOW, 6 * MSS, 90_000_000) == Cause(50, None)


def test_where_the_cause_is_not_known_what_left_last_stands_for_it() -> None:
    trips = RoundTrips()
    sent(trips, 2, late_ns=40)
    trips.departed(FLOW, 3 * MSS, MSS, 1_005_000, 1_005_009)
    assert trips.cause(FLOW, 2 * MSS, 1_010_000).late_ns == 40
    assert trips.cause(FLOW, 2 * MSS, 1_020_000) == Cause(9, None)


@pytest.mark.slow
@given(
    frames=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**7)), max_size=100),
    skipped=st.sets(st.integers(0, 99)),
)
def test_no_acknowledgement_overtakes_another(
    frames: list[tuple[int, int]], skipped: set[int]
) -> None:
    trips = RoundTrips()
    scheduled = departed = 10**9
    on_time = []
    for i, (gap, late) in enumerate(frames, start=1):
        scheduled += gap
        departed = max(departed, scheduled + late)
        trips.departed(FLOW, i * MSS, MSS, scheduled, departed)
        if i in skipped:
            continue
        given_back = trips.cause(FLOW, i * MSS, departed + 10).late_ns
        assert 0 <= given_back <= departed - scheduled
        on_time.append(departed + 10 - given_back)
    assert on_time == sorted(on_time)


def test_flows_are_told_apart() -> None:
    trips = RoundTrips()
    sent(trips, 2, late_ns=40)
    sent(trips, 2, late_ns=70, flow=OTHER)
    assert trips.cause(OTHER, 2 * MSS, 1_010_000).late_ns == 70
    assert trips.cause(FLOW, 2 * MSS, 1_010_000).late_ns == 40
    assert trips.cause(0, 2 * MSS, 1_010_000) == Cause(0, None)


def test_nothing_comes_before_its_cause() -> None:
    trips = RoundTrips()
    trips.departed(FLOW, MSS, MSS, 1000, 9000)
    assert trips.cause(FLOW, MSS, 8999) == Cause(0, None)


def test_what_comes_in_the_nanosecond_of_its_cause_took_no_time() -> None:
    trips = RoundTrips()
    for i in range(1, 5):
        trips.departed(FLOW, i * MSS, MSS, 1000, 1000)
    trips.cause(FLOW, 2 * MSS, 1000)
    assert trips.cause(FLOW, 4 * MSS, 1000) == Cause(0, 0)


def test_a_frame_sent_again_is_the_cause_from_then_on() -> None:
    trips = RoundTrips()
    trips.departed(FLOW, MSS, MSS, 1000, 1100)
    trips.departed(FLOW, MSS, MSS, 9000, 9007)
    assert trips.cause(FLOW, MSS, 9500).late_ns == 7


@given(
    first=st.integers(0, 2**32 - 1),
    lates=st.lists(st.integers(0, 10**9), min_size=1, max_size=200),
)
def test_every_second_frame_through_the_wrap_of_the_sequence(first: int, lates: list[int]) -> None:
    trips = RoundTrips()
    for i in range(len(lates) + LEAST_FLIGHT):
        trips.sent(FLOW, first + (i + 1) * MSS, MSS)
    for i, late in enumerate(lates):
        trips.departed(FLOW, first + (i + 1) * MSS, MSS, 10**9, 10**9 + late)
    for i in range(1, len(lates), 2):
        cause = trips.cause(FLOW, first + (i + 1) * MSS, 3 * 10**9)
        # All arrive at once. The first one's response is not known, and none may overtake it.
        assert cause.late_ns == lates[1]
        assert cause.response_ns == (None if i == 1 else 2 * 10**9 - lates[i])
