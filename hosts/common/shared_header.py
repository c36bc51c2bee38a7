#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What C, P4 and Python share, as a C header: shared_header.py SHARED.JSON HEADER.

The build runs it; the header stands in the build directory. Constants become macros, a record that
P4 knows (big-endian) a struct in the machine's own order with functions that read and write its
bytes, and a record of C and Python (little-endian) the struct that is written as it stands.
"""

from __future__ import annotations

import ipaddress
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROGRAM = "dpdk"
"""The P4 program that the C programs run."""
LITTLE_ENDIAN = (
    '_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are little-endian");'
)


def main() -> None:
    """Write the header."""
    source, header = (Path(argument) for argument in sys.argv[1:])
    header.write_text("\n".join(lines(json.loads(source.read_bytes()), source.name)) + "\n")


def lines(shared: dict[str, Any], source: str) -> Iterator[str]:
    """The header's lines."""
    # REUSE-IgnoreStart
    yield "/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */"
    # REUSE-IgnoreEnd
    yield f"/* Generated from {source}: change it there. */"
    yield "#ifndef COMMON_SHARED_H\n#define COMMON_SHARED_H\n"
    yield '#include <stddef.h>\n#include <stdint.h>\n\n#include "common/big_endian.h"\n'
    for name, value in shared["constants"].items():
        yield f"#define {name.upper()} {literal(value)}"
    yield from program(shared["programs"][PROGRAM], shared["flow_registers"])
    yield f"\n{LITTLE_ENDIAN}"
    for name, record in shared["records"].items():
        make = big_endian if record["byte_order"] == "big" else native
        yield from ("", *make(name, record))
    yield "\n#endif"


def literal(value: int | str) -> str:
    """A constant as C has it; a network is its first address, in the machine's byte order."""
    if isinstance(value, int):
        return f"{value}u" if value < 2**32 else f"UINT64_C({value})"
    if value.startswith("0x"):
        return f"{value}u"
    if "/" in value:
        return f"{int(ipaddress.IPv4Network(value).network_address):#010x}u"
    return f'"{value}"'


def program(names: dict[str, Any], flow_registers: list[str]) -> Iterator[str]:
    """Names and constants of the P4 program."""
    yield "\n/* The P4 program's own constants and names. */"
    for kind in ("constants", "tables", "registers"):
        for name, value in names[kind].items():
            yield f"#define P4_{name.upper()} {literal(value)}"
    yield "\n/* REGISTER(identifier, name in answers, name in the program) */"
    yield from macro(
        "FLOW_REGISTERS(REGISTER)",
        [f'REGISTER({name.upper()}, "{name}", P4_{name.upper()})' for name in flow_registers],
    )
    yield "\n/* REASON(identifier, name in answers): why a packet is not shaped, from index 1 on */"
    reasons = [f'REASON({name.upper()}, "{name}")' for name in names["unshaped"]]
    yield from macro("UNSHAPED_REASONS(REASON)", reasons)


def macro(head: str, rows: list[str]) -> Iterator[str]:
    """A macro of several rows."""
    yield " \\\n\t".join([f"#define {head}", *rows])


def big_endian(name: str, record: dict[str, Any]) -> Iterator[str]:
    """Struct, accessors of single fields, and both ways between struct and bytes."""
    fields = record["fields"]
    sizes = {field["name"]: int(field["type"][1:]) // 8 for field in fields}
    yield f"#define {name.upper()}_BYTES {sum(sizes.values())}u\n"
    yield from struct(name, record, {field: wide_type(size) for field, size in sizes.items()})
    at, decoded, encoded = 0, [], []
    for field, size in sizes.items():
        kind = wide_type(size)
        yield f"\nstatic inline {kind}\n{name}_{field}(const uint8_t *bytes)"
        yield f"{{\n\treturn ({kind})get_be(bytes + {at}, {size});\n}}"
        decoded.append(f"\tr->{field} = {name}_{field}(bytes);")
        encoded.append(f"\tput_be(bytes + {at}, {size}, r->{field});")
        at += size
    for verb, of, to, body in (
        ("decode", "const uint8_t", f"struct {name}", decoded),
        ("encode", "uint8_t", f"const struct {name}", encoded),
    ):
        arguments = f"{of} bytes[{name.upper()}_BYTES], {to} *r"
        yield f"\nstatic inline void\n{name}_{verb}({arguments})"
        yield "\n".join(["{", *body, "}"])


def wide_type(size: int) -> str:
    """The C type that holds a number of this many bytes."""
    return f"uint{next(bits for bits in (8, 16, 32, 64) if bits >= 8 * size)}_t"


def native(name: str, record: dict[str, Any]) -> Iterator[str]:
    """Struct, proof that it has no padding, and its fields as a list for a macro."""
    fields = record["fields"]
    types = {field["name"]: native_type(field["type"]) for field in fields}
    yield from struct(name, record, types)
    yield ""
    at = 0
    for field in fields:
        proof = f"offsetof(struct {name}, {field['name']}) == {at}"
        yield f'_Static_assert({proof}, "{name}.{field["name"]}");'
        at += int(field["type"][1:]) // 8 * field.get("count", 1)
    yield f'_Static_assert(sizeof(struct {name}) == {at}, "{name}");'
    if all("count" not in field for field in fields):
        yield "\n/* FIELD(C type, short type, name) */"
        rows = [f"FIELD({types[f['name']]}, {f['type']}, {f['name']})" for f in fields]
        yield from macro(f"{name.upper()}_FIELDS(FIELD)", rows)


def native_type(kind: str) -> str:
    """u32 -> uint32_t."""
    return f"{'' if kind[0] == 'i' else 'u'}int{kind[1:]}_t"


def struct(name: str, record: dict[str, Any], types: dict[str, str]) -> Iterator[str]:
    """A struct with its comments."""
    yield f"/* {record['about']} */\nstruct {name} {{"
    for field in record["fields"]:
        count = f"[{field['count']}]" if "count" in field else ""
        about = f" /* {field['about']} */" if "about" in field else ""
        yield f"\t{types[field['name']]} {field['name']}{count};{about}"
    yield "};"


if __name__ == "__main__":
    main()
