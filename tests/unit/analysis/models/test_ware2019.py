"""Ware 2019 by hand."""

import pytest
from nashbed.analysis.models import MODELS, Competition, cubic_against

WARE = MODELS["ware"].predict


def test_one_against_one() -> None:
    # 50 Mbit/s, 40 ms, 3 BDP = 750,000 B = 495.376 packets of 1514 B, 1 BBR flow:
    # p = 1/2 - 1/6 - 4/495.376 = 0.333333 - 0.008075 = 0.325259.
    # q/c = 750,000 x 8/50e6 = 0.12 s; ProbeRTT (0.12 + 0.2 + 0.04)/10 = 0.036 of the time.
    # Share = 0.674741 x 0.964 = 0.650451.
    found = WARE(cubic_against(50e6, 0.04, 750_000, 1, 1))
    assert found.inner["loss_based_share"] == pytest.approx(0.325259, abs=1e-6)
    assert found.inner["probe_rtt_share"] == pytest.approx(0.036)
    assert found.share == pytest.approx(0.650451, abs=1e-6)
    assert found.status == "valid"


def test_many_flows_in_a_deep_buffer() -> None:
    # 100 Mbit/s, 40 ms, 30 BDP = 15,000,000 B = 9907.530 packets, 10 of 50 flows run BBR:
    # p = 1/2 - 1/60 - 40/9907.530 = 0.479296; q/c = 1.2 s, ProbeRTT 0.144.
    # Share = 0.520704 x 0.856 = 0.445723, a tenth of it for each.
    found = WARE(cubic_against(100e6, 0.04, 15_000_000, 40, 10))
    assert found.share == pytest.approx(0.445723, abs=1e-6)
    assert found.second_per_flow_bps == pytest.approx(4.45723e6, abs=10)
    assert found.first_per_flow_bps == pytest.approx((1 - 0.445723) * 100e6 / 40, abs=10)


def test_the_share_is_clamped_with_a_flag() -> None:
    # 2 BDP of 10 Mbit/s and 40 ms are 66 packets; 4 packets of 20 flows are more.
    found = WARE(cubic_against(10e6, 0.04, 100_000, 10, 20))
    assert found.status == "flagged"
    assert found.inner["loss_based_share"] == 0
    assert "is taken as 0" in found.flags[0]


def test_below_one_bdp_bbr_has_all_but_its_probing_with_a_flag() -> None:
    # 50 Mbit/s, 40 ms, 0.5 BDP = 125,000 B = 82.563 packets: 1/2 - 1 - 4/82.563 = -0.548, so 0.
    # q/c = 0.02 s; ProbeRTT (0.02 + 0.2 + 0.04)/10 = 0.026 of the time.
    found = WARE(cubic_against(50e6, 0.04, 125_000, 1, 1))
    assert found.status == "flagged"
    assert found.share == pytest.approx(0.974)
    (flag,) = found.flags
    assert "the buffer is 0.5 BDP" in flag
    assert "the model's premise" in flag
    assert "-0.55, is taken as 0" in flag


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (cubic_against(1e6, 0.04, 2_000_000, 1, 1), "longer than the 10 s"),
        (cubic_against(50e6, 0.04, 750_000, 1, 1, duration_s=5), "5 s is less than the 10 s"),
    ],
)
def test_outside_its_validity_there_is_no_number(question: Competition, why: str) -> None:
    found = WARE(question)
    assert (found.status, found.share) == ("refused", None)
    assert why in found.refusals[0]
