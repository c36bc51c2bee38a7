"""pydantic's errors as one line each: file, line, key, what is allowed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..contract.errors import ConfigError
from .source import Path, Source

_RELATIVE = re.compile(r"^([a-z_]+(?:\.[a-z0-9_]+)*): (.*)$", re.DOTALL)
_PRIORITY = ("value_error", "extra_forbidden", "missing")
_SHADOWED = ("too_short", "literal_error")
"""Findings about a whole that only repeat a finding about one of its parts."""


def to_config_error(error: ValidationError, source: Source, schema: dict[str, Any]) -> ConfigError:
    """Turn a validation error into a ConfigError with one line for each finding.

    Args:
        error: pydantic's error.
        source: The file that was validated.
        schema: JSON schema of the model, for the allowed keys.
    """
    findings: dict[Path, list[ErrorDetails]] = {}
    for details in error.errors(include_url=False):
        findings.setdefault(_group(details, source.data), []).append(details)
    chosen = {path: min(group, key=_rank) for path, group in findings.items()}
    lines = [
        _line(details, source, schema)
        for path, details in chosen.items()
        if not (details["type"] in _SHADOWED and _has_deeper(path, chosen))
        and not (details["type"] == "missing" and _is_misspelt(path, chosen))
    ]
    return ConfigError("\n".join(dict.fromkeys(lines)))


def _has_deeper(path: Path, findings: Iterable[Path]) -> bool:
    return any(len(other) > len(path) and other[: len(path)] == path for other in findings)


def _is_misspelt(path: Path, findings: dict[Path, ErrorDetails]) -> bool:
    """Whether the missing key stands beside it under a name much like it."""
    beside = [
        str(other[-1])
        for other, details in findings.items()
        if details["type"] == "extra_forbidden" and other[:-1] == path[:-1]
    ]
    return bool(difflib.get_close_matches(str(path[-1]), beside, n=1))


def _rank(details: ErrorDetails) -> int:
    kind = details["type"]
    return _PRIORITY.index(kind) if kind in _PRIORITY else len(_PRIORITY)


def _group(details: ErrorDetails, data: Any) -> Path:
    """Where a finding is counted: the alternatives of a union are one finding.

    pydantic reports every alternative of a union by itself, with the alternative's name in
    the location. Such findings are gathered at the value that the union stands for.
    """
    path: Path = ()
    for part in details["loc"]:
        inside = _child(data, part)
        if inside is _NOTHING:
            is_key = details["type"] == "missing" and part == details["loc"][-1]
            return (*path, part) if is_key and len(details["loc"]) == len(path) + 1 else path
        data, path = inside, (*path, part)
    return path


_NOTHING = object()


def _child(data: Any, part: str | int) -> Any:
    if isinstance(data, dict) and isinstance(part, str):
        return data.get(part, _NOTHING)
    if isinstance(data, list) and isinstance(part, int) and part < len(data):
        return data[part]
    return _NOTHING


def _data_path(details: ErrorDetails, data: Any) -> Path:
    """The location without the names of union alternatives."""
    path: Path = ()
    for part in details["loc"]:
        inside = _child(data, part)
        if inside is not _NOTHING:
            data, path = inside, (*path, part)
    return path


def _line(details: ErrorDetails, source: Source, schema: dict[str, Any]) -> str:
    path, message = _data_path(details, source.data), _message(details, source, schema)
    relative = _RELATIVE.match(message)
    if details["type"] == "value_error" and relative:
        path = path + tuple(int(p) if p.isdigit() else p for p in relative[1].split("."))
        message = relative[2]
    place = f"{source.where(path)}: "
    return place + (f"{_show(path)}: " if path else "") + " ".join(message.split())


def _show(path: Path) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _message(details: ErrorDetails, source: Source, schema: dict[str, Any]) -> str:
    if details["type"] == "extra_forbidden":
        return _unknown_key(str(details["loc"][-1]), _keys(schema, details, source.data))
    write = _WORDING.get(details["type"], _other)
    return write(details, details.get("ctx", {}))


def _other(details: ErrorDetails, context: dict[str, Any]) -> str:
    return f"{details['input']!r}: {details['msg'][0].lower()}{details['msg'][1:]}"


def _own(details: ErrorDetails, context: dict[str, Any]) -> str:
    return str(context["error"])


def _missing(details: ErrorDetails, context: dict[str, Any]) -> str:
    key = context.get("discriminator") or repr(details["loc"][-1])
    return f"key {key} is missing; add it"


def _not_a_choice(details: ErrorDetails, context: dict[str, Any]) -> str:
    allowed = str(context.get("expected") or context.get("expected_tags"))
    key = str(context["discriminator"]).strip("'") + " " if "discriminator" in context else ""
    return f"{key}{context.get('tag', details['input'])!r} is unknown; write {allowed}"


def _not_a_mapping(details: ErrorDetails, context: dict[str, Any]) -> str:
    return f"{details['input']!r} is not allowed here; write keys and values"


def _bad_pattern(details: ErrorDetails, context: dict[str, Any]) -> str:
    return f"{details['input']!r} is not allowed; it must match {context['pattern']}"


_WORDING: dict[str, Callable[[ErrorDetails, dict[str, Any]], str]] = {
    "value_error": _own,
    "missing": _missing,
    "union_tag_not_found": _missing,
    "literal_error": _not_a_choice,
    "union_tag_invalid": _not_a_choice,
    "model_type": _not_a_mapping,
    "dict_type": _not_a_mapping,
    "model_attributes_type": _not_a_mapping,
    "string_pattern_mismatch": _bad_pattern,
}


def _unknown_key(key: str, allowed: list[str]) -> str:
    close = difflib.get_close_matches(key, allowed, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ";"
    return f"unknown key{hint} allowed here: {', '.join(allowed)}"


def _keys(schema: dict[str, Any], details: ErrorDetails, data: Any) -> list[str]:
    """Keys that the schema allows beside the unknown one."""
    nodes = [schema]
    for part in _data_path(details, data)[:-1]:
        nodes = [
            child
            for node in nodes
            for flat in _alternatives(node, schema)
            for child in _step(flat, part)
        ]
    keys = [
        key
        for node in nodes
        for flat in _alternatives(node, schema)
        for key in flat.get("properties", {})
    ]
    return list(dict.fromkeys(keys))


def _alternatives(node: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    if "$ref" in node:
        name = str(node["$ref"]).rsplit("/", 1)[-1]
        return _alternatives(schema["$defs"][name], schema)
    branches = node.get("anyOf", []) + node.get("oneOf", []) + node.get("allOf", [])
    if branches:
        return [flat for branch in branches for flat in _alternatives(branch, schema)]
    return [node]


def _step(node: dict[str, Any], part: str | int) -> list[dict[str, Any]]:
    if isinstance(part, int):
        return [node["items"]] if isinstance(node.get("items"), dict) else []
    child = node.get("properties", {}).get(part)
    return [child] if child is not None else []
