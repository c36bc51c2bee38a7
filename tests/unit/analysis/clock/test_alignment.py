"""Clocks with a known offset and drift, found again through queueing; what is refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.analysis.clock import ClockError, Instants, TimeBase, align, lower_envelope

A, B, C = TimeBase("a.pcap"), TimeBase("b.pcap"), TimeBase("c.pcap")
PS = 10**12
QUEUE_PS = 50 * 10**9
SPAN_S = 60


def sawtooth(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A queue as loss-based flows make it: fills to 50 ms, halves, and empties now and then."""
    period = 1.7
    phase = t_s % period / period
    queue = np.maximum(0, phase - 0.3) / 0.7 * QUEUE_PS
    return queue * rng.uniform(0.6, 1, len(t_s)) + rng.exponential(2e5, len(t_s))


def uniform(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Anything from nothing to 50 ms, no packet like the one before."""
    return rng.uniform(0, QUEUE_PS, len(t_s))


def bursts(t_s: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Mostly 30 to 50 ms; one packet in two hundred meets an empty queue."""
    queue = rng.uniform(0.6, 1, len(t_s)) * QUEUE_PS
    return np.where(rng.random(len(t_s)) < 0.005, rng.exponential(1e5, len(t_s)), queue)


def two_sources(drift: float, offset_ps: int, noise, seed: int, n: int):
    """Times of the same packets at both: whole picoseconds."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.integers(0, SPAN_S * PS, n))
    way = noise(x / PS, rng).astype(np.int64)
    # A whole number of picoseconds for each, so the drift is applied without rounding it first.
    drifted = np.rint((x + way) * drift).astype(np.int64)
    y = x + way + drifted + offset_ps
    other_origin = 5
    return Instants(A, 1000, x), Instants(B, 1000 + other_origin, y - other_origin * PS)


DRIFTS = (0.0, 100e-6, -100e-6, 3.3e-6)
QUICK = [
    # Only one packet in 50,000 meets a queue of less than a microsecond.
    (uniform, -100e-6, 1, 1_000_000),
    *((noise, drift, 1, 200_000) for noise in (sawtooth, bursts) for drift in DRIFTS),
]
LONG = [
    pytest.param(noise, drift, 2, 1_000_000, marks=pytest.mark.long)
    for noise in (sawtooth, uniform, bursts)
    for drift in DRIFTS
]


@pytest.mark.parametrize(("noise", "drift", "seed", "packets"), [*QUICK, *LONG])
def test_offset_within_1_us_and_drift_within_one_hundredth_ppm(noise, drift, seed, packets) -> None:
    offset_ps = 7 * PS + 123_456_789_012
    reference, other = two_sources(drift, offset_ps, noise, seed, packets)
    found = align(reference, other)
    total = (found.other_origin_s - found.origin_s) * PS + found.offset_ps
    assert abs(total - offset_ps) < 1e6
    assert abs(found.drift - drift) < 0.01e-6
    # Half a minute in, too: a drift that is off would show there.
    assert abs(total - offset_ps) <= 2 * found.offset_error_ps + 1e3
    assert abs(found.drift - drift) <= 2 * found.drift_error + 1e-12


def test_times_carried_over_can_be_subtracted() -> None:
    """Delays come out as they were put in, less the least of them; before that they are refused."""
    reference, other = two_sources(50e-6, 3 * PS, sawtooth, 3, 200_000)
    with pytest.raises(ClockError, match=r"a\.pcap cannot be subtracted: the two clocks were not"):
        other - reference
    delays = align(reference, other).to_reference(other) - reference
    rng = np.random.default_rng(3)
    x = np.sort(rng.integers(0, SPAN_S * PS, 200_000))
    put_in = sawtooth(x / PS, rng)
    assert np.abs(delays - put_in).max() < 2e6
    there = align(reference, other).inverted().to_reference(reference)
    assert np.abs((other - there) - put_in).max() < 6e6  # 50 ppm of 50 ms are 2.5 us
    with pytest.raises(ClockError, match=r"c\.pcap are not of b\.pcap"):
        align(reference, other).to_reference(Instants(C, 0, other.ps))


def test_a_known_transit_is_not_taken_for_an_offset() -> None:
    reference, other = two_sources(0.0, 2 * PS, bursts, 4, 200_000)
    plain, told = align(reference, other), align(reference, other, transit_ps=1_000_000)
    assert plain.offset_ps - told.offset_ps == pytest.approx(1_000_000)


def test_by_hand() -> None:
    """Points (0, 5), (1, 3), (2, 4), (3, 1), (4, 9), (5, 3): mean x is 2.5.

    The lower hull is (0, 5), (1, 3), (3, 1), (5, 3); its edge over 2.5 is 4 - x. As drifts are
    below 0.001, both are put in units in which the slope is -0.0001.
    """
    x = np.arange(6) * 1e4
    line = lower_envelope(x, np.array([5.0, 3, 4, 1, 9, 3]))
    assert line.slope == pytest.approx(-1e-4)
    assert line.at_zero == pytest.approx(4.0)


@settings(max_examples=50)
@given(st.lists(st.floats(0, 100), min_size=3, max_size=40), st.floats(-1e-4, 1e-4))
def test_never_above_a_point_and_touches_one(noise: list[float], slope: float) -> None:
    x = np.arange(len(noise)) * 1e6
    y = np.array(noise) + slope * x
    line = lower_envelope(x, y)
    above = y - line.at_zero - line.slope * x
    assert above.min() == pytest.approx(0, abs=1e-6)


def test_a_clock_that_ran_backwards() -> None:
    times = Instants(A, 0, np.array([0, 10, 4, 5, 1]))
    with pytest.raises(ClockError, match=r"a\.pcap: its clock ran backwards by 6 ps before packet"):
        times.check_monotonic()
    Instants(A, 0, np.array([0, 0, 4])).check_monotonic()


@pytest.mark.parametrize(
    ("n", "step", "words"),
    [(0, 1, "no packets in common"), (31, 10**10, "31 packets in common; at least 32"),
     (100, 10**7, "less than 10 ms")],
)  # fmt: skip
def test_too_little_in_common(n: int, step: int, words: str) -> None:
    x = np.arange(n) * step
    with pytest.raises(ClockError, match=words):
        align(Instants(A, 0, x), Instants(B, 0, x))


def test_other_packets() -> None:
    rng = np.random.default_rng(1)
    x = np.sort(rng.integers(0, PS, 1000))
    with pytest.raises(ClockError, match="other packets, or all of them met a queue"):
        align(Instants(A, 0, x), Instants(B, 0, x * 3))
