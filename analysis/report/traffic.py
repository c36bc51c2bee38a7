"""The page's sections on harm, changes of the path, transfers and media."""

from __future__ import annotations

from collections.abc import Iterator

from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.units import NS_PER_S

from ..measures import Cell, RunMeasures
from ..metrics import metric_named
from ..metrics.statistics import Estimate
from ..results.changes import Response, responses_of_run
from ..results.harm import YARDSTICKS, Harm, harm_of_run, yardsticks
from ..results.transfers import ClassOfTransfers, transfers_of_run
from ..state import state_text
from ..text import NONE, number, shown, with_interval

INTERVALS = (
    "Means over trials, ± half the width of the 95 % interval where n > 2; of two both values."
)


def traffic_sections(measures: RunMeasures) -> list[JsonObject]:
    """A section with a table for each of these that the run has."""
    made = (_harm(measures), _changes(measures), _transfers(measures), _media(measures))
    return [section for section in made if section["rows"]]


def _harm(measures: RunMeasures) -> JsonObject:
    found = harm_of_run(measures)
    return {
        "id": "harm",
        "title": "Harm",
        "words": ["Setting", "Metric of the victim", "Beside"],
        "columns": ["Alone", "Beside them", "Harm", "Than by its own kind", "Than by CUBIC",
                    "Than by Reno"],
        "rows": [_harm_row(each, found) for each in found],
        "note": "Harm by Ware et al. (HotNets 2019): (alone - beside) / alone where more is "
        "better, (beside - alone) / beside where less is better. 0: none; 1: all of it; below 0: "
        "a benefit. Each repetition is held against the same repetition alone. More, less than by "
        f"others: the 95 % intervals do not touch; else as much. {INTERVALS}",
    }  # fmt: skip


def _harm_row(harm: Harm, found: list[Harm]) -> JsonObject:
    held = yardsticks(harm, found)
    against = [held.get(name) for name in (harm.victim, *YARDSTICKS)]
    metric = metric_named(harm.metric)
    unit = DISPLAY[metric.unit][1]
    return {
        "setting": harm.setting.label,
        "words": [f"{metric.title}{f' ({unit})' if unit else ''}", harm.by],
        "values": [
            _value(harm.alone.scaled(shown(1, metric.unit))),
            _value(harm.beside.scaled(shown(1, metric.unit))),
            _value(harm.harm),
            *((_verdict(harm, other), "") for other in against),
        ],
    }


def _verdict(harm: Harm, other: Harm | None) -> str:
    return NONE if other is None or other is harm else harm.against(other) or NONE


def _changes(measures: RunMeasures) -> JsonObject:
    return {
        "id": "changes",
        "title": "After changes of the path",
        "words": ["Setting", "Mix", "Change", "What"],
        "columns": ["Time (s)", "Trials in which it came", "Time to the next change (s)"],
        "rows": [_change_row(measures, each) for each in responses_of_run(measures)],
        "note": "Converged: from then on throughput, in windows of a tenth of the time to the next "
        "change, stays within 10 % of its mean in the second half of that time. Capacity used: the "
        "first window of ten base RTTs in which 90 % of what the link can carry left the queue. "
        "Means over the trials in which it came, ± half the width of the 95 % interval.",
    }  # fmt: skip


def _change_row(measures: RunMeasures, each: Response) -> JsonObject:
    of = each.strategy or ""
    if each.group is not None and len(measures.run.scenario.flows) > 1:
        of += f" of {each.group}"
    what = "new capacity used" if each.strategy is None else f"{of} converged"
    when = f"{number(each.change.at_ns / NS_PER_S)} s: {each.change.text}"
    return {
        "setting": each.setting.label,
        "words": [state_text(each.state, measures.strategies, measures.group_names), when, what],
        "values": [
            _value(each.time_s),
            (f"{each.known} of {each.trials}", ""),
            (number(each.length_ns / NS_PER_S), ""),
        ],
    }


def _transfers(measures: RunMeasures) -> JsonObject:
    return {
        "id": "transfers",
        "title": "Transfers",
        "words": ["Setting", "Mix", "Transfers of", "Size"],
        "columns": ["Transfers", "Not completed", "Time, mean (ms)", "median", "99th percentile",
                    "Slowdown, median", "95th percentile", "99th percentile"],
        "rows": [_transfer_row(measures, each) for each in transfers_of_run(measures)],
        "note": "Of transfers that arrived in the measured windows, their last tenth excepted, "
        "from the planned arrival to the last byte at the sink. Slowdown: by the time that the "
        "transfer would have alone on its path. A percentile among transfers that were not "
        f"completed is not known; means are of those that were. {INTERVALS}",
    }  # fmt: skip


def _transfer_row(measures: RunMeasures, each: ClassOfTransfers) -> JsonObject:
    mix = state_text(each.state, measures.strategies, measures.group_names)
    times = [each.readings[f"{name}_s"] for name in ("mean", "median", "p99")]
    slow = [each.readings[f"{name}_slowdown"] for name in ("median", "p95", "p99")]
    return {
        "setting": each.setting.label,
        "words": [mix, f"{each.group} ({each.strategy})", each.sizes],
        "values": [
            (str(each.transfers), ""),
            (str(each.unfinished), ""),
            *(_value(None if time is None else time.scaled(1e3)) for time in times),
            *map(_value, slow),
        ],
    }


MEDIA = (
    ("one_way_delay", 1e3),
    ("median_one_way_delay", 1e3),
    ("p95_one_way_delay", 1e3),
    ("p99_one_way_delay", 1e3),
    ("datagram_loss_rate", 100.0),
)
"""Metrics of media, and from their unit to that of the table."""


def _media(measures: RunMeasures) -> JsonObject:
    return {
        "id": "media",
        "title": "Media",
        "words": ["Setting", "Mix", "Flows of"],
        "columns": ["One-way delay, mean (ms)", "median", "95th percentile", "99th percentile",
                    "Lost (%)"],
        "rows": [
            row
            for setting in measures.run.settings
            for cell in measures.cells(setting)
            for row in _media_rows(measures, cell)
        ],
        "note": "Of datagrams that were sent in the measured windows: delays of those that "
        f"arrived, and the share that did not. Mean over the flows of a group. {INTERVALS}",
    }  # fmt: skip


def _media_rows(measures: RunMeasures, cell: Cell) -> Iterator[JsonObject]:
    for index, group in enumerate(measures.run.scenario.flows):
        found = [(cell.estimate(name, group=index), factor) for name, factor in MEDIA]
        if all(each is None for each, _ in found):
            continue
        mix = state_text(cell.state, measures.strategies, measures.group_names)
        yield {
            "setting": cell.setting.label,
            "words": [mix, group.name],
            "values": [_value(None if e is None else e.scaled(factor)) for e, factor in found],
        }


def _value(estimate: Estimate | None) -> tuple[str, str]:
    return (NONE, "") if estimate is None else with_interval(estimate)
