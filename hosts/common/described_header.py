#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a C program is told, of its description: structures, tables and parameters.

The build runs it, as described_header.py LANE.JSON STRUCTURES.H TABLES.H PARAMETERS.H; the headers
stand in the build directory. A structure of the description becomes a struct, and a table of its
fields that reads and prints it (json_fields.h). A key is the member's name; a choice is an enum of
the key's name, a list an array beside its length, `n_<key>`. The parameters of a discipline or a
policy become its configuration and its table (core/aqm.h).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FEW = 64
"""A list of at most so many stands in the structure itself."""
NARROW = 2**30
"""A number up to here is 32 bits wide; more could be multiplied, and then overflow."""
WRITTEN = ("scheduler",)
"""Enumerations that a header for users' own C files has (core/memory.h)."""

WHOLE, REAL = "uint64_t", "double"
PARAMETER_TYPES = {
    **dict.fromkeys(("time", "bytes", "number"), WHOLE),
    **dict.fromkeys(("probability", "real"), REAL),
    "flag": "bool",
}


def main() -> None:
    """Write the headers."""
    source, *headers = (Path(argument) for argument in sys.argv[1:])
    lane = json.loads(source.read_bytes())
    for header, make in zip(headers, (structures, tables, parameters), strict=False):
        guard = f"NASHBED_{header.stem.upper()}_H"
        # REUSE-IgnoreStart
        licence = "/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */"
        # REUSE-IgnoreEnd
        generated = f"/* Generated from {source.name}, which the contract's models make. */"
        lines = (licence, generated, f"#ifndef {guard}\n#define {guard}", *make(lane), "#endif")
        header.write_text("\n".join(lines) + "\n")


def structures(lane: dict[str, Any]) -> Iterator[str]:
    """Enumerations and structures."""
    for name, described in lane["structures"].items():
        for field in described["fields"]:
            if field["kind"] == "choice":
                yield from enumeration(field)
        yield f"\n/* {described['about']} */\nstruct {name} {{"
        members = {member(field): field["about"] for field in reversed(described["fields"])}
        for each, about in reversed(members.items()):
            yield f"\t/* {about} */\n\t{each};"
        yield "};"


def enumeration(field: dict[str, Any]) -> Iterator[str]:
    """The values of a choice, in their order."""
    values = [f"{field['name']}_{value}".upper() for value in field["choices"]]
    if field["name"] in WRITTEN:
        same = " && ".join(f"{value} == {number}" for number, value in enumerate(values))
        yield f'\n_Static_assert({same}, "{field["name"]}");'
    else:
        yield f"\nenum {field['name']} {{ {', '.join(values)} }};"


def member(field: dict[str, Any]) -> str:
    """A field in its structure."""
    name = field.get("member", field["name"])
    if field["kind"] == "list":
        array = f"{name}[{field['max']}]" if field["max"] <= FEW else f"*{name}"
        return f"{type_of(field['of'])} {array};\n\tsize_t n_{name}"
    if field["kind"] in ("text", "string"):
        return f"char {name}[{field['bytes']}]" if field["kind"] == "text" else f"char *{name}"
    return f"{type_of(field)} {name}"


def type_of(field: dict[str, Any]) -> str:
    """Type of a field that is no list."""
    if "structure" in field:
        return f"struct {field['structure']}"
    if field["kind"] == "choice":
        return f"enum {field['name']}"
    if field["kind"] == "flag":
        return "bool"
    if "is_signed" in field:
        return "int64_t"
    return f"uint{32 if field['max'] <= NARROW else 64}_t"


def tables(lane: dict[str, Any]) -> Iterator[str]:
    """A table of each structure, and of each part of the last one."""
    for name, described in lane["structures"].items():
        for field in described["fields"]:
            if field["kind"] == "choice":
                values = ", ".join(f'"{value}"' for value in field["choices"])
                yield f"\nstatic const char *const {field['name']}_names[] = {{{values}, NULL}};"
            if field["kind"] == "list":
                of = field["of"]
                start = f".kind = &as_{of['kind']}", f".bytes = sizeof({type_of(of)})"
                item = ", ".join([*start, *details(of, lane["checked"])])
                yield f"\nstatic const struct json_field {field['name']}_item = {{{item}}};"
        yield from table(name, name, described["fields"], lane["checked"])
    whole = {field["name"]: field for field in described["fields"]}
    for part, names in lane.get("parts", {}).items():
        yield from table(part, name, [whole[each] for each in names], lane["checked"])


def table(
    name: str, structure: str, fields: list[dict[str, Any]], checked: list[str]
) -> Iterator[str]:
    """Fields of a structure as rows."""
    rows = (f"\t{row(structure, field, checked)}," for field in fields)
    yield "\n".join([f"\nconst struct json_field {name}_fields[] = {{", *rows, "\t{0},\n};"])


def row(structure: str, field: dict[str, Any], checked: list[str]) -> str:
    """A field as a row of its table."""
    name, kind, more = field["name"], field["kind"], details(field, checked)
    into = field.get("member", name)
    if kind == "list":
        start = f"{name}, n_{name}, {name}_item"
        return f'JSON_LIST(struct {structure}, "{name}", {", ".join([start, *more])})'
    return f'JSON_FIELD(struct {structure}, "{name}", {", ".join([into, f"as_{kind}", *more])})'


def details(field: dict[str, Any], checked: list[str]) -> list[str]:
    """Further members of a row, or of a list's item."""
    more = [f".{key} = INT64_C({field[key]})" for key in ("min", "max") if field.get(key)]
    more += [f".{key} = true" for key in ("optional", "unless_zero") if key in field]
    if field["kind"] == "list" and field["max"] > FEW:
        more.append(".allocate = true")
    if field["kind"] == "choice":
        more.append(f".choices = {field['name']}_names")
    if field["kind"] == "object":
        more.append(f".fields = {field['structure']}_fields")
        more += [f".check = check_{field['structure']}"] if field["structure"] in checked else []
    return more


def parameters(lane: dict[str, Any]) -> Iterator[str]:
    """Configuration and table of each discipline and policy that has parameters."""
    yield '#include "core/aqm.h"'
    for name, described in lane["parameters"].items():
        held, own = described["holds"], described["fields"]
        members = [f"struct {held}_config {held}"] if held else []
        members += [f"{PARAMETER_TYPES[each['kind']]} {each['member']}" for each in own]
        yield f"\nstruct {name}_config {{\n\t" + ";\n\t".join(members) + ";\n};"
        yield f"\nstatic const struct aqm_param {name}_params[] = {{"
        for each in lane["parameters"][held]["fields"] if held else ():
            yield parameter(name, f"{held}.", each | described["first"].get(each["name"], {}))
        for each in own:
            yield parameter(name, "", each)
        yield "\t{.name = NULL},\n};"


def parameter(name: str, held: str, field: dict[str, Any]) -> str:
    """A parameter as a row of its table."""
    member = f"offsetof(struct {name}_config, {held}{field['member']})"
    numbers = f"{json.dumps(field['first'])}, {field['min']}, {field['max']}"
    start = f'"{field["name"]}", AQM_{field["kind"].upper()}'
    return f'\t{{{start}, {member}, {numbers},\n\t "{field["about"]}"}},'


if __name__ == "__main__":
    main()
