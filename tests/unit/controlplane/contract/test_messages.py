"""The messages of the C programs: as the built programs wrote them, and malformed in each way.

captured_messages.json holds what the built programs wrote, by model: the data plane in both
roles on idle interfaces, a replay of tests/golden/postcards.pcap, the flow generator and the
probe over a namespace's loopback. A change of what a program writes needs a new capture.
"""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import HostError, NashbedError, TargetError
from nashbed.controlplane.contract.messages import ccas, dataplane, flows, guest, message, replay
from nashbed.controlplane.contract.messages.dataplane import (
    BottleneckCounters,
    Counters,
    DepartureLateness,
    FlowRegisters,
    Hello,
    Programmed,
    SharedCounters,
    SwitchHello,
    TelemetryStopped,
)
from nashbed.controlplane.contract.messages.flows import Listening, SenderReport, SinkReport
from nashbed.controlplane.contract.messages.message import Message, read_message
from nashbed.controlplane.contract.messages.replay import (
    EffectiveConfiguration,
    PathSpeed,
    ReplaySummary,
)
from nashbed.controlplane.contract.shared import FLOW_REGISTERS

CAPTURED = json.loads((Path(__file__).parent / "captured_messages.json").read_text())
MODELS = {
    name: value
    for module in (message, dataplane, replay, flows, guest, ccas)
    for name, value in vars(module).items()
}
CASES = [
    pytest.param(MODELS[model], content, id=f"{model}-{name}")
    for model, named in CAPTURED.items()
    for name, content in named.items()
]
PATHS = tuple[str | int, ...]


