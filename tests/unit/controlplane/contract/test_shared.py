"""P4 sources and artefacts against shared.json. C is generated from it, Python reads it."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from nashbed.controlplane.contract.shared import (
    CONSTANTS,
    DROP_REASONS,
    FILE,
    FLOW_REGISTERS,
    PROGRAMS,
    RECORDS,
    Program,
)
from tests.support.p4 import P4SRC, constants, header, sources
from tests.support.replay import ROOT

Arrays = Mapping[str, int]

each_target = pytest.mark.parametrize("target", PROGRAMS)
HEADERS = {
    "postcard": ("postcard_h", list(PROGRAMS)),
    "queue_postcard": ("queue_postcard_h", list(PROGRAMS)),
    "bridge": ("bridge_h", list(PROGRAMS)),
    "intrinsic": ("intrinsic_h", ["dpdk"]),
}
"""Record -> header in P4, and the programs that have it."""
TOFINO_ARTEFACTS = ("tofino/tofino1/bf-rt.json", "tofino/tofino2/bf-rt.json")
NOT_IN_TOFINO = {"in_queue_bytes", "peak_queue_bytes"}
"""Ingress and egress share no register on the chip."""
MARKS = {"marked_packets", "marked_bytes"}
"""Only the queues of our own traffic manager mark packets."""


def record_fields(name: str) -> list[tuple[str, int]]:
    return [(field.name, field.bits) for field in RECORDS[name].fields]


def of_dpdk() -> Arrays:
    spec = (P4SRC / "dpdk" / "bottleneck.spec").read_text()
    arrays = re.findall(r"^regarray (\w+) size (\w+)", spec, re.MULTILINE)
    return {name: int(size, 0) for name, size in arrays}


def of_bmv2() -> Arrays:
    program = json.loads((P4SRC / "bmv2" / "bottleneck.json").read_bytes())
    return {array["name"]: array["size"] for array in program["register_arrays"]}


def of_tofino(path: str) -> Arrays:
    tables = json.loads((P4SRC / path).read_bytes())["tables"]
    kinds = ("Register", "Counter")
    return {
        table["name"].removeprefix("bottleneck."): table["size"]
        for table in tables
        if table["table_type"] in kinds
    }


ARTEFACTS = [
    pytest.param(PROGRAMS["dpdk"], of_dpdk(), id="dpdk"),
    pytest.param(PROGRAMS["bmv2"], of_bmv2(), id="bmv2"),
    *(pytest.param(PROGRAMS["tofino"], of_tofino(path), id=path) for path in TOFINO_ARTEFACTS),
]


@pytest.mark.parametrize(
    ("record", "name", "target"),
    [(record, name, target) for record, (name, where) in HEADERS.items() for target in where],
)
def test_a_header_is_the_record(record: str, name: str, target: str) -> None:
    assert RECORDS[record].byte_order == "big"
    assert header(sources(target), name) == record_fields(record)


@pytest.mark.parametrize("record", HEADERS)
def test_a_compiled_header_is_the_record(record: str) -> None:
    spec = (P4SRC / "dpdk" / "bottleneck.spec").read_text()
    [body] = re.findall(rf"^struct {HEADERS[record][0]} {{\n(.*?)^}}", spec, re.M | re.S)
    fields = re.findall(r"bit<(\d+)> (\w+)", body)
    declared = [(name, int(bits)) for bits, name in fields]
    assert declared == record_fields(record)


@each_target
def test_constants_are_those_of_the_sources(target: str) -> None:
    declared = constants(sources(target))
    assert {name: declared[name] for name in PROGRAMS[target].constants} == (
        PROGRAMS[target].constants
    )
    assert declared["FLOW_CAPACITY"] == PROGRAMS[target].flow_capacity
    assert declared["LANE_CAPACITY"] == PROGRAMS[target].lane_capacity


@each_target
def test_what_has_the_name_of_a_shared_constant_has_its_value(target: str) -> None:
    declared = constants(sources(target))
    names = {name.upper(): value for name, value in vars(CONSTANTS).items()}
    common = declared.keys() & names.keys()
    assert common >= {
        "ETHERNET_BYTES",
        "HISTOGRAM_SHIFT",
        "HISTOGRAM_BINS_LOG2",
        "POSTCARD_VERSION",
        "POSTCARD_VERSION_QUEUES",
        "QUEUE_BY_DSCP",
        "POSTCARD_DEPARTED",
        "POSTCARD_DROPPED",
    }
    assert {name: declared[name] for name in common} == {name: names[name] for name in common}


def test_the_clock_is_as_wide_as_its_type() -> None:
    [width] = re.findall(r"typedef bit<(\d+)> time_ns_t;", sources("dpdk"))
    assert int(width) == CONSTANTS.clock_bits


@pytest.mark.parametrize("target", ["bmv2", "tofino"])
def test_postcards_leave_a_switch_in_frames_of_their_type(target: str) -> None:
    assert constants(sources(target))["ETHERTYPE_POSTCARD"] == CONSTANTS.postcard_ethertype


@each_target
def test_reasons_of_unshaped_packets_have_their_indices(target: str) -> None:
    declared = constants(sources(target))
    reasons = {
        name.removeprefix("UNSHAPED_").lower(): value
        for name, value in declared.items()
        if name.startswith("UNSHAPED_") and name not in ("UNSHAPED_NOT", "UNSHAPED_REASONS")
    }
    assert reasons == {reason: i for i, reason in enumerate(PROGRAMS[target].unshaped, start=1)}
    assert len(reasons) < declared["UNSHAPED_REASONS"]


@pytest.mark.parametrize(("program", "arrays"), ARTEFACTS)
def test_registers_have_their_names_in_the_compiled_program(
    program: Program, arrays: Arrays
) -> None:
    assert set(program.registers.values()) <= arrays.keys()


@pytest.mark.parametrize(("program", "arrays"), ARTEFACTS)
def test_registers_have_a_place_for_every_flow_and_lane(program: Program, arrays: Arrays) -> None:
    per_flow = [program.registers[name] for name in FLOW_REGISTERS if name in program.registers]
    assert {arrays[name] for name in per_flow} == {program.flow_capacity}
    assert arrays[program.registers["lane_postcards"]] == program.lane_capacity
    bins = program.lane_capacity << CONSTANTS.histogram_bins_log2
    assert arrays[program.registers["delay_histogram"]] == bins


@each_target
def test_every_flow_register_is_somewhere(target: str) -> None:
    missing = set(FLOW_REGISTERS) - PROGRAMS[target].registers.keys()
    only_dpdk = set() if target == "dpdk" else MARKS
    assert missing == only_dpdk | (NOT_IN_TOFINO if target == "tofino" else set())


def test_the_flow_table_has_its_name_in_every_compiled_program() -> None:
    spec = (P4SRC / "dpdk" / "bottleneck.spec").read_text()
    own = PROGRAMS["dpdk"].tables
    assert f"\ntable {own['flow_table']} {{" in spec
    assert f"\ntable {own['dscp_table']} {{" in spec
    assert f"\naction {own['to_queue']} " in spec
    assert f"\naction {own['set_queue']} " in spec
    bmv2 = json.loads((P4SRC / "bmv2" / "bottleneck.json").read_bytes())
    own = PROGRAMS["bmv2"].tables
    assert own["flow_table"] in {t["name"] for p in bmv2["pipelines"] for t in p["tables"]}
    assert own["to_queue"] in {action["name"] for action in bmv2["actions"]}
    own = PROGRAMS["tofino"].tables
    for path in TOFINO_ARTEFACTS:
        tables = json.loads((P4SRC / path).read_bytes())["tables"]
        [table] = [t for t in tables if t["name"] == f"bottleneck.{own['flow_table']}"]
        actions = {spec["name"].rpartition(".")[2] for spec in table["action_specs"]}
        assert own["to_queue"] in actions


def test_reasons_of_drops_are_those_of_the_queues() -> None:
    declared = (ROOT / "hosts" / "dpdk" / "core" / "aqm.h").read_text()
    [body] = re.findall(r"enum drop_reason {(.*?)};", declared, re.S)
    names = re.findall(r"^\tDROP_(\w+),", body, re.M)
    assert [name.lower() for name in names] == [*DROP_REASONS, "reasons"]
    assert len(DROP_REASONS) <= CONSTANTS.mark_reason + 1


def test_the_data_planes_capacity_is_its_programs() -> None:
    assert CONSTANTS.lanes_max == PROGRAMS["dpdk"].lane_capacity
    assert CONSTANTS.flow_capacity_max == PROGRAMS["dpdk"].flow_capacity


@pytest.mark.parametrize("name", [n for n, r in RECORDS.items() if r.byte_order == "little"])
def test_a_record_of_c_alone_needs_no_padding(name: str) -> None:
    at = 0
    for field in RECORDS[name].fields:
        assert at % (field.bits // 8) == 0, field.name
        at += field.bits // 8 * field.count
    assert at == RECORDS[name].size
    assert at % max(field.bits // 8 for field in RECORDS[name].fields) == 0


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({name for name, _ in pairs}) == len(pairs)
    return dict(pairs)


def test_nothing_stands_in_the_file_twice() -> None:
    content = json.loads(FILE.read_bytes(), object_pairs_hook=unique)
    for record in content["records"].values():
        names = [field["name"] for field in record["fields"]]
        assert len(set(names)) == len(names)


def test_every_constant_is_of_its_type() -> None:
    for name, value in vars(CONSTANTS).items():
        assert type(value) is (str if name.endswith(("_file", "_network")) else int), name


@pytest.mark.slow
def test_python_writes_no_text_of_the_file_again() -> None:
    texts = {value for value in vars(CONSTANTS).values() if isinstance(value, str)}
    texts |= {name for p in PROGRAMS.values() for name in p.registers.values() if "." in name}
    for folder in ("controlplane", "analysis"):
        for path in (ROOT / folder).rglob("*.py"):
            again = {text for text in texts if f'"{text}"' in path.read_text()}
            assert not again, path
