"""The page's section on who shares the queue's memory."""

from nashbed.controlplane.contract.model import JsonObject

from ..measures import RunMeasures
from ..sharing.of_run import READINGS, MixSharing, RunSharing
from ..state import state_text
from ..text import number, with_interval


def sharing_context(measures: RunMeasures, run: RunSharing) -> JsonObject | None:
    """Everything the section shows; None without a drop, and without several queues."""
    blame = [_blame(measures, mix) for mix in run.mixes if _tells(mix)]
    several = [mix for mix in run.mixes if len(mix.queues) > 1]
    if not blame and not several:
        return None
    columns = [name for name in READINGS if any(_has(mix, name) for mix in several)]
    return {
        "blame": blame,
        "queues": {
            "words": ["Setting", "Mix", "Queue"],
            "columns": [f"{READINGS[name][0]} ({READINGS[name][1]})" for name in columns],
            "rows": [row for mix in several for row in _queues(measures, mix, columns)],
        },
        "unexplained": sum(trial.blame.unexplained for trial in run.trials),
    }


def _tells(mix: MixSharing) -> bool:
    """Whether it says more than that flows of one kind lost to themselves."""
    return len(mix.classes) > 1 and bool(mix.blamed_bytes.any())


def _has(mix: MixSharing, name: str) -> bool:
    return any(mix.reading(name, queue) is not None for queue in range(len(mix.queues)))


def _named(measures: RunMeasures, mix: MixSharing) -> JsonObject:
    text = state_text(mix.state, measures.strategies, measures.group_names)
    return {"setting": mix.setting.label, "mix": text}


def _blame(measures: RunMeasures, mix: MixSharing) -> JsonObject:
    """Who lost how much, and who held the queue meanwhile."""
    names = [mix.class_text(index) for index in range(len(mix.classes))]
    total = mix.blamed_bytes.sum()
    rows = [
        {
            "name": names[row],
            "dropped": number(100 * mix.blamed_bytes[row].sum() / total),
            "held": [number(100 * share) for share in shares],
        }
        for row, shares in enumerate(mix.blame)
    ]
    reasons = mix.dropped_by_reason()
    return {
        **_named(measures, mix),
        "names": names,
        "rows": rows,
        "reasons": ", ".join(f"{n} {r.replace('_', ' ')}" for r, n in reasons.items()),
    }


def _queues(measures: RunMeasures, mix: MixSharing, columns: list[str]) -> list[JsonObject]:
    named = _named(measures, mix)
    return [
        {
            "setting": named["setting"],
            "words": [named["mix"], name],
            "values": [with_interval(mix.reading(column, queue)) for column in columns],
        }
        for queue, name in enumerate(mix.queues)
    ]
