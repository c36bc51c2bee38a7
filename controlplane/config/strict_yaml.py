"""Strict YAML with the line of every key, and pydantic's errors as one line each."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ..contract.errors import ConfigError, did_you_mean, meant
from ..contract.model import JsonObject

Context = Mapping[str, object]
"""What an error of pydantic's says beside its message."""
MAX_BYTES = 1_000_000
LARGEST = 2**64
"""Integers are below it; a seed is the largest that there is."""
LONGEST_WORD = 200
KeyPath = tuple[str | int, ...]
_RELATIVE = re.compile(r"^([a-z_]+(?:\.[a-z0-9_]+)*): (.*)$", re.DOTALL)
_PRIORITY = ("value_error", "extra_forbidden", "missing")
_SHADOWED = ("too_short", "literal_error")
"""Findings about a whole that only repeat a finding about one of its parts."""
_ABOUT_FORM = (
    *("literal_error", "model_type", "tuple_type", "dict_type"),
    *("int_type", "int_parsing", "bool_type", "bool_parsing"),
)
"""Findings of a union that say no more than that a value has not the form of an alternative."""
_NOTHING = object()


@dataclass
class Source:
    """A parsed YAML file.

    Attributes:
        name: File name for messages.
        text: The file's text, verbatim.
        data: Plain dicts, lists and scalars.
        lines: Path of keys and indices -> line (from 1).
    """

    name: str
    text: str
    data: Any = None
    lines: dict[KeyPath, int] = field(default_factory=dict)

    def where(self, path: KeyPath) -> str:
        """`file:line` of the closest place to a path that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines.get(path, 1)}"


def parse(text: str, name: str) -> Source:
    """Parse YAML text.

    Raises:
        ConfigError: Not YAML, a duplicate key, an alias or a tag; one line with its place.
    """
    if len(text) > MAX_BYTES:
        raise ConfigError(
            f"{name}: larger than {MAX_BYTES} bytes; this is not a configuration file"
        )
    source = Source(name, text)
    try:
        root = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        raise ConfigError(_yaml_message(name, error)) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: not YAML: {str(error).splitlines()[0]}") from error
    if root is None:
        raise ConfigError(f"{name}: is empty")
    source.data = _convert(root, (), source, set())
    return source


def _yaml_message(name: str, error: MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark is not None else 1
    problem = " ".join(str(error.problem or error.context or "syntax error").split())
    return f"{name}:{line}: not YAML: {problem}"


def _convert(node: Node, path: KeyPath, source: Source, seen: set[int]) -> Any:
    source.lines.setdefault(path, node.start_mark.line + 1)
    if id(node) in seen:
        raise ConfigError(
            f"{source.where(path)}: YAML aliases are not supported; write the value out"
        )
    if isinstance(node, ScalarNode):
        return _scalar(node, path, source)
    seen.add(id(node))
    if isinstance(node, SequenceNode):
        return [_convert(item, (*path, i), source, seen) for i, item in enumerate(node.value)]
    assert isinstance(node, MappingNode)
    return _mapping(node, path, source, seen)


def _mapping(node: MappingNode, path: KeyPath, source: Source, seen: set[int]) -> JsonObject:
    result: JsonObject = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, ScalarNode):
            raise ConfigError(f"{source.name}:{line}: a key must be a plain word")
        key = str(key_node.value)
        if key in result:
            first = source.lines[(*path, key)]
            raise ConfigError(
                f"{source.name}:{line}: key {key!r} is repeated (first on line {first}); "
                "remove one of them"
            )
        source.lines[(*path, key)] = line
        result[key] = _convert(value_node, (*path, key), source, seen)
    return result


def _scalar(node: ScalarNode, path: KeyPath, source: Source) -> Any:
    """A scalar by its YAML 1.2 core type; dates and other tags stay text."""
    kind = str(node.tag).rsplit(":", 1)[-1]
    if kind == "null":
        return None
    if kind == "bool":
        return str(node.value).lower() == "true"
    if kind in ("int", "float"):
        return _number(node, kind, path, source)
    if str(node.tag).startswith("!"):
        raise ConfigError(f"{source.where(path)}: YAML tags are not supported: {node.tag}")
    return str(node.value)


def _number(node: ScalarNode, kind: str, path: KeyPath, source: Source) -> int | float:
    text = str(node.value)
    try:
        if kind == "float":
            return float(text)
        number = int(text, 0 if text.lstrip("+-").startswith(("0x", "0o")) else 10)
        if abs(number) < LARGEST:
            return number
        raise OverflowError
    except (ValueError, OverflowError) as error:
        raise ConfigError(
            f"{source.where(path)}: {_cut(repr(text))} is not a supported number"
        ) from error


@dataclass(frozen=True)
class Finding:
    """What pydantic says, and where that is in the data.

    pydantic reports every alternative of a union by itself, with the alternative's name in the
    location.

    Attributes:
        union: The place of the value that the alternatives are of; without any, as `path`.
        alternative: Which of them reports it; None: there are none.
    """

    details: ErrorDetails
    path: KeyPath
    union: KeyPath
    alternative: str | int | None = None

    @property
    def kind(self) -> str:
        """What is wrong, by pydantic's name."""
        return self.details["type"]

    @property
    def rank(self) -> tuple[bool, int, int]:
        """What is inside of a value comes before what is about it, what is worth saying first."""
        kind = _PRIORITY.index(self.kind) if self.kind in _PRIORITY else len(_PRIORITY)
        inside = self.path != self.union or self.kind in ("missing", "extra_forbidden")
        return not inside, kind, -len(self.details["loc"])


