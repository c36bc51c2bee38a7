"""One change of one table entry, by names: what is programmed, and what `plan` prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .info import Value

Verb = Literal["add", "modify", "set", "delete", "clear"]
ALL_PIPES = 0xFFFF


@dataclass(frozen=True)
class Change:
    """One change.

    Attributes:
        verb: `add` a new entry, `modify` one that is there, `set` either way, `delete`; `clear`
            deletes all entries of the table and has no key.
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
        table: Its table.
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
