"""Several queues as they are written, named, and told to a data plane."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashbed.controlplane.config import parse_scenario
from nashbed.controlplane.contract.dscp import CODE_POINTS, Dscp, dscp_text
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.queues import (
    BY_DSCP,
    POLICIES,
    FlowKind,
    Memory,
    MemorySpec,
    Queues,
)
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.scenario_keys import Bottleneck
from nashbed.controlplane.contract.units import Duration, Rate
from nashbed.controlplane.machine.paths import AQM_HEADERS
from pydantic import TypeAdapter
from tests.unit.controlplane.conftest import SCENARIO

TWO = "queues: [{name: fast, flows: [bbr]}, {name: rest}]"
RATE, RTT = Rate.parse("100mbit"), Duration.parse("10ms")


def scenario(queues: str, old: str = "", new: str = "") -> Scenario:
    """SCENARIO with several queues, and something else replaced."""
    text = SCENARIO.replace("2bdp", f"2bdp, {queues}").replace(old, new)
    return parse_scenario(text, "s.yaml").model


def several(queues: str) -> Queues:
    found = scenario(queues).bottleneck.several(RTT)
    assert found is not None
    return found


def written(text: str) -> Memory:
    found = scenario(f"{TWO}, shared_buffer: {text}").bottleneck.shared_buffer
    assert found is not None
    return found


def test_one_queue_is_usual() -> None:
    assert parse_scenario(SCENARIO, "s.yaml").model.bottleneck.several(RTT) is None


def test_what_is_left_out_is_round_robin_out_of_one_memory() -> None:
    queues = several(TWO)
    assert (queues.scheduler, queues.memory.name) == ("drr", "complete_sharing")
    assert queues.text == "drr (fast 1, rest 1), complete sharing"
    assert [(q.name, q.takes, q.limit_bytes, q.weight, q.discipline) for q in queues.queues] == [
        ("fast", ("bbr",), 0, 1, None),
        ("rest", (), 0, 1, None),
    ]
    assert (queues.dscp, queues.dscp_default) == ((), 1)


@pytest.mark.parametrize(
    ("text", "told", "label", "words"),
    [
        ("complete_sharing", {}, "complete_sharing", "complete sharing"),
        ("{complete_partitioning: }", {}, "complete_partitioning", "complete partitioning"),
        (
            "dynamic_threshold",
            {"alpha": 1.0},
            "dynamic_threshold-alpha1",
            "dynamic thresholds (alpha 1)",
        ),
        (
            "{dynamic_threshold: {alpha: 0.5}}",
            {"alpha": 0.5},
            "dynamic_threshold-alpha0.5",
            "dynamic thresholds (alpha 0.5)",
        ),
        (
            "{static: [1bdp, 20kB]}",
            {"limits_bytes": [125_000, 20_000]},
            "static-1bdp-20kB",
            "static limits (1bdp, 20kB)",
        ),
        (
            "{file: ./mine.c, params: {wait: 5ms}}",
            {"file": "./mine.c", "wait": "5ms"},
            "mine-wait5ms",
            "mine (wait 5ms)",
        ),
        ("./mine.c", {"file": "./mine.c"}, "mine", "mine"),
    ],
)
def test_policies_of_the_memory(text: str, told: dict[str, Any], label: str, words: str) -> None:
    memory = written(text)
    resolved = memory.resolved(RATE, RTT)
    assert json.loads(resolved.model_dump_json()) == {"name": memory.name, **told}
    assert Memory.model_validate_json(resolved.model_dump_json()) == resolved
    assert (memory.label, memory.text) == (label, words)
    assert TypeAdapter(MemorySpec).validate_python(memory.written) == memory


def test_our_policies_are_cs() -> None:
    """The names, in the same order; parameters are made of ours (lane.json)."""
    source = (AQM_HEADERS / "policies.c").read_text()
    assert re.findall(r'\.name = "(\w+)"', source) == list(POLICIES)


def test_limits_are_of_the_settings_rate() -> None:
    text = "queues: [{name: a, flows: [bbr], limit: 0.5bdp}, {name: b, limit: 20pkt}]"
    for rate, half in (("100mbit", 62_500), ("10mbit", 6_250)):
        queues = scenario(text, "rate: 100mbit", f"rate: {rate}").bottleneck.several(RTT)
        assert queues is not None
        assert [queue.limit_bytes for queue in queues.queues] == [half, 20 * 1514]


def test_a_scenario_with_queues_is_kept_as_it_is() -> None:
    first = scenario(
        "scheduler: strict_priority, shared_buffer: {static: [1MB, 20kB, 1bdp]}, queues: ["
        "{name: voice, dscp: [ef, 46, 10]}, "
        "{name: a, flows: [bbr], discipline: {codel: {ecn: true}}}, "
        "{name: b, limit: 1bdp}]"
    )
    assert Scenario.model_validate_json(first.model_dump_json()) == first
    found = first.bottleneck.several(RTT)
    assert found is not None
    assert [queue.takes for queue in found.queues] == [("DSCP ef", "DSCP af11"), ("bbr",), ()]
    assert [queue.text for queue in found.queues] == [
        "voice: DSCP ef, DSCP af11; drop-tail",
        "a: bbr; CoDel (ecn)",
        "b: all others; drop-tail; limit 125kB",
    ]


@given(
    st.lists(st.sampled_from(["main", "other", "cubic", "bbr"]), unique=True, max_size=2),
    st.dictionaries(st.integers(0, 63), st.integers(0, 1), max_size=4),
    st.sampled_from([None, 0, 10, 46]),
)
def test_each_packet_goes_where_its_entry_and_its_point_say(
    named: list[str], points: dict[int, int], dscp: int | None
) -> None:
    """What P4 does with entry and table is what is said of the flow."""
    queues = [{"name": f"d{i}", "dscp": [p for p, q in points.items() if q == i]} for i in (0, 1)]
    queues = [queue for queue in queues if queue["dscp"]]
    queues += [{"name": "named", "flows": named}] if named else []
    queues = queues or [{"name": "a", "flows": ["bbr"]}]
    queues = queues or [{"name": "a", "flows": ["bbr"]}]
    bottleneck = {"rate": "1mbit", "buffer": "1MB", "queues": [*queues, {"name": "rest"}]}
    found = Bottleneck.model_validate(bottleneck).several(RTT)
    assert found is not None
    for group in ("main", "other"):
        for strategy in ("cubic", "bbr"):
            kind = FlowKind(strategy, group, dscp)
            entry = found.entry_of(kind)
            sent = entry
            if entry == BY_DSCP:
                sent = dict(found.dscp).get(dscp or 0, found.dscp_default)
            assert sent == found.queue_of(kind)


def test_code_points_are_read_by_name_and_number() -> None:
    read = TypeAdapter(Dscp).validate_python
    assert [read(name) for name in ("cs0", "cs7", "af11", "af43", "ef", "le", "EF", 63)] == [
        0, 56, 10, 38, 46, 1, 46, 63
    ]  # fmt: skip
    assert all(read(name) == point == read(point) for name, point in CODE_POINTS.items())
    assert [dscp_text(point) for point in (46, 3)] == ["ef", "3"]


BAD = [
    ("scheduler: drr", "scheduler: is for several queues; write `queues`, or remove it"),
    ("shared_buffer: complete_sharing", "shared_buffer: is for several queues; write `queues`, or "
     "remove it"),
    ("queues: [{name: a}]", "queues: there are 1; write 2 to 8, or leave the key out"),
    ("queues: [{name: a, flows: [bbr]}, {name: a}]", "queues: two have the same name; "
     "name each queue differently"),
    ("queues: [{name: a}, {name: b}]", "queues: a and b have neither flows nor dscp; "
     "only one queue can take the rest"),
    ("queues: [{name: a, flows: [bbr], dscp: [ef]}, {name: b}]", "queues[0]: queue 'a' "
     "has flows and dscp; write one of them, or two queues"),
    ("queues: [{name: a, flows: [bbr]}, {name: b, flows: [bbr]}]", "queues[1].flows: bbr "
     "is in queue 'a' already; name it in one queue"),
    ("queues: [{name: a, dscp: [ef]}, {name: b, dscp: [46]}, {name: c}]", "queues[1].dscp"
     ": ef is in queue 'a' already; name it in one queue"),
    ("queues: [{name: a, flows: [bbr]}, {name: b, flows: [main]}]", "queues[1].flows: bbr"
     " flows of group 'main' are in queue 'a' already, and in 'b'; name the group or the strategy, "
     "and let a queue take the rest"),
    ("queues: [{name: a, flows: [bbr]}, {name: b, dscp: [ef]}]", "queues: no queue takes"
     " cubic flows of group 'main'; name them in one, or add a queue without flows and dscp, which "
     "takes the rest"),
    ("queues: [{name: a, flows: [vegas]}, {name: b}]", "queues[0].flows: 'vegas' is "
     "neither a strategy nor a flow group (cubic, bbr, main)"),
    ("queues: [{name: a, dscp: [eff]}, {name: b}]", "queues[0].dscp[0]: 'eff' is no DSCP; "
     "did you mean 'ef'? write cs0 to cs7, af11 to af43, ef, va, le, or 0 to 63"),
    ("queues: [{name: a, dscp: [64]}, {name: b}]", "queues[0].dscp[0]: 64 is no DSCP; "
     "write cs0 to cs7, af11 to af43, ef, va, le, or 0 to 63"),
    (f"scheduler: strict_priority, {TWO}".replace("bbr]", "bbr], weight: 2"), "queues[0]."
     "weight: strict_priority serves the first queue first, whatever its weight; remove it, or "
     "write `scheduler: drr`"),
    (f"{TWO}, discipline: codel", "discipline: there are several queues; write it under "
     "each queue that is to have it"),
    (f"{TWO}, arrive_as: trains", "arrive_as: several queues take frame by frame; write "
     "`arrive_as: frames`, or one queue"),
    (f"{TWO}, shared_buffer: {{static: [1MB]}}", "shared_buffer.static: 1 limits for 2 queues; "
     "write one for each"),
    (f"{TWO}, shared_buffer: {{static: [1MB, 1500B]}}", "shared_buffer.static[1]: 1.5kB at 100mbit "
     "and 10ms is 1500 B, less than one packet; write at least 1514B"),
    (f"{TWO}, shared_buffer: static", "shared_buffer.static: needs a limit for each queue; write "
     "{static: [1MB, 200kB]}"),
    (f"{TWO}, shared_buffer: complete_shering", "shared_buffer: 'complete_shering' is unknown; did "
     "you mean 'complete_sharing'? write one of complete_sharing, complete_partitioning, "
     "dynamic_threshold, {static: [1MB, 200kB]}, or {file: ./mine.c}"),
    (f"{TWO}, shared_buffer: {{static: [1MB, 1MB], complete_sharing: }}", "shared_buffer: has "
     "complete_sharing and static; write one policy, such as {dynamic_threshold: {alpha: 1}}"),
    (f"{TWO}, shared_buffer: {{file: ./static.c}}", "shared_buffer.file: ./static.c: nashbed has "
     "such a policy; rename the file"),
    ("queues: [{name: a, flows: [bbr], limit: 0.01bdp}, {name: b}]", "queues[0].limit: "
     "0.01bdp at 100mbit and 10ms is 1250 B, less than one packet; write at least 1514B"),
]  # fmt: skip


@pytest.mark.parametrize(("queues", "expected"), BAD)
def test_a_mistake_is_one_line(queues: str, expected: str) -> None:
    with pytest.raises(ConfigError) as error:
        scenario(queues)
    assert error.value.message.partition(": bottleneck.")[2] == expected


@pytest.mark.parametrize(
    ("alpha", "expected"), [("0", "0.0625"), ("65", "64"), ("much", "valid number")]
)
def test_alpha_is_within_its_range(alpha: str, expected: str) -> None:
    with pytest.raises(ConfigError) as error:
        written(f"{{dynamic_threshold: {{alpha: {alpha}}}}}")
    assert "shared_buffer.dynamic_threshold.alpha: " in error.value.message
    assert expected in error.value.message
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    ("swept", "expected"),
    [
        ("shared_buffer: [complete_sharing]", None),
        ("discipline: [codel]", "discipline: there are several queues; write it under each queue "
         "that is to have it"),
        ("shared_buffer: [{static: [1MB]}]", "shared_buffer.static: 1 limits for 2 queues; write "
         "one for each"),
        ("shared_buffer: [complete_sharing, complete_sharing]", "shared_buffer: a value is listed "
         "twice; remove one of them"),
    ],
)  # fmt: skip
def test_what_can_be_swept_of_queues(swept: str, expected: str | None) -> None:
    if expected is None:
        problem = "sweep.shared_buffer: is for several queues; write `queues`, or remove it"
        with pytest.raises(ConfigError) as error:
            parse_scenario(SCENARIO.replace("sweep: {", f"sweep: {{{swept}, "), "s.yaml")
        assert error.value.message.endswith(problem)
        assert scenario(TWO, "sweep: {", f"sweep: {{{swept}, ").sweep.shared_buffer
        return
    with pytest.raises(ConfigError) as error:
        scenario(TWO, "sweep: {", f"sweep: {{{swept}, ")
    assert error.value.message.partition(": sweep.")[2] == expected
