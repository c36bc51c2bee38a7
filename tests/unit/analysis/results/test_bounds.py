"""Acceptance bounds of every kind, on measures made up so that the values are plain."""

from typing import Any

import pytest
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.results.acceptance import AcceptanceResult, check_measures
from nashbed.controlplane.contract.trial import Setting
from tests.unit.analysis.made_measures import even, made

MBIT = 1e6


def judged(bound: dict[str, Any], per_flow: Any = even, **raw: Any) -> list[AcceptanceResult]:
    measures = made({**raw, "acceptance": [bound]}, per_flow, {"loss_rate": 0.02})
    return check_measures(measures, equilibria_of_measures(measures))


@pytest.mark.parametrize(
    ("bound", "value", "passed"),
    [
        ({"metric": "throughput_share", "strategy": "bbr", "mix": {"bbr": 1}, "min": "70%"},
         75, True),
        ({"metric": "throughput_share", "strategy": "bbr", "mix": {"bbr": 1}, "max": "70%"},
         75, False),
        ({"metric": "throughput_ratio", "strategy": "bbr", "over": "cubic", "mix": {"bbr": 1},
          "min": 2}, 3, True),
        ({"metric": "throughput_ratio", "strategy": "bbr", "over": "cubic", "max": 1.1},
         1.2, False),
        ({"metric": "loss_rate", "mix": {"bbr": 1}, "min": "1%", "max": "3%"}, 2, True),
        ({"metric": "per_flow_throughput", "strategy": "cubic", "mix": {"bbr": 1},
          "expect": "20mbit", "tolerance": "10%"}, 20, True),
        # Switching to BBR gains 20 -> and 40 -> 60; from BBR 48 back to 20 loses: 0 CUBIC flows.
        ({"metric": "equilibrium", "strategy": "cubic", "max": 0}, 0, True),
        ({"metric": "equilibrium", "strategy": "bbr", "group": "main", "max": 1}, 2, False),
        ({"metric": "equilibrium_count", "min": 1, "max": 1}, 1, True),
        # Any metric: of the mixes the one that is furthest out; of those with such a flow.
        ({"metric": "per_flow_throughput", "max": "47mbit"}, 48, False),
        ({"metric": "per_flow_throughput", "min": "41mbit", "max": "60mbit"}, 40, False),
        ({"metric": "per_flow_throughput", "strategy": "bbr", "min": "48mbit"}, 60, True),
        ({"metric": "loss_rate", "expect": "2.1%", "tolerance": "5%"}, 2, True),
    ],
)  # fmt: skip
def test_each_kind(bound: dict[str, Any], value: float, passed: bool) -> None:
    (found,) = judged(bound)
    assert found.value == pytest.approx(value)
    assert found.passed is passed
    assert found.allowed


def test_places() -> None:
    share = {"metric": "throughput_share", "strategy": "bbr", "mix": {"bbr": 1}, "max": "99%"}
    sweep = {
        "rate": ["50mbit", "100mbit"],
        "base_rtt": ["20ms", "40ms"],
        "buffer": ["1bdp", "2bdp"],
    }
    assert len(judged(share, sweep=sweep)) == 8
    assert len(judged({**share, "rate": "50mbit"}, sweep=sweep)) == 4
    (one,) = judged({**share, "rate": "50mbit", "base_rtt": "20ms", "buffer": "2bdp"}, sweep=sweep)
    assert one.setting == "c50mbit-t20ms-b2bdp"
    (lost,) = judged({**share, "random_loss": "1%"}, sweep={"random_loss": ["0%", "1%"]})
    assert lost.setting == "l1pct-b2bdp"
    (new,) = judged({**share, "kernel": "6.12"}, sweep={"kernel": ["6.1", "6.12"]})
    assert new.setting == "v6.12-b2bdp"
    (long,) = judged({**share, "duration": "90s"}, sweep={"duration": ["60s", "90s"]})
    assert long.setting == "d90s-b2bdp"
    (few,) = judged({**share, "count": 2}, sweep={"flows": {"count": [2, 3]}})
    assert few.setting == "count2-b2bdp"
    (none,) = judged({**share, "buffer": "9bdp"}, sweep=sweep)
    assert (none.setting, none.value, none.passed) == ("", None, False)


def test_a_bound_of_one_discipline() -> None:
    share = {"metric": "throughput_share", "strategy": "bbr", "mix": {"bbr": 1}}
    sweep = {"discipline": ["droptail", "codel", {"codel": {"ecn": True}}], "mixes": [1]}
    for asked, label in (("droptail", "droptail"), ({"codel": {"ecn": True}}, "codel-ecn")):
        (found,) = judged({**share, "discipline": asked, "max": "99%"}, sweep=sweep)
        assert found.setting == f"{label}-b2bdp"
    (found,) = judged({**share, "discipline": "droptail", "max": "99%"})  # not swept
    assert found.setting == "b2bdp"


def test_what_was_not_measured_is_not_passed() -> None:
    bound = {"metric": "mean_rtt", "strategy": "bbr", "mix": {"bbr": 1}, "min": "1ms"}
    (found,) = judged(bound)
    assert (found.value, found.passed) == (None, False)
    assert found.allowed == "at least 1 ms"
    assert "not measured" in found.detail


