"""What the P4 sources declare: constants, and the fields of headers."""

import re
from pathlib import Path

P4SRC = Path(__file__).resolve().parents[2] / "p4src"

_CONSTANT = re.compile(r"^(?:const \S+ +(\w+) =|#define (\w+)) +(.+?);? *(?://.*)?$", re.MULTILINE)
_VALUE = re.compile(r"(?:\(\w+\) *)?(\w+)(?: << (\w+))?")
_TYPEDEF = re.compile(r"^typedef bit<(\d+)> +(\w+);", re.MULTILINE)
_FIELD = re.compile(r"^ +(?:bit<(\d+)>|(\w+_t)) +(\w+);", re.MULTILINE)


def sources(target: str) -> str:
    """The common sources and a target's own."""
    folders = (P4SRC / "common", P4SRC / target)
    return "\n".join(path.read_text() for f in folders for path in sorted(f.glob("*.p4")))


def constants(source: str) -> dict[str, int]:
    """Name -> value of every constant that is a number, or a number shifted by another."""
    values = {}
    for const, define, text in _CONSTANT.findall(source):
        match = _VALUE.fullmatch(text)
        if match is not None and match[1][0].isdigit() and (match[2] or "0").isdigit():
            values[const or define] = int(match[1], 0) << int(match[2] or 0)
    return values


def header(source: str, name: str) -> list[tuple[str, int]]:
    """(name, bits) of a header's fields."""
    widths = {kind: int(bits) for bits, kind in _TYPEDEF.findall(source)}
    body = re.search(rf"^header {name} {{\n(.*?)^}}", source, re.MULTILINE | re.DOTALL)
    assert body is not None, name
    fields = _FIELD.findall(body[1])
    return [(field, int(bits) if bits else widths[kind]) for bits, kind, field in fields]
