"""Applications and media of flow groups: what is accepted, and what is one line."""

from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.config import load_scenario
from nashbed.controlplane.contract.applications import Application, Media
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.plan.attempt import flow_table, make_attempt
from nashbed.controlplane.plan.generator_config import generator_config
from tests.unit.controlplane.conftest import plan_of

TEXT = """\
name: apps
title: Applications
bottleneck: {{rate: 20mbit, buffer: 2bdp}}
flows:
  - {{name: main, count: 2, base_rtt: 40ms}}
  - {{name: other, count: 2, base_rtt: 40ms, {keys}}}
strategies: [cubic, bbr]
duration: {duration}
warmup: 1s
start: {start}
"""
VIDEO = "app: {video: {ladder: [1mbit, 2mbit], segment: 2s, buffer: 8s}}"
MS = 10**6


def loaded(folder: Path, keys: str, duration: str = "10s", start: str = "together") -> Scenario:
    path = folder / "s.yaml"
    path.write_text(TEXT.format(keys=keys, duration=duration, start=start))
    return load_scenario(path).model


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("app: {rate: 0bit}", "app.rate: must be more than 0; write e.g. 5mbit"),
        ("app: {on: 0s, off: 1s}", "app.on: 0ns is too short; write 1ms or more"),
        ("app: {on: 2s}", "app.off: is missing; write both, e.g. {on: 2s, off: 3s}"),
        ("app: {}", "app: write one application: {rate: 5mbit}, {on: 2s, off: 3s}, or {video:"),
        ("app: {rate: 1mbit, on: 1s, off: 1s}", "app: write one application"),
        (
            "app: {video: {ladder: [2mbit, 1mbit], segment: 2s, buffer: 8s}}",
            "video.ladder[1]: 1mbit is not above 2mbit; write the bitrates in ascending order",
        ),
        (
            "app: {video: {ladder: [1mbit], segment: 10s, buffer: 8s}}",
            "video.buffer: 8s has no room for two segments of 10s; write 20s or more",
        ),
        ("udp: {rate: 1mbit, packet: 1473B}", "udp.packet: 1.473kB is out of range; write 12B to"),
        ("udp: {packet: 200B}", "udp.rate: is missing; write a rate, an interval (`every`), or"),
        ("udp: {rate: 0bit, packet: 200B}", "udp.rate: must be more than 0; write e.g. 1mbit"),
        ("udp: {packet: 200B, every: 0s}", "udp.every: 0ns is too short; write 1ms or more"),
        ("udp: {rate: 1gbit, packet: 200B}", "sends a packet of 200B every 1600 ns; write larger"),
        ("udp: {rate: 1gbit, packet: 1400B, every: 1s}", "udp.every: a frame of 1gbit has"),
        (
            "strategy: cubic, udp: {rate: 1mbit, packet: 200B}",
            "strategy: datagrams have no congestion control; remove `strategy`, or `udp`",
        ),
        ("app: {rate: 1mbit}, udp: {rate: 1mbit, packet: 200B}", "app: datagrams have no app"),
    ],
)
def test_bad_input_is_one_line_that_names_the_key(tmp_path: Path, keys: str, line: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(tmp_path, keys)
    [text] = str(refused.value).splitlines()
    assert line in text.replace("flows[1].", "")


def test_iperf3_and_settling_need_bulk_flows(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"app: iperf3 sends bulk data; remove `app`"):
        loaded(tmp_path, VIDEO, start="iperf3")
    settled = "{until: settled, at_least: 200s, at_most: 400s}"
    with pytest.raises(ConfigError, match=r"app: a trial lasts until the shares of bulk flows"):
        loaded(tmp_path, VIDEO, duration=settled)
    loaded(tmp_path, f"strategy: cubic, {VIDEO}", duration=settled)


def test_datagrams_are_background_with_table_entries_of_udp(
    tmp_path: Path, testbed: Testbed
) -> None:
    scenario = loaded(tmp_path, "udp: {rate: 1mbit, packet: 200B, every: 20ms}")
    assert [group.name for group in scenario.mixed] == ["main"]
    assert "udp" not in scenario.ccas
    attempt = make_attempt(scenario, plan_of(scenario, testbed).trials[0], 0, 0, tmp_path)
    assert [flow.cc for flow in attempt.flows][2:] == ["udp", "udp"]
    assert [entry.proto for entry in flow_table(attempt.flows, 0)] == [6, 6, 17, 17]
    [told] = generator_config("sender", attempt).applications
    assert told.model_dump(exclude_defaults=True) == {
        "group": 1,
        "kind": "udp",
        "packet_bytes": 200,
        "rate_bps": 1_000_000,
        "every_ns": 20 * MS,
    }


def test_without_applications_the_generator_is_told_nothing_new(
    tmp_path: Path, testbed: Testbed
) -> None:
    scenario = loaded(tmp_path, "start_offset: 0s")
    attempt = make_attempt(scenario, plan_of(scenario, testbed).trials[0], 0, 0, tmp_path)
    assert generator_config("sender", attempt).applications == ()


def test_an_application_has_to_send_when_it_is_on() -> None:
    app = Application.model_validate({"on": "2s", "off": "3s"})
    s = 10**9
    expected: list[tuple[float, float, bool]] = [
        (0, 1, True),
        (2, 5, False),
        (2.5, 5.1, True),
        (4, 4.9, False),
        (6.9, 7, True),
        (7, 9.9, False),
        (-1, 0.5, True),
    ]
    for begin, end, on in expected:
        assert app.must_send(int(begin * s), int(end * s)) is on, (begin, end)


def test_media_says_how_much_a_frame_has() -> None:
    told: dict[str, Any] = {"rate": "1mbit", "packet": "200B", "every": "20ms"}
    media = Media.model_validate(told)
    assert (media.frame_bytes, media.gap_ns) == (2500, 1_600_000)
    # 51 frames of 13 packets, or one more where a rest was carried over.
    assert media.packets(10**9) == 51 * 14
