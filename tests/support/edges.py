"""Scenarios at the edges of what validation takes, key by key, found from the schema.

A key is a path in the scenario's JSON schema. A scenario that has it is drawn from the seed: what a
key needs beside it, and any value that goes with it. Its edges then are the smallest and the
largest value that validation takes there; what the reference says of a range is never read, so a
new key is covered, and a range that validation has wrong is found by running it.
"""

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.units import Buffer, Duration, Frequency, Rate, Share, Size
from pydantic import ValidationError

Key = tuple[str | int, ...]
Doc = dict[str, Any]
BASE: Doc = {
    "name": "edge",
    "title": "An edge",
    "bottleneck": {"rate": "5mbit", "buffer": "30kB"},
    "flows": [
        {"name": "main", "count": 2, "base_rtt": "20ms"},
        {"name": "other", "count": 1, "base_rtt": "20ms", "strategy": "cubic"},
    ],
    "strategies": ["cubic", "bbr"],
    "duration": "4s",
    "warmup": "1s",
    "trials": 1,
    "max_attempts": 1,
    "sweep": {"mixes": [1]},
}
TRANSFERS = {"name": "other", "base_rtt": "20ms", "arrivals": {"every": "100ms"}, "size": "20kB"}
DATAGRAMS = {
    "name": "other",
    "count": 1,
    "base_rtt": "20ms",
    "udp": {"rate": "1mbit", "packet": "1kB"},
}
QUEUES = [{"name": "one", "flows": ["other"]}, {"name": "two"}]
STATIC = {"static": ["20kB", "10kB"]}
OUTAGE = {"from": "2s", "to": "3s", "down": True}
RETURN = {"rate": "1mbit", "buffer": "50pkt"}
BASES: tuple[Doc, ...] = (
    BASE,
    BASE | {"flows": [BASE["flows"][0], TRANSFERS]},
    BASE | {"flows": [BASE["flows"][0], DATAGRAMS]},
    BASE | {"bottleneck": BASE["bottleneck"] | {"queues": QUEUES}},
    BASE | {"bottleneck": BASE["bottleneck"] | {"queues": QUEUES, "memory": STATIC}},
    BASE | {"bottleneck": BASE["bottleneck"] | {"changes": [OUTAGE]}},
    BASE | {"bottleneck": BASE["bottleneck"] | {"return": RETURN}},
    BASE | {"start": {"order": ["cubic", "bbr"], "gap": "100ms"}},
    BASE | {"start": {"offsets": {"cubic": "100ms"}}, "window": "whole"},
)
LEFT_OUT = {
    "acceptance", "reference", "equilibrium", "name", "title", "description", "kernel", "trials",
    "seed", "max_attempts", "file", "strategies", "mixes", "gates", "settled",
}  # fmt: skip
"""Keys that no trial depends on, that need a file, or that have no range."""
UNITS = {
    "Rate": "bit", "Duration": "ns", "Size": "B", "Share": "%", "Frequency": "/s", "Buffer": "B",
}  # fmt: skip
QUANTITIES = {"Rate": Rate, "Duration": Duration, "Size": Size, "Share": Share,
              "Frequency": Frequency, "Buffer": Buffer}  # fmt: skip
WORDS = ("cubic", "bbr", "main", "other")
DRAWS = 400
SCHEMA = Scenario.model_json_schema()


def is_valid(doc: Doc) -> bool:
    """Whether validation takes it."""
    try:
        Scenario.model_validate(doc)
    except ValidationError:
        return False
    return True


def _flat(node: Doc) -> list[Doc]:
    """What a value may be, references and alternatives resolved; null left out."""
    if "$ref" in node:
        return _flat(SCHEMA["$defs"][node["$ref"].rsplit("/", 1)[-1]])
    parts = [part for key in ("anyOf", "oneOf", "allOf") for part in node.get(key, ())]
    if parts:
        return [flat for part in parts for flat in _flat(part)]
    return [] if node.get("type") == "null" else [node]


def keys() -> list[Key]:
    """Every key with a value of its own; list items and entries of mappings are `*`."""
    return list(dict.fromkeys(_walk(SCHEMA, (), frozenset())))


def _walk(node: Doc, path: Key, within: frozenset[int]) -> Iterator[Key]:
    for flat in _flat(node):
        if id(flat) in within or (path and path[-1] in LEFT_OUT):
            continue
        inside = within | {id(flat)}
        if "properties" in flat:
            for name, child in flat["properties"].items():
                yield from _walk(child, (*path, name), inside)
        elif flat.get("type") == "array":
            for child in flat.get("prefixItems", [flat.get("items", {})]):
                yield from _walk(child, (*path, "*"), inside)
        elif flat.get("type") == "object":
            for child in flat.get("patternProperties", {}).values():
                yield from _walk(child, (*path, "*"), inside)
        else:
            yield path