def _found(details: ErrorDetails, data: Any) -> Finding:
    path: KeyPath = ()
    union, alternative = None, None
    for part in (location := details["loc"]):
        inside = _child(data, part)
        if inside is not _NOTHING:
            data, path = inside, (*path, part)
        elif details["type"] == "missing" and len(location) == len(path) + 1:
            return Finding(details, path, (*path, part))
        elif union is None:
            union, alternative = path, part
    return Finding(details, path, path if union is None else union, alternative)


def _child(data: Any, part: str | int) -> Any:
    if isinstance(data, dict) and isinstance(part, str):
        return data.get(part, _NOTHING)
    if isinstance(data, list) and isinstance(part, int) and part < len(data):
        return data[part]
    return _NOTHING


def to_config_error(error: ValidationError, source: Source, schema: JsonObject) -> ConfigError:
    """Turn a validation error into a ConfigError with one line for each finding.

    Args:
        schema: JSON schema of the model, for what is allowed.
    """
    groups: dict[KeyPath, list[Finding]] = {}
    for details in error.errors(include_url=False):
        found = _found(details, source.data)
        groups.setdefault(found.union, []).append(found)

    chosen = {
        path: min(_of_fitting_alternatives(group, schema), key=lambda each: each.rank)
        for path, group in groups.items()
    }
    lines = [
        _line(found, source, schema)
        for path, found in chosen.items()
        if not (found.kind in _SHADOWED and _has_deeper(path, chosen))
        and not (found.kind == "missing" and _is_misspelt(path, chosen))
    ]
    return ConfigError("\n".join(dict.fromkeys(lines)))


def _has_deeper(path: KeyPath, findings: Iterable[KeyPath]) -> bool:
    return any(len(other) > len(path) and other[: len(path)] == path for other in findings)


def _is_misspelt(path: KeyPath, findings: dict[KeyPath, Finding]) -> bool:
    """Whether the missing key stands beside it under a name much like it."""
    beside = [
        str(other[-1])
        for other, found in findings.items()
        if found.kind == "extra_forbidden" and other[:-1] == path[:-1]
    ]
    return bool(did_you_mean(str(path[-1]), beside))


def _of_fitting_alternatives(group: list[Finding], schema: JsonObject) -> list[Finding]:
    """The findings of a union's alternatives but those that lack a key which others have."""
    lacking = {
        found.alternative
        for found in group
        if found.kind == "extra_forbidden" and found.details["loc"][-1] in _keys(schema, found)
    }
    return [each for each in group if each.alternative not in lacking] or group


def _line(found: Finding, source: Source, schema: JsonObject) -> str:
    path, message = found.path, _message(found, schema)
    relative = _RELATIVE.match(message)
    if found.kind == "value_error" and relative:
        path = path + tuple(int(p) if p.isdigit() else p for p in relative[1].split("."))
        message = relative[2]
    place = f"{source.where(path)}: "
    words = " ".join(map(_cut, message.split()))
    return place + (f"{shown(path)}: " if path else "") + words


def _cut(word: str) -> str:
    """A word as a line of a message can hold it."""
    return word if len(word) <= LONGEST_WORD else f"{word[:40]}... ({len(word)} characters)"


