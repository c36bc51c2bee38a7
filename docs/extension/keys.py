"""The keys of scenario, testbed and cluster files, from the JSON schemas that editors use."""

from __future__ import annotations

import json
from typing import Any

from markdown import code, table
from nashbed.controlplane.machine.paths import CONFIGS

Schema = dict[str, Any]


def all_keys(kind: str) -> str:
    """A section for each model, with a table of its keys.

    Args:
        kind: `scenario`, `testbed` or `cluster`.
    """
    text = (CONFIGS / "schema" / f"{kind}.schema.json").read_text()
    models: Schema = json.loads(text)["$defs"]
    # What has no keys, as a list, is described where it stands.
    plain = {f"#/$defs/{n}": models.pop(n) for n in [*models] if "properties" not in models[n]}
    schema: Schema = json.loads(text, object_hook=lambda part: plain.get(part.get("$ref"), part))
    sections = [_keys_of(schema)]
    sections += [
        f"## {name}\n\n{each.get('description', '')}\n\n{_keys_of(each)}"
        for name, each in sorted(schema["$defs"].items())
        if name in models
    ]
    return "\n\n".join(sections)


def _keys_of(model: Schema) -> str:
    required = set(model.get("required", ()))
    rows = [
        (code(name), _type(key), _default(name, key, required), key.get("description", ""))
        for name, key in sorted(
            model["properties"].items(), key=lambda each: each[0] not in required
        )
        if name != "$schema"
    ]
    return table(("key", "type", "default", "meaning"), rows)


def _default(name: str, key: Schema, required: set[str]) -> str:
    if name in required:
        return "required"
    value = key.get("default")
    if isinstance(value, dict) or value in (None, "", []):  # as the model's own keys say; nothing
        return ""
    return code(value if isinstance(value, str) else json.dumps(value))


def _type(key: Schema) -> str:
    """What may be written, in words."""
    if "$ref" in key:
        name = key["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for choice in ("anyOf", "oneOf"):
        if choice in key:
            said = [_type(each) for each in key[choice] if each.get("type") != "null"]
            return " or ".join(dict.fromkeys(said))
    if "const" in key or "enum" in key:
        return " or ".join(code(value) for value in key.get("enum", [key.get("const")]))
    if key.get("examples"):
        return f"{key['title'].lower()}, such as {code(key['examples'][0])}"
    return _plain(key)


def _plain(key: Schema) -> str:
    kind = key.get("type", "")
    if kind == "array":
        items = key.get("prefixItems")
        within = ", ".join(map(_type, items)) if items else _type(key.get("items", {}))
        return f"list of {within}" if within else "list"
    if kind == "object":
        values = key.get("additionalProperties")
        return f"mapping of names to {_type(values)}" if isinstance(values, dict) else "mapping"
    words = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "yes or no",
    }
    bounds = [
        f"{says} {key[name]}"
        for name, says in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
        )
        if name in key
    ]
    return ", ".join([words.get(kind, kind), *bounds])
