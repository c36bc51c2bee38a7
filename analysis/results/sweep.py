"""A run's settings along what was swept: lines against one thing, grids."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from nashbed.controlplane.contract.course import start_label
from nashbed.controlplane.contract.disciplines import file_label
from nashbed.controlplane.contract.queues import COMPLETE_SHARING
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import NS_PER_S, Duration

from ..measures import Cell, RunMeasures
from ..state import State, strategy_totals
from ..text import conditions_text, duration_text, rate_text

Axis = Literal["buffer", "random_loss", "duration", "flows"]
AXES: tuple[Axis, ...] = get_args(Axis)
LEAST_POINTS = 3
"""Settings that make a line worth a figure."""


@dataclass(frozen=True)
class SweepSeries:
    """Settings that differ in one thing alone, in its order."""

    axis: Axis
    settings: tuple[Setting, ...]

    @property
    def shared(self) -> Setting:
        """The first setting, without the length or the number of flows where they differ in it."""
        first, of = self.settings[0], {"duration": "duration_ns", "flows": "flow_counts"}
        return first.model_copy(update={of[self.axis]: None}) if self.axis in of else first

    @property
    def label(self) -> str:
        """What they share, as a part of file names."""
        first = self.shared
        rtts = "-".join(duration_text(ns) for ns in sorted(set(first.base_rtt_ns)))
        name = f"{rate_text(first.rate_bps)}-{rtts}".replace(" ", "").replace("/", "p")
        several = first.discipline is not None or first.queues is not None
        name += f"-{first.queue_label}" if several else ""
        name += f"-{file_label(first.swept_text)}" if first.swept else ""
        name += f"-v{first.kernel}" if first.kernel else ""
        name += f"-{start_label(first.start)}" if first.start is not None else ""
        name += f"-n{'-'.join(map(str, first.flow_counts))}" if first.flow_counts else ""
        name += f"-d{Duration(first.duration_ns)}" if first.duration_ns else ""
        return name.replace("Mbitps", "mbit").replace("Gbitps", "gbit")

    @property
    def title(self) -> str:
        """What they share, in words."""
        first = self.shared
        rtts = "/".join(duration_text(ns) for ns in sorted(set(first.base_rtt_ns)))
        return f"{rate_text(first.rate_bps)}, {rtts}{conditions_text(first)}"


def lines(settings: Sequence[Setting]) -> list[SweepSeries]:
    """Every line of at least three settings, against the buffer first.

    One against the number of flows is of the first flow group's.
    """
    result: list[SweepSeries] = []
    for axis in AXES:
        groups: dict[object, list[Setting]] = {}
        for setting in settings:
            groups.setdefault(_rest(setting, axis), []).append(setting)
        for group in groups.values():
            ordered = sorted(group, key=lambda s: _place(s, axis))
            if len({_place(s, axis) for s in ordered}) >= LEAST_POINTS:
                result.append(SweepSeries(axis, tuple(ordered)))
    return result


def settings_by_kernel(settings: Sequence[Setting]) -> list[tuple[Setting, ...]]:
    """Groups of at least two settings that differ in their guest kernel alone, in their order."""
    groups: dict[object, list[Setting]] = {}
    for setting in settings:
        key = _rest(without_kernel(setting), "buffer"), setting.buffer_bytes
        groups.setdefault(key, []).append(setting)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def lines_by_kernel(settings: Sequence[Setting]) -> list[tuple[SweepSeries, ...]]:
    """Groups of at least two lines that differ in their guest kernel alone, in the run's order."""
    groups: dict[object, list[SweepSeries]] = {}
    for line in lines(settings):
        key = _rest(without_kernel(line.settings[0]), line.axis)
        groups.setdefault(key, []).append(line)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def settings_by_discipline(settings: Sequence[Setting]) -> list[tuple[Setting, ...]]:
    """Groups of settings that differ in queue or queues and buffer alone, two of each at least."""
    groups: dict[object, list[Setting]] = {}
    for setting in settings:
        without = setting.model_copy(update={"discipline": None, "queues": None})
        groups.setdefault(_rest(without, "buffer"), []).append(setting)
    return [
        tuple(group)
        for group in groups.values()
        if len({s.queue_label for s in group}) > 1 and len({s.buffer_bytes for s in group}) > 1
    ]


