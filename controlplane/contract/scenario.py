"""A scenario: what competes at which bottleneck, for how long, and what is kept.

It never names a machine, a port or a target: the testbed file does. Every combination of what is
swept is checked as a scenario of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError, model_validator

from .course import SettledDuration
from .errors import ConfigError, did_you_mean
from .scenario_checks import check_scenario
from .scenario_keys import ScenarioKeys
from .strategy import with_params
from .sweep import SWEPT, Sweep, is_count

S = TypeVar("S", bound=ScenarioKeys)
Values = Mapping[str, Any]
"""What a combination has of each swept key."""
Changes = dict[tuple[str, ...], Any]
"""Path -> what is there instead."""


def combinations(scenario: ScenarioKeys) -> Iterator[Values]:
    """Every combination of what is swept; a buffer is always in them, and the last."""
    sweep = scenario.sweep
    swept: dict[str, Sequence[Any] | None] = {key: getattr(sweep, key) for key in SWEPT}
    buffer = swept.pop("buffer") or (scenario.bottleneck.buffer,)
    swept |= sweep.by_path
    given = {key: values for key, values in swept.items() if values is not None}
    given["buffer"] = buffer
    for values in itertools.product(*given.values()):
        yield dict(zip(given, values, strict=True))


def varied(scenario: S, values: Values) -> S:
    """The scenario of a combination; what is below its own keys is checked again.

    Raises:
        ValueError: A value is not possible, or has no place; in a line.
    """
    changes: dict[str, Changes] = {}
    for key, value in values.items():
        first, *rest = SWEPT.get(key, key.split("."))
        changes.setdefault(first, {})[tuple(rest)] = value
    update = {name: _varied(getattr(scenario, name), name, c) for name, c in changes.items()}
    return scenario.model_copy(update=update)


def _varied(part: Any, where: str, changes: Changes) -> Any:
    """A part of a scenario, of whose lists an entry or each has what changes."""
    if () in changes:
        return changes[()]
    if isinstance(part, tuple) and all(_entry(path) < len(part) for path in changes):
        return tuple(_varied(each, where, _of_entry(changes, i)) for i, each in enumerate(part))
    if isinstance(part, Mapping):
        return {**part, **{".".join(path): value for path, value in changes.items()}}
    if isinstance(part, str):
        return with_params(part, changes)
    if not isinstance(part, BaseModel):
        raise ValueError(f"{where}: is not there; write it, so that a part of it can be swept")
    names = {field.alias or name: name for name, field in type(part).model_fields.items()}
    inner: dict[str, Changes] = {}
    for (first, *rest), value in changes.items():
        if first not in names:
            hint = did_you_mean(first, names)
            raise ValueError(
                f"{where}.{first}: there is no such key; {hint}write {', '.join(names)}"
            )
        inner.setdefault(first, {})[tuple(rest)] = value
    parts = {names[k]: _varied(getattr(part, names[k]), f"{where}.{k}", inner[k]) for k in inner}
    try:
        # What was left out stays left out: it may not go with what changes.
        return type(part)(**{name: getattr(part, name) for name in part.model_fields_set} | parts)
    except ValidationError as error:
        raise ValueError(_problem(where, error)) from error


def _entry(path: tuple[str, ...]) -> int:
    """Which entry of a list is named; else each, of which there is one at least."""
    return int(path[0]) if path[0].isdigit() else 0


def _of_entry(changes: Changes, index: int) -> Changes:
    """What changes of an entry of a list."""
    mine = {path: value for path, value in changes.items() if not path[0].isdigit()}
    named = {path[1:]: value for path, value in changes.items() if path[0] == str(index)}
    return mine | named


def _problem(where: str, error: ValidationError) -> str:
    """The first problem in one line; a validator of the whole names the key itself."""
    first = error.errors()[0]
    text = first["msg"].removeprefix("Value error, ")
    place = ".".join(map(str, (where, *first["loc"])))
    return f"{place}{'.' if re.match('[a-z0-9_.]+: ', text) else ': '}{text}"


def most_flows_at_any_setting(scenario: ScenarioKeys) -> int:
    """Flows of one trial at the most, whatever is swept: what each lane has room for."""
    counts = {key: n for key, n in scenario.sweep.flows.items() if is_count(f"flows.{key}")}
    sizes = Sweep(duration=scenario.sweep.duration, flows=counts)
    sized = scenario.model_copy(update={"sweep": sizes})
    return max(varied(sized, values).most_flows for values in combinations(sized))


def called(problem: str, scenario: ScenarioKeys, values: Values) -> str:
    """What is wrong with a combination, by the sweep's key where it begins with what is swept."""
    for key in values:
        path = ".".join(SWEPT.get(key, (key,)))
        is_swept = getattr(scenario.sweep, key, scenario.sweep) is not None
        if is_swept and problem.startswith((f"{path}:", f"{path}.")):
            return f"sweep.{key}{problem.removeprefix(path)}"
    return problem


class Scenario(ScenarioKeys):
    """A whole scenario."""

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        for key in self.sweep.params:
            strategy, dot, _ = key.partition(".")
            if not dot or strategy not in self.strategies:
                raise ValueError(
                    f"sweep.params.{key}: write STRATEGY.PARAMETER, of {', '.join(self.strategies)}"
                )
        if self.sweep.duration and isinstance(self.duration, SettledDuration):
            raise ValueError(
                "sweep.duration: a trial that runs until it is settled has its own length; write a "
                "fixed `duration`, or remove sweep.duration"
            )
        for values in combinations(self):
            try:
                check_scenario(varied(self, values))
            except ValueError as error:
                raise ValueError(called(str(error), self, values)) from error
        return self

    def replace(self, changes: Values | None = None, **keys: Any) -> Scenario:
        """The scenario with other values of some keys, checked as a whole.

        Args:
            changes: Path of a key -> its value: `{"bottleneck.rate": "50mbit"}`; in a list,
                `flows.0.count` is the first entry's and `flows.count` each one's.
            keys: Keys of the scenario itself: `trials=5`.

        Raises:
            ConfigError: There is no such key, or the scenario does not fit together.
        """
        wanted = {**(changes or {}), **keys}
        try:
            changed: Scenario = _varied(
                self, self.name, {tuple(path.split(".")): each for path, each in wanted.items()}
            )
        except ValueError as error:
            raise ConfigError(str(error)) from error
        return changed