def test_every_equilibrium_must_be_allowed() -> None:
    # Whoever is alone loses: both pure mixes are equilibria.
    def herd(setting: Setting, strategy: str, second: int) -> float:
        return (5 if second == 1 else 40) * MBIT

    (low,) = judged({"metric": "equilibrium", "strategy": "cubic", "max": 0}, herd)
    (high,) = judged({"metric": "equilibrium", "strategy": "cubic", "min": 2}, herd)
    # Each bound is judged on the equilibrium that is furthest from what it allows.
    assert (low.value, high.value) == (2, 0)
    assert (low.verdict, high.verdict) == ("missed", "missed")
    (both,) = judged({"metric": "equilibrium", "strategy": "cubic", "max": 2}, herd)
    assert both.verdict == "met"
    (count,) = judged({"metric": "equilibrium_count", "min": 1, "max": 1}, herd)
    assert (count.value, count.passed) == (2, False)


TWO_RTTS = [
    {"name": "near", "count": 1, "base_rtt": "10ms"},
    {"name": "far", "count": 1, "base_rtt": "50ms"},
]


def test_flows_on_the_shortest_base_rtts() -> None:
    order = {"metric": "rtt_order", "strategy": "cubic", "min": "90%"}

    # Whoever is alone wins: one CUBIC flow is an equilibrium on either base RTT.
    def apart(setting: Setting, strategy: str, second: int) -> float:
        return (40 if second == 1 else 5) * MBIT

    (worst,) = judged(order, apart, flows=TWO_RTTS)
    assert (worst.value, worst.passed) == (0, False)

    # Whoever is alone loses: CUBIC on both, or on none, of which there is nothing to say.
    (both,) = judged(order, lambda *of: 45 * MBIT - apart(*of), flows=TWO_RTTS)
    assert (both.value, both.passed) == (100, True)

    (nobody,) = judged(order, flows=TWO_RTTS)
    assert (nobody.value, nobody.passed) == (None, False)
    assert "no cubic flow" in nobody.detail


TEN: dict[str, Any] = {"flows": [{"name": "main", "count": 10, "base_rtt": "40ms"}]}


def ending(lead_at_zero: float, noise: float = 0.0) -> Any:
    """A lead of BBR that ends at so many BBR flows, with a zigzag from mix to mix."""

    def per_flow(setting: Setting, strategy: str, second: int) -> float:
        lead = 0.2 * (lead_at_zero - second) + noise * (-1) ** second
        return (10 + (lead if strategy == "bbr" else 0)) * MBIT

    return per_flow


@pytest.mark.parametrize(
    ("limits", "noise", "verdict"),
    [
        ({"min": 3, "max": 5}, 0.0, "met"),  # the lead ends at 6.3 BBR flows: 4 CUBIC flows
        ({"max": 2}, 0.0, "missed"),
        ({"min": 3, "max": 5}, 0.05, "undecided"),  # a zigzag as large as a quarter flow's lead
        ({"min": 2, "max": 5}, 0.05, "met"),
        ({"max": 3}, 0.05, "undecided"),
        ({"max": 1}, 0.05, "missed"),
    ],
)
def test_an_equilibrium_is_judged_on_its_interval(
    limits: dict[str, int], noise: float, verdict: str
) -> None:
    bound = {"metric": "equilibrium", "strategy": "cubic", **limits}
    (found,) = judged(bound, ending(6.3, noise), **TEN)
    assert found.verdict == verdict
    assert found.passed is (verdict == "met")
    assert found.value == pytest.approx(3.7, abs=0.1)
    assert found.spans == ((2.0 if noise else 3.0, 4.0, True),)


def test_an_equilibrium_that_may_be_leaves_a_bound_undecided() -> None:
    """BBR leads everywhere, but around the middle hardly: the dip may be below zero."""

    def dip(setting: Setting, strategy: str, second: int) -> float:
        lead = {9: -0.06, 10: -0.1, 11: -0.06}.get(second, 0.3 + 0.05 * (-1) ** second)
        return (10 + (lead if strategy == "bbr" else 0)) * MBIT

    twenty: dict[str, Any] = {"flows": [{"name": "main", "count": 20, "base_rtt": "40ms"}]}
    (found,) = judged({"metric": "equilibrium", "strategy": "cubic", "max": 1}, dip, **twenty)
    assert [span.sure for span in found.spans] == [False, True]
    assert (found.value, found.verdict) == (0, "undecided")


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        (
            {"metric": "throughput_ratio", "strategy": "bbr", "over": "reno", "max": 1},
            "'reno' is not among",
        ),
        (
            {"metric": "throughput_share", "strategy": "bbr", "mix": {"bbr": 3}, "max": "9%"},
            "more flows than",
        ),
        (
            {"metric": "equilibrium", "strategy": "bbr", "group": "far", "max": 1},
            "no flow group 'far'",
        ),
        ({"metric": "rtt_order", "strategy": "bbr"}, "groups of different base RTTs"),
        ({"metric": "throughput", "strategy": "bbr"}, "Input should be 'per_flow_throughput'"),
    ],
)
def test_bounds_that_make_no_sense(bound: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        judged(bound)
