"""The program's tables as p4c describes them in bf-rt.json: p4src/tofino, table by table."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

PORT_BITS = 9
QUEUE_BITS = {"tofino1": 5, "tofino2": 7}
FLOW = {"src_addr": 32, "dst_addr": 32, "src_port": 16, "dst_port": 16, "protocol": 8}


def program_tables(chip: str) -> bytes:
    """The bf-rt.json of the program on a chip."""
    numbers = count({"tofino1": 1000, "tofino2": 3000}[chip])
    queue = QUEUE_BITS[chip]
    wires = {
        "Ingress.from_senders": {"receivers_port": PORT_BITS},
        "Ingress.from_receivers": {"senders_port": PORT_BITS},
        "Ingress.tick": {},
        "Ingress.foreign": {},
    }
    flows = {
        "Ingress.to_queue": {"lane": 16, "flow": 32, "queue": queue},
        "Ingress.pass_unknown": {},
    }
    tables = [
        _match(numbers, "Ingress.wires", {"port": PORT_BITS}, wires),
        _match(numbers, "Ingress.flow_table", FLOW, flows),
        _match(numbers, "Egress.limits", {"lane": 16}, {"Egress.set_limit": {"limit_cells": 32}}),
    ]
    for name in ("Ingress.unshaped", "Ingress.arrived_packets", "Egress.departed_packets",
                 "Egress.dropped_packets", "Egress.delay_histogram"):  # fmt: skip
        tables.append(_counter(numbers, name, name == "Ingress.unshaped"))
    for name in ("Ingress.arrived_bytes", "Egress.departed_bytes", "Egress.dropped_bytes"):
        tables.append(_register(numbers, name, ("low", "high")))
    tables.append(_register(numbers, "Ingress.clock", ("high", "low")))
    return json.dumps({"schema_version": "1.0.0", "tables": tables}).encode()


def _table(numbers: count[int], name: str, kind: str, key: list[Any]) -> dict[str, Any]:
    full = f"bottleneck.{name}"
    return {"id": next(numbers), "name": full, "table_type": kind, "key": key, "data": []}


def _match(
    numbers: count[int], name: str, key: dict[str, int], actions: dict[str, dict[str, int]]
) -> dict[str, Any]:
    table = _table(numbers, name, "MatchAction_Direct", _numbered(key))
    specs = [
        {"id": next(numbers), "name": action, "data": _numbered(data)}
        for action, data in actions.items()
    ]
    return table | {"action_specs": specs}


def _counter(numbers: count[int], name: str, of_bytes: bool) -> dict[str, Any]:
    key = [_field(65556, "$COUNTER_INDEX", {"type": "uint32"})]
    data = [_single(65554, "$COUNTER_SPEC_PKTS", {"type": "uint64"})]
    if of_bytes:
        data.insert(0, _single(65553, "$COUNTER_SPEC_BYTES", {"type": "uint64"}))
    return _table(numbers, name, "Counter", key) | {"data": data, "action_specs": []}


def _register(numbers: count[int], name: str, words: tuple[str, ...]) -> dict[str, Any]:
    key = [_field(65557, "$REGISTER_INDEX", {"type": "uint32"})]
    data = [
        _single(i, f"{name}.{word}", {"type": "bytes", "width": 32})
        for i, word in enumerate(words, 1)
    ]
    return _table(numbers, name, "Register", key) | {"data": data, "action_specs": []}


def _numbered(widths: dict[str, int]) -> list[dict[str, Any]]:
    return [
        _field(i, name, {"type": "bytes", "width": bits})
        for i, (name, bits) in enumerate(widths.items(), 1)
    ]


def _field(number: int, name: str, form: dict[str, Any]) -> dict[str, Any]:
    return {"id": number, "name": name, "repeated": False, "match_type": "Exact", "type": form}


def _single(number: int, name: str, form: dict[str, Any]) -> dict[str, Any]:
    inner = {"id": number, "name": name, "repeated": False, "type": form}
    return {"mandatory": False, "read_only": False, "singleton": inner}
