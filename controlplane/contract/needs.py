"""What a target must be able to do for a field of a lane, said at the field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

if TYPE_CHECKING:
    from .target import Capabilities

ELSEWHERE = "use a testbed of target dpdk or virtual"


@dataclass(frozen=True)
class Needs:
    """Stands in the annotation of a field that not every target has.

    Attributes:
        can: The field of Capabilities that answers: the values that are possible, the highest
            number of them, or whether it is possible at all.
        refusal: What a person reads where the answer is no; {key} is the scenario's key, {value}
            what is asked for, {can} what is possible, {of} the capabilities.
    """

    can: str
    refusal: str


def refusals(asked: BaseModel, can: Capabilities, key: str = "bottleneck") -> Iterator[str]:
    """What of a lane a target cannot do, one line each.

    Args:
        asked: The lane, or a part of it.
        can: What the target can do.
        key: The scenario's key. Parts of a bottleneck's program stand side by side there.
    """
    for name, field in type(asked).model_fields.items():
        value, where = getattr(asked, name), f"{key}.{name}"
        if value is None or value == ():
            continue
        for needs in field.metadata:
            if isinstance(needs, Needs) and not _is_met(needs, value, can):
                yield needs.refusal.format(
                    key=where, value=_shown(value), can=_shown(getattr(can, needs.can)), of=can
                )
        if isinstance(value, BaseModel):
            yield from refusals(value, can, key)
        for index, part in enumerate(value if isinstance(value, tuple) else ()):
            if isinstance(part, BaseModel):
                yield from refusals(part, can, f"{where}.{index}")


def _is_met(needs: Needs, value: Any, can: Capabilities) -> bool:
    """Whether a target can do what is asked for; a file is a program of the user's own."""
    possible = getattr(can, needs.can)
    if isinstance(possible, bool):
        return possible
    if isinstance(possible, int):
        return len(value) <= possible
    return can.own_disciplines if getattr(value, "file", "") else _shown(value) in possible


def _shown(value: Any) -> Any:
    """A choice by its name; several by their number, or all of those that are possible."""
    if isinstance(value, tuple):
        texts = all(isinstance(each, str) for each in value)
        return " or ".join(value) if texts else len(value)
    return getattr(value, "name", value)
