"""Strict YAML: plain data plus the line of every key, duplicate keys refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ..contract.errors import ConfigError

MAX_BYTES = 1_000_000
Path = tuple[str | int, ...]


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
    lines: dict[Path, int] = field(default_factory=dict)

    def where(self, path: Path) -> str:
        """`file:line` of the closest place to a path that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return f"{self.name}:{self.lines.get(path, 1)}"


def parse(text: str, name: str) -> Source:
    """Parse YAML text.

    Args:
        text: The file's content.
        name: The file's name for messages.

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


def _convert(node: Node, path: Path, source: Source, seen: set[int]) -> Any:
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


def _mapping(node: MappingNode, path: Path, source: Source, seen: set[int]) -> dict[str, Any]:
    result: dict[str, Any] = {}
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


def _scalar(node: ScalarNode, path: Path, source: Source) -> Any:
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


def _number(node: ScalarNode, kind: str, path: Path, source: Source) -> int | float:
    text = str(node.value)
    try:
        if kind == "float":
            return float(text)
        return int(text, 0 if text.lstrip("+-").startswith(("0x", "0o")) else 10)
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"{source.where(path)}: {text!r} is not a supported number") from error
