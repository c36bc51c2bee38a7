"""What a target cannot do of a lane: each field says what it needs, and one walk asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from ..contract.model import Needs
from ..contract.target import Capabilities


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