def shown(path: KeyPath) -> str:
    """A path as a person reads it: `flows[0].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{_cut(part)}"
    return text.lstrip(".")


def _message(found: Finding, schema: JsonObject) -> str:
    details = found.details
    if found.kind == "extra_forbidden":
        key, allowed = str(details["loc"][-1]), _keys(schema, found)
        below = _keys_below(schema, found, allowed)
        hint = "" if key in below else did_you_mean(key, allowed)
        if not hint and (near := meant(key, below)):
            hint = f"did you mean {near!r} under {below[near]!r}? "
        return f"unknown key; {hint}allowed here: {', '.join(allowed)}"
    if found.kind in _ABOUT_FORM and (forms := _forms(schema, found)):
        value, several = details["input"], f"{', '.join(forms[:-1])} or {forms[-1]}"
        if not isinstance(value, str):
            return f"{value!r} is not allowed here; write {several}"
        hint = did_you_mean(value, [form.strip("'") for form in forms if "'" in form])
        return f"{value!r} is unknown; {hint}write {several}"
    write = _WORDING.get(found.kind, _other)
    return write(details, details.get("ctx", {}))


def _other(details: ErrorDetails, context: Context) -> str:
    return f"{details['input']!r}: {details['msg'][0].lower()}{details['msg'][1:]}"


def _own(details: ErrorDetails, context: Context) -> str:
    return str(context["error"])


def _missing(details: ErrorDetails, context: Context) -> str:
    key = context.get("discriminator") or repr(details["loc"][-1])
    return f"key {key} is missing; add it"


def _not_a_choice(details: ErrorDetails, context: Context) -> str:
    allowed = str(context.get("expected") or context.get("expected_tags"))
    key = str(context["discriminator"]).strip("'") + " " if "discriminator" in context else ""
    value = context.get("tag", details["input"])
    hint = did_you_mean(str(value), re.findall(r"'([^']+)'", allowed)) if "', '" in allowed else ""
    return f"{key}{value!r} is unknown; {hint}write {allowed}"


def _not_a_mapping(details: ErrorDetails, context: Context) -> str:
    return f"{details['input']!r} is not allowed here; write keys and values"


def _not_a_list(details: ErrorDetails, context: Context) -> str:
    return f"{details['input']!r} is not allowed here; write a list: [..., ...]"


def _too_short(details: ErrorDetails, context: Context) -> str:
    has, least = context["actual_length"], context["min_length"]
    return f"{details['input']!r} has {has}; write at least {least}"


def _bad_pattern(details: ErrorDetails, context: Context) -> str:
    lower, pattern = str(details["input"]).lower(), str(context["pattern"])
    meant = f"write {lower}" if re.match(pattern, lower) else f"it must match {pattern}"
    return f"{details['input']!r} is not allowed; {meant}"


_WORDING: dict[str, Callable[[ErrorDetails, Context], str]] = {
    "value_error": _own,
    "missing": _missing,
    "union_tag_not_found": _missing,
    "literal_error": _not_a_choice,
    "union_tag_invalid": _not_a_choice,
    "model_type": _not_a_mapping,
    "dict_type": _not_a_mapping,
    "model_attributes_type": _not_a_mapping,
    "string_pattern_mismatch": _bad_pattern,
    "tuple_type": _not_a_list,
    "too_short": _too_short,
}


def _keys(schema: JsonObject, found: Finding) -> list[str]:
    """Keys that the schema allows beside the unknown one."""
    nodes = _nodes(schema, found.path[:-1], found.details["loc"])
    return list(dict.fromkeys(key for node in nodes for key in node.get("properties", {})))


def _keys_below(schema: JsonObject, found: Finding, allowed: list[str]) -> dict[str, str]:
    """Keys one level deeper than the unknown one -> the first allowed key that holds it."""
    places = ((name, (*found.path[:-1], name, *item)) for name in allowed for item in ((), (0,)))
    below: dict[str, str] = {}
    for name, place in places:
        for node in _nodes(schema, place, found.details["loc"]):
            below |= dict.fromkeys(node.get("properties", {}), name) | below
    return below


def _forms(schema: JsonObject, found: Finding) -> list[str]:
    """How a value of several forms can be written; none: it has one."""
    forms = dict.fromkeys(
        form for node in _nodes(schema, found.path, found.details["loc"]) for form in _written(node)
    )
    return list(forms) if len(forms) > 1 else []


def _written(node: JsonObject) -> list[str]:
    """How an alternative can be written: its words, its first keys, or what it is."""
    if words := node.get("enum") or [node[key] for key in ("const",) if key in node]:
        return [repr(word) for word in words]
    if keys := node.get("properties"):
        required = node.get("required") or list(keys)[:1]
        return [f"{{{', '.join(f'{key}: ...' for key in required)}}}"]
    kind = node.get("type")
    known = {"array": "a list", "object": "keys and values", "integer": "a whole number"}
    return (
        [] if kind in (None, "null") else [node.get("description") or known.get(kind, f"a {kind}")]
    )


def _nodes(schema: JsonObject, path: KeyPath, tags: KeyPath) -> list[JsonObject]:
    """What a value at a place may be."""
    nodes = _alternatives(schema, schema, tags)
    for part in path:
        nodes = [
            flat
            for node in nodes
            for child in _step(node, part)
            for flat in _alternatives(child, schema, tags)
        ]
    return nodes


def _alternatives(node: JsonObject, schema: JsonObject, tags: KeyPath) -> list[JsonObject]:
    """What a value may be; of alternatives that are told apart by a key, the one that it names."""
    if "$ref" in node:
        name = str(node["$ref"]).rsplit("/", 1)[-1]
        return _alternatives(schema["$defs"][name], schema, tags)
    named = node.get("discriminator", {}).get("mapping", {})
    chosen = [{"$ref": ref} for tag, ref in named.items() if tag in tags]
    branches = chosen or node.get("anyOf", []) + node.get("oneOf", []) + node.get("allOf", [])
    if branches:
        return [flat for branch in branches for flat in _alternatives(branch, schema, tags)]
    return [node]


def _step(node: JsonObject, part: str | int) -> list[JsonObject]:
    if isinstance(part, int):
        return [node["items"]] if isinstance(node.get("items"), dict) else []
    child = node.get("properties", {}).get(part)
    return [child] if child is not None else []
