"""Every mistake in a file is one line: file, line, key, what is allowed, what to do."""

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.config import (
    load_scenario,
    parse_scenario,
    parse_testbed,
)
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.machine.c_files.finding import check_strategies
from nashbed.controlplane.machine.c_files.kinds import SHIPPED_CCAS
from tests.unit.controlplane.conftest import SCENARIO, TESTBED


def message(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(text, "s.yaml")
    assert caught.value.exit_code == 2
    return caught.value.message


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "buffer: 2bdp",
            "buffer: 2bdp, disciplin: droptail",
            "s.yaml:3: bottleneck.disciplin: unknown key; did you mean 'discipline'? allowed here: "
            "rate, buffer, discipline, overhead, queues, scheduler",
        ),
        (
            "100mbit",
            "100mb",
            "s.yaml:3: bottleneck.rate: '100mb' has an unknown unit 'mb'; did you mean 100mbit? "
            "Write a rate such as 100mbit (units: bit, kbit, mbit, gbit)",
        ),
        (
            "100mbit",
            "-1mbit",
            "s.yaml:3: bottleneck.rate: '-1mbit' is negative; write a rate such as 100mbit "
            "(units: bit, kbit, mbit, gbit)",
        ),
        (
            "100mbit",
            "0mbit",
            "s.yaml:3: bottleneck.rate: must be more than 0; write e.g. 100mbit",
        ),
        (
            "2bdp",
            "1513B",
            "s.yaml:3: bottleneck.buffer: 1.513kB at 100mbit and 10ms is 1513 B, less than one "
            "packet; write at least 1514B",
        ),
        (
            "2bdp",
            "0pkt",
            "s.yaml:3: bottleneck.buffer: 0pkt at 100mbit and 10ms is 0 B, less than one packet; "
            "write at least 1514B",
        ),
        (
            "2bdp",
            "64pkt, arrive_as: trains",
            "s.yaml:3: bottleneck.buffer: 64pkt: a Linux queue counts a whole train as one packet; "
            "with `arrive_as: trains` write the buffer in bytes or as bdp",
        ),
        (
            "title: A small one",
            "title: A small one\nhosts: {wmem_max: 64KiB}",
            "s.yaml:3: hosts.wmem_max: 65.536kB is out of range; write 128KiB to 2047MiB",
        ),
        (
            "title: A small one",
            "title: A small one\nhosts: {processing_jitter: 0.2s}",
            "s.yaml:3: hosts.processing_jitter: 200ms is out of range; write 0s to 100ms",
        ),
        (
            "title: A small one",
            "title: A small one\nhosts: {ecn: [reno]}",
            "s.yaml:3: hosts.ecn: 'reno' is neither a strategy nor a flow group (cubic, bbr, main)",
        ),
        (
            "strategies: [cubic, bbr]",
            "strategies: [cubic, dctcp]",
            "s.yaml:6: strategies: dctcp needs ECN; write `hosts: {ecn: [dctcp]}`",
        ),
        (
            "title: A small one",
            "title: A small one\nhosts: {read_interval: 2s}",
            "s.yaml:3: hosts.read_interval: 2s is out of range; write 0s or 0.1ms to 1s",
        ),
        (
            "warmup: 100ms",
            "warmup: 400ms",
            "s.yaml:8: warmup: 400ms leaves nothing to measure; make it shorter than the duration "
            "(400ms)",
        ),
        (
            "title: A small one",
            "title: A small one\ntitle: Another",
            "s.yaml:3: key 'title' is repeated (first on line 2); remove one of them",
        ),
        (
            "count: 3",
            "count: 0",
            "s.yaml:5: flows[0].count: is 0 or missing; write how many flows, or the `arrivals`",
        ),
        (
            "count: 3",
            "count: 60000",
            "s.yaml:5: flows[0].count: 60000: input should be less than or equal to 50000",
        ),
        (
            "count: 3",
            "count: many",
            "s.yaml:5: flows[0].count: 'many': input should be a valid integer",
        ),
        ("duration: 400ms\n", "", "s.yaml:1: key 'duration' is missing; add it"),
        (
            "[0, 1, 3]",
            "[0, 4]",
            "s.yaml:11: sweep.mixes[1]: 4 bbr flows, but group 'main' has 3",
        ),
        (
            "[0, 1, 3]",
            "[1, 1]",
            "s.yaml:11: sweep.mixes: a value is listed twice; remove one of them",
        ),
        (
            "{mixes: [0, 1, 3]}",
            '{kernel: ["6.1", 6.10]}',
            "s.yaml:11: sweep.kernel[1]: 6.1 is a number; write a kernel release in quotes, "
            'e.g. "6.12"',
        ),
        (
            "duration: 400ms",
            "kernel: linux-6.1\nduration: 400ms",
            "s.yaml:7: kernel: 'linux-6.1' is not allowed; it must match ^[0-9]+(\\.[0-9]+)*$",
        ),
        (
            "{mixes: [0, 1, 3]}",
            '{kernel: ["6.1", "6.1"]}',
            "s.yaml:11: sweep.kernel: a value is listed twice; remove one of them",
        ),
        (
            "[0, 1, 3]",
            "[{cubic: 1, bbr: 1}]",
            "s.yaml:11: sweep.mixes[0]: the counts add up to 2, not to 3 flows",
        ),
        (
            "sweep: {mixes: [0, 1, 3]}",
            "telemetry: {postcards: {bin: 10ms}}",
            "s.yaml:11: telemetry.postcards.bin: unknown key; did you mean 'bins'? allowed here: "
            "bins",
        ),
        (
            "sweep: {mixes: [0, 1, 3]}",
            "acceptance: [{metric: throughput}]",
            "s.yaml:11: acceptance[0].metric: 'throughput' is unknown; did you mean "
            "'throughput_share'? write 'per_flow_throughput', 'video_bitrate', 'mean_rtt', ",
        ),
        (
            "strategies: [cubic, bbr]",
            "strategies: [CUBIC, bbr]",
            "s.yaml:6: strategies[0]: 'CUBIC' is not allowed; write cubic",
        ),
        (
            "strategies: [cubic, bbr]",
            "strategies: cubic",
            "s.yaml:6: strategies: 'cubic' is not allowed here; write a list: [..., ...]",
        ),
        (
            "sweep: {mixes: [0, 1, 3]}",
            "sweep: {rtt: [10ms]}",
            "s.yaml:11: sweep.rtt: unknown key; did you mean 'base_rtt'? allowed here: ",
        ),
        (
            "sweep: {mixes: [0, 1, 3]}",
            "sweep: {mixes: {pairs: firs}}",
            "s.yaml:11: sweep.mixes.pairs: 'firs' is unknown; did you mean 'first'? "
            "write 'all', 'first' or a list",
        ),
        (
            "start_jitter: 50ms",
            "start_jitter: 200ms",
            "s.yaml:5: flows[0].start_offset: 0ns and start_jitter 200ms together are "
            "longer than warmup 100ms; all flows must run for the whole measured window",
        ),
        (
            "start_jitter: 50ms",
            "start: {staggered: 50ms}",
            "s.yaml:9: start: the last flow starts up to 100ms late; with start_offset 0ns and "
            "start_jitter 100ms that is longer than warmup 100ms; all flows must run for the whole "
            "measured window",
        ),
        (
            "start_jitter: 50ms",
            "start: {order: [bbr], gap: 1ms}",
            "s.yaml:9: start",
        ),
        (
            "start_jitter: 50ms",
            "start: {order: [bbr, reno], gap: 1ms}",
            "s.yaml:9: start.order: name every strategy once: cubic, bbr",
        ),
        (
            "start_jitter: 50ms",
            "start: {offsets: {reno: 1ms}}",
            "s.yaml:9: start.offsets: 'reno' is not among the strategies (cubic, bbr)",
        ),
        (
            "duration: 400ms",
            "start: iperf3\nduration: {until: settled}",
            "s.yaml:7: start: iperf3 sends for a fixed time; write a `duration` such as 120s, or "
            "another start",
        ),
        (
            "duration: 400ms\nwarmup: 100ms",
            "start: {staggered: 20ms}\nduration: {until: settled}\nwarmup: 20s",
            "s.yaml:7: start: a trial that is to settle starts the other way round every other "
            "time; write together, an order or offsets",
        ),
        (
            "duration: 400ms",
            "duration: {until: settled, at_least: 2s, at_most: 1s}",
            "s.yaml:7: duration.at_least: 2s is longer than at_most (1s); swap them",
        ),
        (
            "duration: 400ms",
            "duration: {until: settled, at_least: 2s, at_most: 80s}",
            "s.yaml:7: duration.at_most: 80s is too short to tell; write at least 153s, 15 "
            "ProbeRTT cycles",
        ),
        (
            "base_rtt: 10ms}",
            "base_rtt: 10ms, start_offset: 400ms}\nwindow: whole",
            "s.yaml:5: flows[0].start_offset: the last flow starts up to 400ms late, which is "
            "beyond the duration (400ms)",
        ),
        (
            "duration: 400ms",
            "window: whole\nduration: {until: settled}",
            "s.yaml:7: window: a trial that runs until it is settled is measured where it was "
            "steady; remove `window: whole`, or write a fixed duration",
        ),
        (
            "duration: 400ms",
            "duration: 400ms\nequilibrium: {budget: 9}",
            "s.yaml:8: equilibrium.budget: an exhaustive search runs every mix of the sweep; "
            "remove it, or write search: adaptive",
        ),
        (
            "bottleneck: {rate: 100mbit, buffer: 2bdp}",
            "bottleneck: 3",
            "s.yaml:3: bottleneck: 3 is not allowed here; write keys and values",
        ),
        ("name: small", "name: [1", "s.yaml:2: not YAML: expected ',' or ']', but got ':'"),
        ("name: small", "name: &a small\nz: *a", "s.yaml:2: z: unknown key; allowed here: "),
        (
            "duration: 400ms",
            "duration: {until: setled}",
            "s.yaml:7: duration.until: 'setled' is unknown; write 'settled'",
        ),
        (
            "[0, 1, 3]",
            "al",
            "s.yaml:11: sweep.mixes: 'al' is unknown; did you mean 'all'? write 'all', "
            "{pairs: ...}, {harm_to: ...} or a list",
        ),
        (
            "[0, 1, 3]",
            "3",
            "s.yaml:11: sweep.mixes: 3 is not allowed here; write 'all', {pairs: ...}, ",
        ),
        (
            "[0, 1, 3]",
            "[a]",
            "s.yaml:11: sweep.mixes[0]: 'a' is unknown; write a whole number, a list or keys and",
        ),
        (
            "{mixes: [0, 1, 3]}",
            "{dt: [1]}",
            "s.yaml:11: sweep.dt: unknown key; did you mean 'dynamic_threshold' under "
            "'shared_buffer'? allowed here: buffer, ",
        ),
        (
            "name: small",
            "name: small\nrate: 1mbit",
            "s.yaml:2: rate: unknown key; did you mean 'rate' under 'bottleneck'? allowed here: ",
        ),
        (
            "{mixes: [0, 1, 3]}",
            "{rtt: [10ms]}",
            "s.yaml:11: sweep.rtt: unknown key; did you mean 'base_rtt'? allowed here: buffer, ",
        ),
        (
            "buffer: 2bdp",
            "buffer: 2bdp, shared_buffer: dt",
            "s.yaml:3: bottleneck.shared_buffer: 'dt' is unknown; did you mean "
            "'dynamic_threshold'? ",
        ),
        (
            "[cubic, bbr]",
            "[cubic, cubic]",
            "s.yaml:6: strategies: a congestion control is listed twice; remove one of them",
        ),
    ],
)
def test_one_line_says_it(old: str, new: str, expected: str) -> None:
    assert old in SCENARIO
    found = message(SCENARIO.replace(old, new))
    assert found.startswith(expected)
    assert "\n" not in found