class Edges:
    """Draws scenarios that have a key, and finds the edges of its range in them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def scenarios(self, key: Key) -> list[tuple[str, Doc]]:
        """What the edge is, and a valid scenario at it; empty: none was found that has the key."""
        for _ in range(DRAWS):
            doc = copy.deepcopy(self._random.choice(BASES))
            found = self._put(doc, SCHEMA, key)
            if found is not None and is_valid(doc):
                return list(self._at_edges(doc, *found))
        return []

    def _put(self, doc: Doc, node: Doc, key: Key) -> tuple[Key, Doc] | None:
        """Write a value for a key, and what it needs beside it; where it is, and its schema."""
        place: Key = ()
        inside: Any = doc
        for depth, part in enumerate(key):
            choices = [flat for flat in _flat(node) if _leads(flat, part)]
            if not choices:
                return None
            flat = self._random.choice(choices)
            name = self._name(flat, part, inside)
            child = _child(flat, part)
            last = depth == len(key) - 1
            if last or not _has(inside, name) or isinstance(_get(inside, name), str):
                leaves = _leaves(child) if last else _flat(child)
                wanted = [each for each in leaves if last or _leads(each, key[depth + 1])]
                if not wanted:
                    return None
                chosen = self._random.choice(wanted)
                if not _set(inside, name, self._value(chosen)):
                    return None
                child = chosen
            place, inside, node = (*place, name), _get(inside, name), child
        return place, node

    def _name(self, flat: Doc, part: str | int, inside: Any) -> str | int:
        if part != "*":
            return part
        if flat.get("type") == "array":
            return self._random.randrange(len(inside)) if inside else 0
        return self._random.choice(WORDS)

    def _value(self, node: Doc) -> Any:  # noqa: PLR0911 - a return for each kind
        """Any value of a schema: of an object only what it must have."""
        flat = self._random.choice(_flat(node))
        kind = flat.get("type")
        if "const" in flat:
            return flat["const"]
        if "enum" in flat:
            return self._random.choice(flat["enum"])
        if flat.get("title") in QUANTITIES and kind == "string":
            return _written(flat["title"], self._random.choice(_ladder(flat["title"])))
        if kind == "boolean":
            return self._random.random() < 0.5
        if kind in ("integer", "number"):
            return self._random.choice([flat.get("minimum", 0), 1, flat.get("maximum", 1)])
        if kind == "array":
            items = flat.get("prefixItems") or [flat.get("items", {})] * max(
                1, flat.get("minItems", 1)
            )
            return [self._value(item) for item in items]
        if kind == "object":
            required = flat.get("required", ())
            optional = [n for n in flat.get("properties", {}) if n not in required]
            more = self._random.sample(optional, min(len(optional), self._random.randrange(2)))
            return {n: self._value(flat["properties"][n]) for n in (*required, *more)}
        return self._random.choice(WORDS)

    def _at_edges(self, doc: Doc, place: Key, node: Doc) -> Iterator[tuple[str, Doc]]:
        flat = self._random.choice(_flat(node))
        where = ".".join(map(str, place))

        def at(value: Any) -> Doc:
            changed = copy.deepcopy(doc)
            inside: Any = changed
            for part in place[:-1]:
                inside = inside[part]
            inside[place[-1]] = value
            return changed

        for value in self._edges(flat, lambda value: is_valid(at(value))):
            yield f"{where}: {value}", at(value)

    def _edges(self, flat: Doc, takes: Callable[[Any], bool]) -> list[Any]:
        kind = flat.get("type")
        if "enum" in flat or "const" in flat or kind == "boolean":
            values = flat.get("enum", [flat["const"]] if "const" in flat else [False, True])
            return [value for value in values if takes(value)]
        if flat.get("title") in QUANTITIES and kind == "string":
            title = flat["title"]
            return [
                _written(title, edge)
                for edge in _whole_edges(lambda n: takes(_written(title, n)), _ladder(title))
            ]
        if kind == "integer":
            return list(_whole_edges(takes, [0, *(10**k for k in range(10))]))
        if kind == "number":
            low, high = flat.get("minimum", flat.get("exclusiveMinimum", 0)), flat.get("maximum", 1)
            return [value for value in (low, low + 1e-3, high) if takes(value)]
        return [word for word in WORDS if takes(word)]


def _leaves(node: Doc) -> list[Doc]:
    """What a value may be that has no keys of its own."""
    return [flat for flat in _flat(node) if flat.get("type") not in ("object", "array")]


def _leads(flat: Doc, part: str | int) -> bool:
    if part != "*":
        return part in flat.get("properties", {})
    return flat.get("type") == "array" or "patternProperties" in flat


def _child(flat: Doc, part: str | int) -> Doc:
    if part != "*":
        return flat["properties"][part]
    if flat.get("type") == "array":
        return flat["prefixItems"][0] if "prefixItems" in flat else flat.get("items", {})
    return next(iter(flat["patternProperties"].values()))


def _has(inside: Any, name: str | int) -> bool:
    return name in inside if isinstance(inside, dict) else int(name) < len(inside)


def _get(inside: Any, name: Any) -> Any:
    return inside[name]


def _set(inside: Any, name: Any, value: Any) -> bool:
    if isinstance(inside, list) and name == len(inside):
        inside.append(value)
    elif isinstance(inside, dict | list):
        inside[name] = value
    else:
        return False
    return True


def _ladder(title: str) -> list[int]:
    """Whole numbers of base units, from nothing to more than anything may have."""
    if title == "Share":
        return [0, 1, 10**3, 10**6, 10**7, 10**8, 5 * 10**8, 10**9]
    return [0, *(10**k for k in range(20))]


def _written(title: str, number: int) -> str:
    """A whole number of base units as a scenario has it."""
    if title == "Share":
        return str(Share(number))
    if title == "Frequency":
        return f"{number // 10**6}.{number % 10**6:06}/s"
    return f"{number}{UNITS[title]}"


def _whole_edges(takes: Callable[[int], bool], ladder: list[int]) -> Iterator[int]:
    """The smallest and the largest whole number that is taken."""
    taken = [number for number in ladder if takes(number)]
    if not taken:
        return
    below = [number for number in ladder if number < taken[0]]
    above = [number for number in ladder if number > taken[-1]]
    yield _bisect(takes, taken[0], below[-1]) if below else taken[0]
    yield _bisect(takes, taken[-1], above[0]) if above else taken[-1]


def _bisect(takes: Callable[[int], bool], good: int, bad: int) -> int:
    while abs(good - bad) > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if takes(middle) else (good, middle)
    return good
