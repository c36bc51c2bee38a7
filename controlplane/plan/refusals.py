"""What a target cannot do of a lane: each field says what it needs, and one walk asks."""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from ..contract.model import Needs
from ..contract.target import Capabilities, Possible


def refusals(asked: BaseModel, can: Capabilities, key: str = "bottleneck") -> Iterator[str]:
    """What of a lane a target cannot do, one line each; what is as by default every target can.

    Args:
        asked: The lane, or a part of it.
        key: The scenario's key. Parts of a lane stand side by side there.
    """
    for name, field in type(asked).model_fields.items():
        value, where = getattr(asked, name), f"{key}.{name}"
        choice = isinstance(can.lane.get(name), tuple)  # a target may lack what is the default
        if value is None or (value == field.default and not choice):
            continue
        for needs in (each for each in field.metadata if isinstance(each, Needs)):
            of_lane = can.lane.get(name, False)
            possible = getattr(can, needs.capability) if needs.capability else of_lane
            if not _is_met(possible, value, can):
                text = " or ".join(possible) if isinstance(possible, tuple) else possible or ""
                yield needs.refusal.format(key=where, value=_shown(value), can=text, of=can)
        if isinstance(value, BaseModel):
            yield from refusals(value, can, key)
        for index, part in enumerate(value if isinstance(value, tuple) else ()):
            if isinstance(part, BaseModel):
                yield from refusals(part, can, f"{where}.{index}")


def _is_met(possible: Possible, value: Any, can: Capabilities) -> bool:
    """Whether a target can do what is asked for; a file is a program of the user's own."""
    if isinstance(possible, bool):
        return possible
    if isinstance(possible, int):
        return len(value) <= possible
    return "file" in can.lane if getattr(value, "file", "") else _shown(value) in possible


def _shown(value: Any) -> Any:
    """A choice by its name, several by their number."""
    return len(value) if isinstance(value, tuple) else getattr(value, "name", value)
