"""Results beyond mixes and equilibria as frames: harm, changes, transfers, media, gates, bounds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

import polars as pl
from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.units import NS_PER_S
from nashbed.controlplane.store.errors import RunError

from ..frame import MILLISECONDS, PERCENT, PLAIN, SECONDS, Column, Frame
from ..measures import Cell, RunMeasures
from ..metrics import METRICS, metric_named
from ..state import mix_state, state_text
from .changes import responses_of_run
from .harm import YARDSTICKS, harm_of_run, yardsticks
from .summary import RunSummary
from .transfers import READINGS, transfers_of_run

INTERVALS = (
    "Means over trials, ± half the width of the 95 % interval where n > 2; of two both values."
)
SETTING = Column("setting", "label of the setting", "Setting")
MIX = Column("mix", "the mix, in words", "Mix")
GROUP = Column("group", "the flow group", "Group")
METRIC = Column("metric", "the metric", "Metric", form=lambda name: metric_named(name).title)


def _interval(name: str) -> dict[str, str]:
    return {"half_width": name}


def _harm(summary: RunSummary) -> Iterator[JsonObject]:
    found = harm_of_run(summary.measures)
    for each in found:
        held = yardsticks(each, found)
        others = {"own": held.get(each.victim)} | {name: held.get(name) for name in YARDSTICKS}
        yield vars(each) | {
            "setting": each.setting.label,
            "unit": metric_named(each.metric).unit,
            **{
                f"against_{name}": None if other in (None, each) else each.against(other)
                for name, other in others.items()
            },
        }


HARM = Frame(
    "harm",
    "Harm",
    "setting, metric of the victim, and strategy beside it",
    (
        SETTING,
        Column("victim", "the victim: a strategy, or a flow group"),
        Column("by", "the strategy of the flows beside it", "Beside"),
        METRIC,
        Column("unit", "unit of the next two", "Unit", form=lambda unit: DISPLAY[unit][1]),
        Column("alone", "the victim's metric alone", "Alone", "unit"),
        Column("beside", "the same beside them", "Beside them", "unit"),
        Column("harm", "the harm: its mean over the trials", "Harm", PLAIN,
               parts={"n": "n", **_interval("ci95")}),
        Column("against_own", "whether it is `less`, `as much` or `more` than what the victim's "
               "own kind does; null: not known", "Than by its own kind", PLAIN),
        Column("against_cubic", "likewise, than what CUBIC does", "Than by CUBIC", PLAIN),
        Column("against_reno", "likewise, than what Reno does", "Than by Reno", PLAIN),
    ),
    _harm,
    "Harm by Ware et al. (HotNets 2019): (alone - beside) / alone where more is better, (beside - "
    "alone) / beside where less is better. 0: none; 1: all of it; below 0: a benefit. Each "
    "repetition is held against the same repetition alone. More, less than by others: the 95 % "
    f"intervals do not touch; else as much. {INTERVALS}",
    "harm takes a victim alone and beside others; write `sweep: {mixes: {harm_to: cubic}}` into "
    "the scenario",
)  # fmt: skip


def _changes(summary: RunSummary) -> Iterator[JsonObject]:
    for each in responses_of_run(summary.measures):
        yield vars(each) | {
            "setting": each.setting.label,
            "mix": _mix(summary.measures, each.state),
            "change": each.number,
            "at_s": each.change.at_ns / NS_PER_S,
            "what": each.change.text,
            "until_next_s": each.length_ns / NS_PER_S,
        }


CHANGES = Frame(
    "changes",
    "After changes of the path",
    "setting, mix, change within the measured window, and flows that converge",
    (
        SETTING,
        MIX,
        Column("change", "number of the change, from 0"),
        Column("at_s", "when it comes", "At", SECONDS),
        Column("what", "what changes", "Change"),
        Column("until_next_s", "time to the next change", "Until the next", SECONDS),
        GROUP,
        Column("strategy", "whose flows converge; null: new capacity is used", "Strategy"),
        METRIC,
        Column("time_s", "mean over the trials in which it came", "Time", SECONDS,
               parts=_interval("ci95")),
        Column("trials", "trials", "Trials", PLAIN),
        Column("known", "trials in which it came", "In which it came", PLAIN),
    ),
    _changes,
    "Converged: from then on throughput, in windows of a tenth of the time to the next change, "
    "stays within 10 % of its mean in the second half of that time. Capacity used: the first "
    "window of ten base RTTs in which 90 % of what the link can carry left the queue. Means over "
    "the trials in which it came, ± half the width of the 95 % interval.",
    "no path changes within the measured window; write `bottleneck: {changes: [{at: 30s, rate: "
    "10mbit}]}`",
)  # fmt: skip


def _transfers(summary: RunSummary) -> Iterator[JsonObject]:
    for each in transfers_of_run(summary.measures):
        mix = _mix(summary.measures, each.state)
        yield vars(each) | {"setting": each.setting.label, "mix": mix, **each.readings}


_ON_PAGE = {"mean_s": "Time, mean", "median_s": "median", "p99_s": "99th percentile",
            "median_slowdown": "Slowdown, median", "p95_slowdown": "95th percentile",
            "p99_slowdown": "99th percentile"}  # fmt: skip
TRANSFERS = Frame(
    "completions",
    "Transfers",
    "setting, mix, flow group, strategy and size class of transfers",
    (
        SETTING,
        MIX,
        GROUP,
        Column("strategy", "their strategy", "Strategy"),
        Column("sizes", "the size class", "Size"),
        Column("transfers", "how many arrived", "Transfers", PLAIN),
        Column("unfinished", "how many were not completed", "Not completed", PLAIN),
        *(
            Column(name, f"{name.rsplit('_', 1)[0]} of the "
                   + ("completion time" if name.endswith("_s") else "slowdown")
                   + "; null: not known",
                   _ON_PAGE.get(name, ""), MILLISECONDS if name.endswith("_s") else PLAIN,
                   parts=_interval(f"{name}_ci95"))
            for name in READINGS
        ),
    ),
    _transfers,
    "Of transfers that arrived in the measured windows, their last tenth excepted, from the "
    "planned arrival to the last byte at the sink. Slowdown: by the time that the transfer would "
    "have alone on its path. A percentile among transfers that were not completed is not known; "
    f"means are of those that were. {INTERVALS}",
    "no flow group has finite transfers; write `arrivals` and `size`",
)  # fmt: skip
_MEDIA = {"one_way_delay": "One-way delay, mean", "median_one_way_delay": "median",
          "p95_one_way_delay": "95th percentile", "p99_one_way_delay": "99th percentile",
          "datagram_loss_rate": "Lost"}  # fmt: skip


def _media(summary: RunSummary) -> Iterator[JsonObject]:
    measures = summary.measures
    for setting in measures.run.settings:
        for cell in measures.cells(setting):
            yield from _media_of(measures, cell)


def _media_of(measures: RunMeasures, cell: Cell) -> Iterator[JsonObject]:
    for index, group in enumerate(measures.run.scenario.flows):
        found = {name: cell.estimate(name, group=index) for name in _MEDIA}
        if any(found.values()):
            mix = _mix(measures, cell.state)
            yield {"setting": cell.setting.label, "mix": mix, "group": group.name, **found}


MEDIA = Frame(
    "media",
    "Media",
    "setting, mix and flow group that sends datagrams",
    (
        SETTING,
        MIX,
        GROUP,
        *(
            Column(name, "mean over the group's flows", title,
                   MILLISECONDS if METRICS[name].unit == "s" else PERCENT,
                   parts=_interval(f"{name}_ci95"))
            for name, title in _MEDIA.items()
        ),
    ),
    _media,
    "Of datagrams that were sent in the measured windows: delays of those that arrived, and the "
    f"share that did not. Mean over the flows of a group. {INTERVALS}",
    "no flow group sends datagrams; write `udp`",
)  # fmt: skip


def _gates(summary: RunSummary) -> Iterator[JsonObject]:
    measures = summary.measures
    for trial in measures.run.trials:
        mix = _mix(measures, mix_state(trial.record.mix, measures.strategies))
        for gate in trial.record.gates:
            yield vars(gate) | {"setting": trial.setting.label, "mix": mix, "trial": trial.id}


GATES = Frame(
    "gates",
    "Validity gates",
    "sealed trial and gate",
    (
        SETTING,
        MIX,
        Column("trial", "the trial", "Trial"),
        Column("name", "the gate", "Gate"),
        Column(
            "passed", "whether the trial passes it", "Passed", form=lambda x: "yes" if x else "NO"
        ),
        Column("value", "what was measured; null: not measurable", "Value", PLAIN),
        Column("limit", "the bound", "Limit", PLAIN),
        Column("unit", "unit of both", "Unit"),
        Column("detail", "one line for a person"),
    ),
    _gates,
)  # fmt: skip


def _bounds(summary: RunSummary) -> Iterator[JsonObject]:
    return (vars(each) for each in summary.acceptance)


BOUNDS = Frame(
    "bounds",
    "Acceptance",
    "acceptance bound and setting",
    (
        SETTING,
        Column("metric", "the bound's metric"),
        Column("description", "what is held to what", "What"),
        Column("value", "what was measured; null: it was not", "Value", PLAIN),
        Column("low", "smallest allowed value; null: no bound", "Least", PLAIN),
        Column("high", "largest allowed value; null: no bound", "Most", PLAIN),
        Column("unit", "unit of the three", "Unit"),
        Column("verdict", "`met`, `missed` or `undecided`", "Verdict"),
        Column("detail", "where the value comes from, or why there is none"),
    ),
    _bounds,
    lacking="the scenario has no `acceptance`",
)

ON_PAGE = (HARM, CHANGES, TRANSFERS, MEDIA)
"""Those with a section of the report where a run has any, in its order."""
FRAMES = {frame.name: frame for frame in (*ON_PAGE, GATES, BOUNDS)}
"""Those that are exported when they are asked for."""


def made_table(summary: RunSummary, name: str) -> pl.DataFrame:
    """One of FRAMES of a run, in base units.

    Raises:
        RunError: There is no such frame, or the run has none of it.
    """
    table = _frame(name).table(summary)
    return table if table.width else _refuse(summary, name)


def made_section(summary: RunSummary, name: str) -> JsonObject:
    """The same as a page shows it."""
    section = _frame(name).section(summary)
    return section if section["rows"] else _refuse(summary, name)


def _frame(name: str) -> Frame[RunSummary]:
    if name not in FRAMES:
        raise RunError(f"there is no table {name!r}; there are {', '.join(FRAMES)}")
    return FRAMES[name]


def _refuse(summary: RunSummary, name: str) -> NoReturn:
    raise RunError(f"{summary.measures.run.path}: {FRAMES[name].lacking}")


def _mix(measures: RunMeasures, state: tuple[tuple[int, ...], ...]) -> str:
    return state_text(state, measures.strategies, measures.group_names)
