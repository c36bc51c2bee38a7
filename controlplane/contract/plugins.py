"""What other installed distributions add, by entry points: metrics, models and targets."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from types import FunctionType
from typing import Any, TypeVar

from .errors import ConfigError

T = TypeVar("T")


def plugin_names(group: str) -> tuple[str, ...]:
    """Names of a group's plugins, none of which is imported."""
    return tuple(sorted({point.name for point in entry_points(group=f"nashbed.{group}")}))


class WithPlugins(Mapping[str, T]):
    """Our own objects by name, and after them those of the entry points of one group.

    Plugins are imported when the mapping is first looked into, not when it is made: theirs may be
    one module for several groups, which imports the modules of ours that it is for.

    Args:
        group: `metrics`, `models` or `targets`; the entry points' group is `nashbed.<group>`.
        kind: What each plugin must be.
        ours: Name -> object.
    """

    def __init__(self, group: str, kind: type[T] | type[FunctionType], ours: dict[str, T]) -> None:
        self._group = group
        self._kind = kind
        self.ours = ours

    def __getitem__(self, name: str) -> T:
        """Look one up; ours need no plugin."""
        return self.ours[name] if name in self.ours else self._plugged[name]

    def __iter__(self) -> Iterator[str]:
        """Ours, then those of plugins by name; raises ConfigError for one that does not fit."""
        return iter((*self.ours, *self._plugged))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.ours) + len(self._plugged)

    @cached_property
    def _plugged(self) -> dict[str, T]:
        found: dict[str, T] = {}
        points = entry_points(group=f"nashbed.{self._group}")
        for point in sorted(points, key=lambda each: each.name):
            if point.name in self.ours or point.name in found:
                raise _refused(self._group, point, "has a name that is taken; rename it")
            found[point.name] = _loaded(self._group, point, self._kind)
        return found


def _loaded(group: str, point: EntryPoint, kind: type[Any]) -> Any:
    try:
        value = point.load()
    except Exception as error:  # whatever another's module does
        reason = f"cannot be imported: {type(error).__name__}: {error}"
        raise _refused(group, point, f"{reason}; mend or uninstall it") from error
    if not isinstance(value, kind):
        raise _refused(group, point, f"is a {type(value).__name__}, not a {kind.__name__}")
    name = getattr(value, "name", point.name)
    if name != point.name:
        raise _refused(group, point, f"names itself {name!r}; both names must be the same")
    return value


def _refused(group: str, point: EntryPoint, why: str) -> ConfigError:
    whose = point.dist.name if point.dist is not None else "an unknown distribution"
    return ConfigError(f"plugin {point.name!r} ({whose}, {point.value}) of nashbed.{group} {why}")
