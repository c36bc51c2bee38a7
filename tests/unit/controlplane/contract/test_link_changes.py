"""What happens to a link: states by hand, and every mistake in one line that names its key."""

from typing import Any

import pytest
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.plan.sweep import scenario_settings

S = 10**9
TEXT = """\
name: small
title: A small one
bottleneck: {{rate: 100mbit, buffer: 2bdp, {link}}}
flows: [{{name: main, count: 2, base_rtt: 40ms}}]
strategies: [cubic, bbr]
duration: {duration}
warmup: 1s
{more}
"""


def scenario(link: str, duration: str = "100s", more: str = "") -> Any:
    return parse_scenario(TEXT.format(link=link, duration=duration, more=more), "x.yaml").model


def test_states_by_hand() -> None:
    """The rate that comes during an outage holds after it; 8 BDP are of the change's own rate."""
    changes = (
        "changes: [{at: 30s, rate: 10mbit}, {from: 50s, to: 70s, down: true}, "
        "{at: 60s, rate: 50mbit, buffer: 8bdp}]"
    )
    (setting,) = scenario_settings(scenario(changes))
    states = [(s.at_ns // S, s.rate_bps // 10**6, s.limit_bytes) for s in setting.changes]
    full, later = 1_000_000, 2_000_000
    assert states == [(30, 10, full), (50, 0, full), (60, 0, later), (70, 50, later)]
    assert setting.most_rate_bps == 10**8
    assert setting.is_scheduled
    applied = setting.applied()
    bits = applied.link.capacity_bits(0, 100 * S)
    assert bits == 30 * 1e8 + 20 * 1e7 + 30 * 5e7


def test_an_outage_that_comes_again_does_so_until_the_end() -> None:
    """At 1.5, 3.5 and 5.5 s; the last one ends with the trial."""
    (setting,) = scenario_settings(
        scenario(change("from: 1.5s, to: 2s, down: true, every: 2s"), duration="6s")
    )
    states = [(s.at_ns / S, s.rate_bps // 10**6) for s in setting.changes]
    assert states == [(1.5, 0), (2, 100), (3.5, 0), (4, 100), (5.5, 0), (6, 100)]


def test_a_shaper_is_told_and_applied_in_base_units() -> None:
    told = {"burst_bytes": 32_000, "peak_bps": 10**9, "mtu_bytes": 1514}
    (setting,) = scenario_settings(scenario("shaper: {burst: 32kB, peak: 1gbit, mtu: 1514B}"))
    assert setting.told()["shaper"] == setting.applied().model_dump()["shaper"] == told
    (setting,) = scenario_settings(scenario("shaper: {burst: 32kB}, limit_counts: queue"))
    assert setting.told()["shaper"] == {"burst_bytes": 32_000}
    assert setting.counts_sent
    assert not setting.is_plain


def test_a_policer_alone_schedules_nothing() -> None:
    (setting,) = scenario_settings(scenario("policer: {rate: 50mbit, burst: 200kB}"))
    assert not setting.is_scheduled
    assert setting.applied().policer.burst.bytes == 200_000


def test_without_any_of_it_nothing_is_named() -> None:
    (setting,) = scenario_settings(scenario("overhead: 0B"))
    assert {"changes", "trace", "policer"}.isdisjoint(setting.model_dump())
    assert {"changes", "trace", "policer"}.isdisjoint(setting.applied().model_dump())


def change(*items: str) -> str:
    return f"changes: [{', '.join('{' + item + '}' for item in items)}]"


@pytest.mark.parametrize(
    ("link", "more", "problem"),
    [
        (change("at: 200s, rate: 1mbit"), "", "changes[0].at: 200s is after the end"),
        (change("from: 90s, to: 101s, down: true"), "", "changes[0].to: 101s is after the end"),
        (
            change("at: 2s, rate: 1mbit", "at: 1s, rate: 2mbit"),
            "",
            "changes[1].at: 1s is not after",
        ),
        (
            change("from: 2s, to: 9s, down: true", "from: 8s, to: 10s, down: true"),
            "",
            "changes[1].from: the outage before lasts until 9s",
        ),
        (
            change("from: 1s, to: 3s, down: true, every: 2s"),
            "",
            "changes[0].every: the outage before lasts until 3s",
        ),
        (
            change("from: 1s, to: 2s, down: true, every: 5s", "from: 6s, to: 8s, down: true"),
            "",
            "changes[1].from: the outage before lasts until 7s",
        ),
        (change("at: 1s, rate: 2mbit, every: 2s"), "", "changes[0].every: is more than 0"),
        (change("from: 9s, to: 2s, down: true"), "", "changes[0].to: 2s is not after `from`"),
        (change("from: 2s, to: 9s"), "", "changes[0].down: goes with `from` and `to`"),
        (change("rate: 1mbit"), "", "changes[0]: has no time"),
        (change("at: 1s"), "", "changes[0]: changes nothing"),
        (change("at: 1s, rate: 0mbit"), "", "changes[0].rate: must be more than 0"),
        (change("at: 1s, to: 2s, rate: 1mbit"), "", "changes[0].at: is a moment"),
        (change("at: 1s, buffer: 100B"), "", "changes[0].buffer: 100B at 100mbit is 100 B"),
        (change("at: 1s, rate: 1mbit"), "sweep: {rate: [1mbit, 2mbit]}", "sweep.rate: bott"),
        ("policer: {rate: 1mbit, burst: 1kB}", "", "policer.burst: 1kB is out of range"),
        (
            "policer: {rate_bps: 1000000, burst: 1MB}",
            "",
            "policer.rate_bps: unknown key; did you mean 'rate'?",
        ),
        ("policer: {rate: 0mbit, burst: 1MB}", "", "policer.rate: must be more than 0"),
        ("shaper: {burst: 1kB}", "", "shaper.burst: 1kB is out of range; write 1514B (one"),
        ("shaper: {burst: 1MB, peak: 1gbit}", "", "shaper: peak and mtu go together"),
        ("shaper: {burst: 1MB, peak: 1gbit, mtu: 2MB}", "", "shaper.mtu: 2MB is out of range"),
        (
            "shaper: {burst: 1MB, peak: 100mbit, mtu: 2kB}",
            "",
            "shaper.peak: 100mbit must be more than the rate, 100mbit",
        ),
        (
            f"shaper: {{burst: 1MB}}, {change('at: 1s, rate: 1mbit')}",
            "",
            "shaper: its tokens come at one rate",
        ),
    ],
)
def test_mistakes_are_one_line(link: str, more: str, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        scenario(link, more=more)
    assert problem in error.value.message
    assert len(error.value.message.splitlines()) == 1


def test_a_trial_that_settles_has_no_times() -> None:
    settled = "{until: settled, at_least: 60s, at_most: 1800s}"
    with pytest.raises(ConfigError, match=r"bottleneck\.changes: a trial that lasts until"):
        scenario(change("at: 1s, rate: 1mbit"), settled)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("x.trace", "", "is empty"),
        ("x.trace", "0\n0\n", "has no opportunity after 0 ms"),
        ("x.trace", "1\nfive\n", "line 2: 'five' is no whole millisecond"),
        ("x.trace", "5\n3\n", "line 2: is earlier"),
        ("x.csv", "a,b\n", "line 1: must be t_s,rate_bps"),
        ("x.csv", "t_s,rate_bps\n0,0\n1,5\n", "nothing to send for good"),
        ("x.csv", "t_s,rate_bps\n0,5\n0,6\n", "line 3: is not after"),
        ("x.csv", "t_s,rate_bps\n0,5\n", "needs a rate from 0 s on, and a last line"),
        ("x.csv", "t_s,rate_bps\n0,5\nx,6\n", "line 3: is not a time in s"),
    ],
)
def test_bad_traces_are_one_line(tmp_path: Any, name: str, content: str, problem: str) -> None:
    (tmp_path / name).write_text(content)
    text = TEXT.format(link=f"trace: {name}", duration="10s", more="")
    with pytest.raises(ConfigError) as error:
        parse_scenario(text, str(tmp_path / "x.yaml"))
    assert f"bottleneck.trace: {tmp_path / name}: " in error.value.message
    assert problem in error.value.message


def test_traces_are_read(tmp_path: Any) -> None:
    """What a file says is what is programmed; its last line is its length."""
    (tmp_path / "x.trace").write_text("0\n3\n3\n10\n")
    (tmp_path / "x.csv").write_text("t_s,rate_bps\n0,1000000\n0.5,0\n2,0\n")
    for link, expected in (
        ("trace: x.trace", ((0, 3 * 10**6, 3 * 10**6, 10**7), (), 10**7)),
        ("trace: {file: x.trace, repeat: false}", ((0, 3 * 10**6, 3 * 10**6, 10**7), (), 0)),
        ("trace: x.csv", ((), ((0, 10**6), (5 * 10**8, 0)), 2 * 10**9)),
    ):
        text = TEXT.format(link=link, duration="10s", more="")
        (setting,) = scenario_settings(parse_scenario(text, str(tmp_path / "x.yaml")).model)
        line = setting.applied().link
        assert (line.opportunities_ns, line.steps, line.period_ns) == expected
        if line.opportunities_ns:
            assert line.opportunity_bits == 8 * 1514