def leaves(value: Any, path: PATHS = ()) -> Iterator[PATHS]:
    """Where the numbers and texts of a message are; of a list the first element's."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        yield from leaves(value[0], (*path, 0)) if value else ()
    else:
        yield path


def changed(message: Any, path: PATHS, value: Any) -> Any:
    """A copy with another value at a place."""
    made = copy.deepcopy(message)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return made


def without(message: Any, path: PATHS) -> Any:
    """A copy without the key at a place."""
    made = copy.deepcopy(message)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    del holder[path[-1]]
    return made


def refused(model: type[Message], content: Any, failure: type[NashbedError] = TargetError) -> str:
    with pytest.raises(failure) as caught:
        read_message(model, content, "program: message", failure)
    line = caught.value.message
    assert line.startswith("program: message: ")
    assert "\n" not in line
    return line.removeprefix("program: message: ")


@pytest.mark.parametrize(("model", "message"), CASES)
def test_what_the_programs_write_is_read(model: type[Message], message: Any) -> None:
    read = read_message(model, message, "program: message")
    assert read_message(model, json.dumps(message), "program: message") == read
    written = read.model_dump(mode="json")
    assert written == {key: message[key] for key in written}
    if model is not EffectiveConfiguration:  # only a part of that is read
        assert set(message) - set(written) <= {"event", "exit", "added", *UNREAD}


UNREAD = {"packets", "flows", "burst", "seconds", "ns_per_packet"}
"""Fields of `--bench`: what was asked for, and its speed in other units."""


@pytest.mark.parametrize(("model", "message"), CASES)
def test_every_whole_number_is_checked(model: type[Message], message: Any) -> None:
    for path in whole_numbers(model.model_validate(message).model_dump(mode="json")):
        place = ".".join(map(str, path))
        for wrong in ("7", True, [], {}, float("nan"), 0.5):
            line = refused(model, changed(message, path, wrong))
            assert line == f"{place} is {wrong!r}, expected a whole number"


def whole_numbers(message: Any) -> list[PATHS]:
    """Where they are, but for those of a Limit, which is read from YAML as well."""
    found = [path for path in leaves(message) if type(value_at(message, path)) is int]
    return [path for path in found if "limit" not in path]


def value_at(message: Any, path: PATHS) -> Any:
    for key in path:
        message = message[key]
    return message


@pytest.mark.parametrize(("model", "message"), CASES)
def test_every_field_that_is_always_there_is_required(model: type[Message], message: Any) -> None:
    for name, field in model.model_fields.items():
        if field.is_required():
            assert refused(model, without(message, (name,))) == f"{name} is missing"


COUNTERS = CAPTURED["BottleneckCounters"]["counters"]
SENT = CAPTURED["SenderReport"]["sender"]
READ = CAPTURED["SinkReport"]["sink"]
HELLO = CAPTURED["Hello"]["bottleneck"]
REPLAY = CAPTURED["ReplaySummary"]["replay"]
STATS = CAPTURED["SharedCounters"]["stats"]
BENCH = CAPTURED["PathSpeed"]["bench"]


@pytest.mark.parametrize(
    ("model", "content", "line"),
    [
        (Hello, without(HELLO, ("version",)), "version is missing"),
        (Hello, HELLO | {"dialect": 2}, "dialect is not a field of this message"),
        (Hello, HELLO | {"pipeline": "auto"},
         "pipeline is 'auto', expected 'native' or 'interpreted'"),
        (Hello, HELLO | {"ports": []}, "ports is [], expected an object"),
        (Hello, HELLO | {"version": 1}, "version is 1, expected text"),
        (Hello, HELLO | {"pid": -1}, "pid is -1, expected 0 or more"),
        (Hello, [], "the message is [], expected an object"),
        (Hello, None, "the message is None, expected an object"),
        (Hello, "{", "the message is '{', expected JSON"),
        (Hello, HELLO | {"pid": "x" * 1000}, "pid is str, expected a whole number"),
        (BottleneckCounters, without(COUNTERS, ("flows", "arrived_bytes")),
         "flows.arrived_bytes is missing"),
        (BottleneckCounters, changed(COUNTERS, ("flows", "arrived_bytes"), [1]),
         "flows: arrived_bytes has not 2 values"),
        (BottleneckCounters, changed(COUNTERS, ("flows", "dropped_bytes"), [1, -1]),
         "flows.dropped_bytes.1 is -1, expected 0 or more"),
        (BottleneckCounters, changed(COUNTERS, ("flows", "dropped_bytes"), 3),
         "flows.dropped_bytes is 3, expected a list"),
        (BottleneckCounters, changed(COUNTERS, ("flows", "held_bytes"), [1, 1]),
         "flows.held_bytes is not a field of this message"),
        (BottleneckCounters, without(COUNTERS, ("lane", "queue_packets")),
         "lane.queue_packets is missing"),
        (BottleneckCounters, without(COUNTERS, ("lane", "lateness", "p999_ns")),
         "lane.lateness.p999_ns is missing"),
        (BottleneckCounters, changed(COUNTERS, ("lane", "lateness", "max_gap_ns"), -5),
         "lane.lateness.max_gap_ns is -5, expected 0 or more"),
        (BottleneckCounters, changed(COUNTERS, ("lane", "lateness"), None),
         "lane.lateness is None, expected an object"),
        (SharedCounters, without(STATS, ("unshaped",)), "unshaped is missing"),
        (SharedCounters, changed(STATS, ("rings", "p4"), -1),
         "rings.p4 is -1, expected 0 or more"),
        (SharedCounters, changed(STATS, ("ports", "senders", "rx_lost"), 1),
         "ports.senders.rx_lost is not a field of this message"),
        (TelemetryStopped, {"totals": {"seen": 1, "written": 1, "gaps": 0}},
         "totals.lost is missing"),
        (TelemetryStopped, {}, "totals is missing"),
        (Programmed, {"applied": {"rate_bps": 1, "overhead_bytes": 0}},
         "applied.limit is missing"),
        (Programmed,
         {"applied": {"rate_bps": 1, "overhead_bytes": 0, "limit": {"unit": "kg", "value": 1}}},
         "applied.limit.unit is 'kg', expected 'bytes', 'packets' or 'cells'"),
        (SenderReport, without(SENT, ("lateness",)), "lateness is missing"),
        (SenderReport, without(SENT, ("flows", 1, "end_ns")), "flows.1.end_ns is missing"),
        (SenderReport, changed(SENT, ("flows", 0, "end_ns"), 1.5),
         "flows.0.end_ns is 1.5, expected a whole number"),
        (SenderReport, changed(SENT, ("flows", 0, "bytes_sent"), -1),
         "flows.0.bytes_sent is -1, expected 0 or more"),
        (SenderReport, changed(SENT, ("flows", 0, "error"), 5),
         "flows.0.error is 5, expected text"),
        (SinkReport, changed(READ, ("flows", 0, "closed"), "later"),
         "flows.0.closed is 'later', expected 'never connected', 'open', 'reset', 'fin', 'error' "
         "or 'deadline'"),
        (ReplaySummary, without(REPLAY, ("flows", 0, "peak_queue_bytes")),
         "flows.0.peak_queue_bytes is missing"),
        (ReplaySummary, REPLAY | {"departed": "6"}, "departed is '6', expected a whole number"),
        (PathSpeed, BENCH | {"mpps": float("nan")}, "mpps is nan, expected a finite number"),
        (PathSpeed, BENCH | {"mpps": -0.5}, "mpps is -0.5, expected 0 or more"),
        (PathSpeed, BENCH | {"mpps": "2"}, "mpps is '2', expected a number"),
    ],
)  # fmt: skip
def test_a_malformed_message_is_one_line(model: type[Message], content: Any, line: str) -> None:
    assert refused(model, content) == line


def test_the_error_is_of_the_kind_that_the_reader_asks_for() -> None:
    assert refused(Listening, {}, HostError) == "addresses is missing"


def test_a_newer_program_may_say_more_in_its_statistics() -> None:
    more = changed(COUNTERS, ("lane", "lateness", "p9999_ns"), 1)
    assert BottleneckCounters.model_validate(more) == BottleneckCounters.model_validate(COUNTERS)


def test_a_name_with_line_breaks_stays_in_its_line() -> None:
    line = refused(SharedCounters, changed(STATS, ("rings", "a\nb"), -1))
    assert line == "rings.a b is -1, expected 0 or more"


def test_what_was_not_said_is_not_written() -> None:
    hello = Hello.model_validate(CAPTURED["Hello"]["hosts"])
    assert "pipeline" not in hello.model_dump()
    assert "switch" not in json.loads(hello.model_dump_json())
    switch = SwitchHello(epoch_ns=5, chip="tofino1")
    beside = hello.model_copy(update={"switch": switch}).model_dump()
    assert beside["switch"] == {"epoch_ns": 5, "chip": "tofino1"}


def test_a_switchs_clock_may_have_begun_before_ours() -> None:
    assert SwitchHello.model_validate({"epoch_ns": -5}).epoch_ns == -5


def test_held_packets_are_those_of_queue_and_delay_lines() -> None:
    lane = COUNTERS["lane"] | {"queue_packets": 3, "delay_packets": 4}
    content = COUNTERS | {"lane": lane, "shared": STATS}
    assert Counters.model_validate(content).held_packets == 7


def test_a_replays_registers_are_its_flows() -> None:
    summary = ReplaySummary.model_validate(REPLAY)
    assert summary.registers.count == len(summary.flows) == len(REPLAY["flows"])
    for name in FLOW_REGISTERS:
        assert list(getattr(summary.registers, name)) == [flow[name] for flow in REPLAY["flows"]]


def test_registers_are_of_as_many_flows_as_were_asked_for() -> None:
    registers = FlowRegisters(**dict.fromkeys(FLOW_REGISTERS, (1, 2)))
    registers.require(2, "switch")
    with pytest.raises(TargetError, match=r"^switch: arrived_packets has not 3 values$"):
        registers.require(3, "switch")


def test_registers_have_the_names_that_c_and_p4_share() -> None:
    assert tuple(FlowRegisters.model_fields) == FLOW_REGISTERS


def test_messages_are_frozen() -> None:
    late = DepartureLateness.model_construct(p999_ns=1)
    with pytest.raises(ValueError, match="frozen"):
        late.p999_ns = 2  # type: ignore[misc]
