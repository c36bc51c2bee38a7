"""What a bf-rt.json says: tables, keys, actions and data fields, by name; and changes.

The chip's fixed tables and the program's tables are described alike, and a request on the
wire carries their numbers. Names are ours; numbers and widths are looked up here.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from ...contract.errors import TargetError
from ...contract.model import JsonObject
from . import bfruntime_pb2 as pb

Value = int | str | bool
_WHOLE_BITS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
Verb = Literal["add", "modify", "set", "delete", "clear"]
ALL_PIPES = 0xFFFF


@dataclass(frozen=True)
class Field:
    """A key or data field.

    Attributes:
        kind: `whole`, `bool` or `text`.
        bits: Width of a whole number.
        choices: What a text may be; empty: anything.
    """

    id: int
    name: str
    kind: str
    bits: int = 0
    choices: tuple[str, ...] = ()
    repeated: bool = False
    read_only: bool = False

    def stream(self, value: Value) -> bytes:
        """A whole number as it is on the wire: big-endian, as many bytes as the width needs."""
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << self.bits:
            raise TargetError(f"{self.name}: {value!r} is not a whole number of {self.bits} bits")
        return value.to_bytes((self.bits + 7) // 8, "big")

    def exact(self, value: Value) -> pb.KeyField:
        """A value as a field of a key; a text is its bytes there."""
        raw = value.encode() if isinstance(value, str) else self.stream(value)
        return pb.KeyField(field_id=self.id, exact=pb.KeyField.Exact(value=raw))

    def takes(self, value: Any) -> bool:
        """Whether a value that was read can be written."""
        if self.read_only or self.repeated or isinstance(value, list):
            return False
        return not self.choices or value in self.choices

    def data(self, value: Value) -> pb.DataField:
        """A value as a data field."""
        if self.kind == "bool" and isinstance(value, bool):
            return pb.DataField(field_id=self.id, bool_val=value)
        if self.kind == "text" and isinstance(value, str):
            if self.choices and value not in self.choices:
                raise TargetError(f"{self.name}: {value!r} is not one of {', '.join(self.choices)}")
            return pb.DataField(field_id=self.id, str_val=value)
        return pb.DataField(field_id=self.id, stream=self.stream(value))


@dataclass(frozen=True)
class Action:
    """An action of a table.

    Attributes:
        id: Its number; 0 stands for the data that belongs to no action.
    """

    id: int
    fields: dict[str, Field]


@dataclass(frozen=True)
class Entry:
    """A table entry as it was read.

    Attributes:
        action: Its action's name; empty for a table without.
        data: Data field -> value.
    """

    action: str
    data: JsonObject


@dataclass(frozen=True)
class Table:
    """A table.

    Attributes:
        name: Its full name.
        data: Data fields that belong to no action, by name.
        actions: Its actions by their full names.
    """

    id: int
    name: str
    keys: dict[str, Field]
    data: dict[str, Field]
    actions: dict[str, Action]

    def key(self, values: dict[str, Value]) -> pb.TableKey:
        """A whole key; raises TargetError for a field that is missing or unknown."""
        if set(values) != set(self.keys):
            raise TargetError(f"{self.name}: key is {', '.join(self.keys) or 'empty'}")
        fields = (field.exact(values[name]) for name, field in self.keys.items())
        return pb.TableKey(fields=fields)

    def entry_data(self, values: dict[str, Value], action: str = "") -> pb.TableData:
        """Data fields, of an action or of none."""
        chosen = self._action(action)
        known = self.data | chosen.fields
        for name in values:
            if name not in known:
                raise TargetError(f"{self.name}: no data field {name}")
            if known[name].read_only:
                raise TargetError(f"{self.name}: {name} can only be read")
        fields = (known[name].data(value) for name, value in values.items())
        return pb.TableData(action_id=chosen.id, fields=fields)

    def decoded(self, data: pb.TableData) -> Entry:
        """Data fields by name; a field that comes once for each pipe is a list."""
        chosen = {name: a for name, a in self.actions.items() if a.id == data.action_id}
        own = next(iter(chosen.values())).fields if chosen else {}
        names = {f.id: f.name for f in (*self.data.values(), *own.values())}
        values: JsonObject = {}
        for each in data.fields:
            if each.WhichOneof("value") is None:  # a field without a value, or of a kind unknown
                continue
            name = names.get(each.field_id)
            if name is None:
                raise TargetError(f"{self.name}: answer has unknown data field {each.field_id}")
            values[name] = _joined(values.get(name), _value(each))
        return Entry(next(iter(chosen), ""), values)

    def writable(self, entry: Entry) -> dict[str, Value]:
        """What of an entry that was read can be written as it is.

        A direction of a mirror session that has none is read as NONE, which is no choice.
        """
        known = self.data | self._action(entry.action).fields
        return {
            name: value
            for name, value in entry.data.items()
            if name in known and known[name].takes(value)
        }

    def _action(self, name: str) -> Action:
        if not name:
            return Action(0, {})
        matches = [a for full, a in self.actions.items() if _ends_with(full, name)]
        if len(matches) != 1:
            raise TargetError(f"{self.name}: {len(matches)} actions are called {name}")
        return matches[0]


class Info:
    """The tables of one or more bf-rt.json files.

    Attributes:
        schema_versions: The versions of their form.
    """

    def __init__(self, *texts: bytes | str) -> None:
        self._tables: dict[str, Table] = {}
        files = [_parsed(text) for text in texts]
        self.schema_versions = tuple(sorted({version for version, _ in files}))
        for _, tables in files:
            for described in tables:
                table = _table(described)
                self._tables[table.name] = table

    def table(self, name: str) -> Table:
        """A table by its name; that of the P4 pipeline in front may be left out."""
        matches = self._matches(name)
        if len(matches) != 1:
            raise TargetError(f"BfRt: {len(matches)} tables are called {name}")
        return matches[0]

    def same_tables(self, other: Info) -> bool:
        """Whether every table of ours is in the other, alike."""
        return all(other._tables.get(name) == table for name, table in self._tables.items())

    def _matches(self, name: str) -> list[Table]:
        if name in self._tables:
            return [self._tables[name]]
        return [table for full, table in self._tables.items() if _ends_with(full, name)]


def _ends_with(full: str, name: str) -> bool:
    return full == name or full.endswith(f".{name}")


def _parsed(text: bytes | str) -> tuple[str, list[JsonObject]]:
    """The version of a file's form, and its tables."""
    try:
        described = json.loads(text)
        return str(described.get("schema_version", "unknown")), list(described["tables"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise TargetError("BfRt: a description of tables (bf-rt.json) cannot be read") from error


def _table(described: JsonObject) -> Table:
    keys = [_field(key) for key in described.get("key", [])]
    actions = {
        action["name"]: Action(action["id"], _fields(action.get("data", [])))
        for action in described.get("action_specs", [])
    }
    return Table(
        id=described["id"],
        name=described["name"],
        keys={field.name: field for field in keys},
        data=_fields(described.get("data", [])),
        actions=actions,
    )


def _fields(described: list[JsonObject]) -> dict[str, Field]:
    """Plain data fields; containers and alternatives are left out, no table of ours has them."""
    fields: dict[str, Field] = {}
    for item in described:
        inner = item.get("singleton", item)
        if "type" in inner:
            field = _field(inner | {"read_only": item.get("read_only", False)})
            fields[field.name] = field
    return fields


def _field(described: JsonObject) -> Field:
    form = described["type"]
    kind = {"bool": "bool", "string": "text"}.get(form["type"], "whole")
    return Field(
        id=described["id"],
        name=described["name"],
        kind=kind,
        bits=_WHOLE_BITS.get(form["type"], form.get("width", 0)),
        choices=tuple(form.get("choices", ())),
        repeated=bool(described.get("repeated", False)),
        read_only=bool(described.get("read_only", False)),
    )


def _joined(before: Any, value: Any) -> Any:
    if before is None:
        return value
    return [*(before if isinstance(before, list) else [before]), value]


def _value(field: pb.DataField) -> Any:
    form = field.WhichOneof("value")
    if form == "stream":
        return int.from_bytes(field.stream, "big")
    if form == "int_arr_val":
        return list(field.int_arr_val.val)
    return field.bool_val if form == "bool_val" else field.str_val


@dataclass(frozen=True)
class Change:
    """One change.

    Attributes:
        verb: `add` a new entry, `modify` one that is there, `set` whichever of the two it takes,
            `delete`; `clear` deletes all entries of the table and has no key.
        table: Its table; the P4 pipeline's name may be left out.
        key: Key field -> value.
        data: Data field -> value.
        action: The entry's action; empty for a table without.
        pipe: The pipe that it is for. Fixed tables of the traffic manager need one.
    """

    verb: Verb
    table: str
    key: dict[str, Value] = field(default_factory=dict)
    data: dict[str, Value] = field(default_factory=dict)
    action: str = ""
    pipe: int = ALL_PIPES

    def __str__(self) -> str:
        """One line for a person."""
        where = "" if self.pipe == ALL_PIPES else f" on pipe {self.pipe}"
        action = f" {self.action}" if self.action else ""
        return f"{self.verb} {self.table}{where} [{_listed(self.key)}]{action} {_listed(self.data)}"


@dataclass(frozen=True)
class Query:
    """One entry to read.

    Attributes:
        key: Key field -> value.
        pipe: The pipe that it is read from.
        from_hardware: Read the chip, not what the driver remembers.
    """

    table: str
    key: dict[str, Value] = field(default_factory=dict)
    pipe: int = ALL_PIPES
    from_hardware: bool = True


def _listed(values: dict[str, Value]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
