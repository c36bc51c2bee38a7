"""Axes as they are written."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.analysis.atlas.plane import KINDS, MapAxis, read_axis
from nashbed.controlplane.contract.errors import ConfigError


def test_a_range_in_its_unit() -> None:
    axis = read_axis("--x", "buffer=0.5..50bdp", 3)
    assert axis == MapAxis(KINDS["buffer"], 0.5, 50, 3, log=True)
    assert axis.values == pytest.approx((0.5, 5, 50))


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("rate=10..1000mbit", 10e6, 1e9),
        ("rate=10mbit..1gbit", 10e6, 1e9),
        ("rate = 1Mbit/s .. 2Mbit/s", 1e6, 2e6),
        ("base_rtt=5..100ms", 0.005, 0.1),
        ("base_rtt=500us..1s", 0.0005, 1),
        ("bdp-per-flow=.5..100pkt", 0.5, 100),
        ("bdp-per-flow=1..100", 1, 100),
        ("flows=2..200", 2, 200),
    ],
)
def test_every_quantity_in_base_units(text: str, low: float, high: float) -> None:
    axis = read_axis("--x", text, 7)
    assert (axis.low, axis.high) == pytest.approx((low, high))
    assert len(axis.values) == axis.steps == 7


def test_spacing_and_steps() -> None:
    axis = read_axis("--x", "base_rtt=10..40ms:linear:4", 9)
    assert axis.values == pytest.approx((0.01, 0.02, 0.03, 0.04))
    assert read_axis("--x", "base_rtt=10..40ms:3:log", 9).values == pytest.approx(
        (0.01, 0.02, 0.04)
    )


def test_flows_are_whole_and_there_once() -> None:
    values = read_axis("--x", "flows=2..8", 40).values
    assert values == (2, 3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("loss=1..2", "'loss=1..2' is no axis; write one of buffer=0.5..50bdp, bdp-per-flow="),
        ("buffer", "is no axis"),
        ("buffer=5bdp", "'5bdp' is no range; write buffer=0.5..50bdp"),
        ("buffer=1..2MB", "is no range of buffer (BDP); write buffer=0.5..50bdp"),
        ("buffer=..2bdp", "is no range of buffer"),
        ("buffer=nan..2bdp", "is no range of buffer"),
        ("rate=10..1000", "is no range of rate"),
        ("flows=2..8.5", "is no range of flows"),
        ("buffer=5..1bdp", "must rise"),
        ("buffer=0..1bdp", "must rise, and start above 0"),
        ("flows=1..8", "start 2 flows or more"),
        ("buffer=1..2bdp:lin", "'lin' after a colon; write log, linear, or how many"),
        ("buffer=1..2bdp:1", "(2 to 1000)"),
    ],
)
def test_wrong_axes(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_axis("--y", text, 5)
    assert said in caught.value.message
    assert caught.value.message.startswith("--y: ")


@given(
    st.floats(0.001, 100),
    st.floats(1.01, 1000),
    st.integers(2, 60),
    st.sampled_from(["log", "linear"]),
)
def test_values_rise_from_end_to_end(low: float, factor: float, steps: int, spacing: str) -> None:
    axis = read_axis("--x", f"buffer={low:.9f}..{low * factor:.9f}bdp:{spacing}", steps)
    assert len(axis.values) == steps
    assert (np.diff(axis.values) > 0).all()
    assert axis.values[0] == pytest.approx(axis.low)
    assert axis.values[-1] == pytest.approx(axis.high)