def test_several_mistakes_are_several_lines() -> None:
    text = SCENARIO.replace("100mbit", "fast").replace("count: 3", "count: -1")
    lines = message(text).splitlines()
    assert [line.split(":")[1] for line in lines] == ["3", "5"]


LOSS = "metric: loss_rate, mix: {bbr: 1}"
ALONE = "metric: mean_rtt, strategy: bbr, mix: {bbr: 1}"


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (f"{LOSS}, min: 5%, max: 1%", "min: 5% is above max, 1%: nothing is within"),
        (f"{ALONE}, min: 1s, max: 40ms", "min: 1s is above max, 40ms: nothing is within"),
        ("metric: equilibrium, strategy: bbr, min: 3, max: 2", "min: 3 is above max, 2: nothing"),
        (f"{LOSS}, max: 5ms", "max: '5ms' has an unknown unit 'ms'; write a share such as 10%"),
        (f"{ALONE}, max: 5", "max: '5' has no unit; write a duration such as 40ms"),
        ("metric: crossing, expect: 7bdp, tolerance: 1", "expect: '7bdp' is not a number"),
        (f"{LOSS}, over: bbr, max: 1%", "over: a bound on loss_rate has none; remove it"),
        ("metric: throughput_ratio, strategy: bbr", "over: a bound on throughput_ratio needs it"),
        (f"{LOSS}, expect: 1%", "expect: write it with `tolerance`, and without `min` and `max`"),
        (LOSS, "min: write `min` or `max` or both, or `expect` and `tolerance`"),
    ],
)
def test_a_bound_that_says_nothing(bound: str, text: str) -> None:
    assert f"acceptance[0].{text}" in message(f"{SCENARIO}\nacceptance: [{{{bound}}}]\n")


