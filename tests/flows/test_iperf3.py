"""Processes that start as iperf3 does: one stream after the other, and all of them at once."""

import json
from typing import Any

import pytest

pytestmark = [pytest.mark.live, pytest.mark.root]

Config = dict[str, Any]
MS = 1_000_000
COOKIE_BYTES = 37
LATE_NS = 100 * MS  # a scheduling delay that a busy machine may have between two flows' starts


def two_processes(config: Config, helpers: Any) -> Config:
    """Two streams of CUBIC and six of Reno, 600 ms each."""
    kinds = ["cubic"] * 2 + ["reno"] * 6
    flows = [{**helpers.flow(n, cc), "process": int(cc == "reno")} for n, cc in enumerate(kinds)]
    controls = [helpers.control(0), helpers.control(1)]
    return {**config, "span_ns": 6000 * MS, "controls": controls, "flows": flows}


def test_a_process_sends_when_all_its_streams_are_there(
    network: Any, config: Config, helpers: Any
) -> None:
    outcome = network.trial(two_processes(config, helpers))
    assert {flow["handshake_ns"] for flow in outcome.ready["flows"]} == {None}
    for numbers in ((0, 1), range(2, 8)):
        process = [outcome.sender_flow(number) for number in numbers]
        connected = [flow["connect_ns"] for flow in process]
        assert connected == sorted(connected)
        assert min(connected) > 0
        assert max(connected) < min(flow["start_ns"] for flow in process)
        for flow in process:
            assert flow["end_ns"] - flow["start_ns"] >= config["duration_ns"] - LATE_NS


def test_a_first_byte_is_one_of_the_test(network: Any, config: Config, helpers: Any) -> None:
    outcome = network.trial(two_processes(config, helpers))
    for number in range(8):
        sent, received = outcome.sender_flow(number), outcome.sink_flow(number)
        assert received["first_byte_ns"] > sent["start_ns"]
        most = sent["bytes_sent"] - sent["bytes_retrans"] + sent["notsent_bytes"]
        assert COOKIE_BYTES < received["bytes"] <= most
        assert received["closed"] == "reset"
        assert received["bytes"] == outcome.goodput_of(number)["bytes"].sum()


def test_a_sink_without_control_connections_is_an_error(
    network: Any, config: Config, helpers: Any
) -> None:
    sink = network.start("sink", config)
    assert sink.event()["event"] == "listening"
    sender = network.start("sender", two_processes(config, helpers))
    assert sender.event()["event"] == "ready"
    helpers.announce(sink, sender)
    [event], _, status = sender.finish()
    assert (event["event"], status) == ("error", 4)
    assert "control connection of process 0: Connection refused" in event["error"]


def test_progress_is_told_and_an_end_can_be_ordered(
    network: Any, config: Config, helpers: Any
) -> None:
    config = {**config, "duration_ns": 10_000 * MS, "span_ns": 10_000 * MS, "progress_ns": 200 * MS}
    sink, sender, _ = network.start_both(config)
    t0_ns = helpers.announce(sink, sender)
    told = [sink.event() for _ in range(3)]
    assert [event["event"] for event in told] == ["progress"] * 3
    assert [event["t_ns"] for event in told] == [200 * MS, 400 * MS, 600 * MS]
    arrived = [event["bytes"][0] for event in told]
    assert 0 < arrived[0] < arrived[1] < arrived[2]

    sender.say(json.dumps({"end_ns": t0_ns + 1000 * MS}))
    [done], _, status = sender.finish()
    assert status == 0
    assert 1000 * MS <= done["flows"][0]["end_ns"] < 5000 * MS
    events, _, status = sink.finish()
    assert (events[-1]["event"], status) == ("done", 0)
    assert events[-1]["flows"][0]["bytes"] >= arrived[2]


def test_a_wrong_order_is_refused(network: Any, config: Config, helpers: Any) -> None:
    sink, sender, _ = network.start_both({**config, "duration_ns": 5000 * MS})
    helpers.announce(sink, sender)
    sender.say('{"t0_ns": 1}')
    [event], _, status = sender.finish()
    assert status == 2
    assert 'expected one line {"end_ns": N}' in event["error"]
