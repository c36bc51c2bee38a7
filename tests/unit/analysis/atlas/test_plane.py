"""The question at every point of a plane."""

from dataclasses import replace

import pytest
from nashbed.analysis.atlas.plane import plane_of, read_axis
from nashbed.controlplane.contract.errors import ConfigError
from tests.unit.analysis.atlas.made_maps import plane


def test_bdp_per_flow_sets_the_rate() -> None:
    # 50 flows x 10 packets x 1514 bytes x 8 / 40 ms = 151.4 Mbit/s; 2 BDP are 1,514,000 bytes.
    question = plane().question(2, 10)
    assert question.rate_bps == pytest.approx(151.4e6)
    assert question.buffer_bytes == pytest.approx(1_514_000)
    assert (question.base_rtt_s, question.flows, question.duration_s) == (0.04, 50, 120)


def test_other_axes() -> None:
    question = plane("rate=10..100mbit", "base_rtt=5..80ms", buffer=3.0, flows=7.0).question(
        20e6, 0.05
    )
    assert (question.rate_bps, question.base_rtt_s, question.flows) == (20e6, 0.05, 7)
    assert question.buffer_bytes == pytest.approx(3 * 20e6 * 0.05 / 8)
    question = plane("flows=2..64", "bdp-per-flow=1..8pkt", base_rtt=0.01).question(4, 5)
    assert question.flows == 4
    assert question.rate_bps == pytest.approx(4 * 5 * 1514 * 8 / 0.01)


def test_mixes_start_together_or_by_iperf3() -> None:
    # 10 BDP: 40 ms x (1 + 1.3) for each stream that the larger process has more than the other.
    apart = 0.04 * 2.3 * 30
    question = plane().question(10, 6)
    assert plane().mixes(question)(10) == question.with_second(10)
    mix = replace(plane(), start="iperf3", window_bytes=2.7e6).mixes(question)(10)
    assert (mix.second.flows, mix.first.flows, mix.second.start_s) == (10, 40, 0)
    assert mix.first.start_s == pytest.approx(apart)
    assert mix.measured_from_s == pytest.approx(apart / 2)
    assert replace(plane(), window_bytes=2.7e6).question(10, 6).second.window_bytes == 2.7e6


def test_what_is_fixed_is_said() -> None:
    assert plane().answer().fixed == {
        "base_rtt_s": 0.04,
        "flows": 50,
        "duration_s": 120,
        "window_bytes": None,
    }
    assert plane().points == 25
    assert plane("flows=2..3", steps=5).points == 10


@pytest.mark.parametrize(
    ("axes", "given", "said"),
    [
        (
            ("base_rtt=1..2ms", "base_rtt=1..2ms"),
            {},
            "y: base_rtt is the x axis already; write one of buffer",
        ),
        (("rate=1..2mbit", "bdp-per-flow=1..2pkt"), {}, "y: bdp-per-flow varies the rate"),
        (
            ("base_rtt=1..2ms", "flows=2..9"),
            {"base_rtt": 0.1},
            "base_rtt: the map varies it; leave it out",
        ),
        (("base_rtt=1..2ms", "bdp-per-flow=1..2pkt"), {"rate": 1e6}, "rate: the map varies it"),
    ],
)
def test_contradictions(axes: tuple[str, str], given: dict[str, float], said: str) -> None:
    x, y = (read_axis("--x", text, 3) for text in axes)
    with pytest.raises(ConfigError) as caught:
        plane_of(x, y, given)
    assert said in caught.value.message
