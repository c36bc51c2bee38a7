"""A user's own discipline as a data plane is told it: compiled, its parameters in machine units."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from ...contract.c_files import CFile
from ...contract.disciplines import Choice, Value, machine_parameter
from ...contract.errors import ConfigError, NashbedError
from ...contract.plan import Plan
from ...contract.queues import Memory
from ...contract.target import Lane
from ...contract.units import Duration, Quantity, Share, Size
from .aqm_tool import DisciplineAbout, ParameterAbout, about_object, check
from .objects import shared_object

Asked = TypeVar("Asked", bound=Choice)
NOUNS = {"discipline": "a discipline", "memory": "a policy of memory"}
NOT_CHECKED = ("schedule", "dscp", "dscp_default")
"""What a lane is told that does not matter to its disciplines; a trace is not written yet."""
QUANTITIES: dict[str, type[Quantity]] = {"time": Duration, "bytes": Size, "probability": Share}
"""Kind of a parameter -> what is written for it."""


def loadable(own: CFile, asked: Asked) -> Asked:
    """What a data plane is told of a user's own discipline, or policy of the memory.

    Args:
        asked: It as the scenario has it, its parameters as they were written.

    Raises:
        ConfigError: It does not compile, is none, or has no such parameter or value.
        HostError: There is no compiler.
    """
    path = shared_object(own).path
    about = about_object(path)
    wanted = "memory" if isinstance(asked, Memory) else "discipline"
    if about.what != wanted:
        raise ConfigError(
            f"{own.name}: is {NOUNS[about.what]}, not {NOUNS[wanted]}; write it as `{about.what}`"
        )
    parameters = tuple(_converted(about, name, value) for name, value in asked.parameters)
    told = {"name": own.name, "file": str(path), "parameters": parameters}
    return asked.model_copy(update=told)


def loadable_bottleneck(program: Lane, own: Sequence[CFile]) -> Lane:
    """A bottleneck with what a data plane can load of users' disciplines and policies."""
    changed: dict[str, object] = {"discipline": _own_or_ours(program.discipline, own)}
    if program.queues is not None:
        queues = tuple(
            queue.model_copy(update={"discipline": _own_or_ours(queue.discipline, own)})
            for queue in program.queues.queues
        )
        memory = _own_or_ours(program.queues.memory, own)
        changed["queues"] = program.queues.model_copy(update={"queues": queues, "memory": memory})
    return program.model_copy(update=changed)


def require_disciplines(plan: Plan, own: Sequence[CFile], where: str) -> None:
    """Refuse disciplines that a data plane would not take: each is asked, one's own compiled.

    Raises:
        ConfigError: One does not compile, has no such parameter or value, or has some that do not
            go together at its line.
        HostError: There is no compiler.
    """
    for program in {trial.setting.label: trial.setting for trial in plan.trials}.values():
        try:
            told = loadable_bottleneck(program, own).told()
        except NashbedError as error:
            raise type(error)(f"{where}: discipline: {error.message}") from error
        lane = json.dumps({key: told[key] for key in told if key not in NOT_CHECKED})
        if '"discipline"' in lane:
            check(where, lane)


def _own_or_ours(asked: Asked | None, own: Sequence[CFile]) -> Asked | None:
    """What is loaded of a file, if it is of one."""
    if asked is None or not asked.file:
        return asked
    return loadable(next(each for each in own if each.name == asked.name), asked)


def _converted(about: DisciplineAbout, name: str, value: Any) -> tuple[str, Value]:
    known = {each.name: each for each in about.parameters}
    if name not in known:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise ConfigError(f"{about.name}: params.{name}: there is no such parameter; {has}")
    try:
        key, number = machine_parameter(name, _read(known[name], value))
    except ValueError as error:
        raise ConfigError(f"{about.name}: params.{name}: {error}") from error
    _check_range(f"{about.name}: params.{name}", known[name], number)
    return key, number


def _read(parameter: ParameterAbout, value: Value) -> object:
    """A parameter as it was written, by its kind."""
    if parameter.kind in QUANTITIES:
        return QUANTITIES[parameter.kind].parse(str(value))
    if parameter.kind == "flag":
        if not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither true nor false")
        return value
    if isinstance(value, bool | str):
        raise ValueError(f"{value!r} is no number")
    if parameter.kind != "real" and not isinstance(value, int):
        raise ValueError(f"{value!r} is no whole number")
    return value


def _check_range(where: str, parameter: ParameterAbout, number: Any) -> None:
    if isinstance(number, str) or parameter.min <= number <= parameter.max:
        return
    low, high = (written(parameter.kind, each) for each in (parameter.min, parameter.max))
    raise ConfigError(
        f"{where}: {written(parameter.kind, number)} is out of range; write {low} to {high}"
    )


def written(kind: str, number: float) -> str:
    """A parameter in machine units as a person writes it.

    Args:
        kind: Kind of the parameter.
        number: In ns, bytes, a part of 1, or without a unit.
    """
    if kind == "time":
        return str(Duration(int(number)))
    if kind == "bytes":
        return str(Size(int(number)))
    if kind == "probability":
        return str(Share(round(number * 10**9)))
    return str(bool(number)).lower() if kind == "flag" else f"{number:g}"