def beside_disciplines(settings: Sequence[Setting]) -> list[tuple[Setting, ...]]:
    """Groups of settings that differ in their queue's discipline alone, in the run's order."""
    return _groups((setting, _rest_of(setting, {"discipline": None})) for setting in settings)


def beside_memories(settings: Sequence[Setting]) -> list[tuple[Setting, ...]]:
    """Groups of settings that differ in how several queues share the memory alone.

    Dynamic thresholds come first, by their alpha, then the others in the run's order.
    """

    def alpha(setting: Setting) -> float:
        alpha = None if setting.queues is None else setting.queues.memory.alpha
        return math.inf if alpha is None else alpha

    groups = _groups(
        (
            setting,
            _rest_of(
                setting, {"queues": setting.queues.model_copy(update={"memory": COMPLETE_SHARING})}
            ),
        )
        for setting in settings
        if setting.queues is not None
    )
    return [tuple(sorted(group, key=alpha)) for group in groups]


def _groups(keyed: Iterable[tuple[Setting, str]]) -> list[tuple[Setting, ...]]:
    """At least two settings of one key, in their order."""
    groups: dict[str, list[Setting]] = {}
    for setting, key in keyed:
        groups.setdefault(key, []).append(setting)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def _rest_of(setting: Setting, same: dict[str, object]) -> str:
    """All that a setting is, but for its label and what is taken as the same."""
    return setting.model_copy(update={"label": "", **same}).model_dump_json()


def without_kernel(setting: Setting) -> Setting:
    """What settings that differ in their guest kernel alone share."""
    return setting.model_copy(update={"kernel": ""})


def _place(setting: Setting, axis: Axis) -> int:
    return {
        "buffer": setting.buffer_bytes,
        "random_loss": setting.random_loss_ppb or 0,
        "duration": setting.duration_ns or 0,
        "flows": (setting.flow_counts or (0,))[0],
    }[axis]


def _rest(setting: Setting, axis: Axis) -> object:
    """Everything of a setting but the axis."""
    others = tuple(_place(setting, each) for each in AXES if each != axis)
    start = None if setting.start is None else start_label(setting.start)
    same = setting.queue_label, setting.kernel, start, setting.rate_bps, setting.base_rtt_ns
    return axis, same, setting.swept_text, others, (setting.flow_counts or ())[1:]


def place_of(setting: Setting, axis: str) -> float:
    """Where a setting lies on an axis of a figure or of a published series.

    Args:
        axis: `buffer_bdp`, `buffer_mb` (1 MB = 10^6 bytes), `random_loss` (per cent), `duration`
            (s) or `flows` (of the first group).
    """
    if axis == "buffer_bdp":
        return setting.buffer_bdp
    if axis == "buffer_mb":
        return setting.buffer_bytes / 1e6
    if axis == "random_loss":
        return (setting.random_loss_ppb or 0) / 1e7
    if axis == "duration":
        return (setting.duration_ns or 0) / NS_PER_S
    return (setting.flow_counts or (0,))[0]


def mixed_states(measures: RunMeasures, line: SweepSeries) -> list[State]:
    """The mixes of a line in which every strategy has a flow, that have trials somewhere."""
    states: dict[State, None] = {}
    for setting in line.settings:
        for cell in measures.cells(setting):
            if cell.trials and min(strategy_totals(cell.state)) > 0:
                states[cell.state] = None
    return list(states)


def pure_cell(measures: RunMeasures, setting: Setting, strategy: str) -> Cell | None:
    """The mix in which every flow runs a strategy; None if it has no trial."""
    index = measures.strategies.index(strategy)
    for cell in measures.cells(setting):
        totals = strategy_totals(cell.state)
        if cell.trials and totals[index] == sum(totals):
            return cell
    return None


def cell_of(measures: RunMeasures, setting: Setting, state: State) -> Cell | None:
    """The cell of a mix at a setting; None if it has no trial."""
    return next((c for c in measures.cells(setting) if c.state == state and c.trials), None)