def test_a_file_of_another_kind_is_said_to_be_one() -> None:
    assert message(TESTBED) == "s.yaml: is a testbed file; a scenario file is wanted here"
    with pytest.raises(ConfigError, match="t: is a scenario file; a testbed file is wanted here"):
        parse_testbed(SCENARIO, "t")


def test_a_misspelt_key_is_not_also_missing() -> None:
    assert message(SCENARIO.replace("buffer:", "bufer:")).count("\n") == 0


@pytest.mark.parametrize("text", ["", "just text", "- a\n- b", "\x00", "a: !!python/object x"])
def test_what_is_no_scenario(text: str) -> None:
    assert message(text).startswith("s.yaml")


@given(st.text(max_size=200))
def test_any_text_is_a_clear_error(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_scenario(text, "s.yaml")


@pytest.mark.slow
def test_deep_nesting_is_a_clear_error() -> None:
    """Deeper than Python recurses; the parser's time grows with the square of it."""
    assert message("[" * 2 * sys.getrecursionlimit()).startswith("s.yaml")


def test_a_testbed_with_too_many_lanes() -> None:
    text = TESTBED.replace("lanes: 4", "lanes: 64") + "dataplane: {lanes: 8}\n"
    with pytest.raises(ConfigError, match=r"fake.yaml:5: capacity.lanes: 64 is more than"):
        parse_testbed(text, "fake.yaml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such scenario file; see configs/scenarios/"):
        load_scenario(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load_scenario(tmp_path / "binary.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_scenario(tmp_path)


def test_ccas() -> None:
    check_strategies(("cubic", "bbr"), "s.yaml", ("reno", "cubic", "bbr"))
    with pytest.raises(ConfigError) as caught:
        check_strategies(("cubicc", "vegas"), "s.yaml", ("reno", "cubic"))
    has = f"available: reno, cubic, {', '.join(SHIPPED_CCAS)}"
    assert caught.value.message.splitlines() == [
        "s.yaml: strategies: 'cubicc' is not a known congestion control; did you mean 'cubic'? "
        f"({has})",
        f"s.yaml: strategies: this kernel has no 'vegas'; try `modprobe tcp_vegas` ({has})",
    ]


def test_keys_of_the_version_before_are_read_with_a_note(caplog: pytest.LogCaptureFixture) -> None:
    queues = "2bdp, arrivals: frames, memory: complete_sharing, queues: [{name: a}, {name: b}]"
    queues = queues.replace("{name: a}", "{name: a, flows: [bbr]}")
    text = SCENARIO.partition("sweep:")[0].replace("2bdp", queues)
    text += """hosts: {jitter: 1ms}
sweep: {memory: [complete_sharing, complete_partitioning]}
acceptance: [{metric: equilibrium_count, memory: complete_sharing, min: 0}]
"""
    found = parse_scenario(text, "s.yaml").model
    assert (found.bottleneck.arrive_as, str(found.hosts.processing_jitter)) == ("frames", "1ms")
    assert [record.getMessage().partition(": ")[2] for record in caplog.records] == [
        "bottleneck.arrivals: is called arrive_as now; write that",
        "bottleneck.memory: is called shared_buffer now; write that",
        "hosts.jitter: is called processing_jitter now; write that",
        "sweep.memory: is called shared_buffer now; write that",
        "acceptance[0].memory: is called shared_buffer now; write that",
    ]
