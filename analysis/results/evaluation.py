"""A congestion control evaluated by a battery: each criterion's readings, against references.

What is read of the control is read of each reference in its place: in the same mixes, of the same
seeds. So the difference of two controls is a mean over pairs of trials.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl
from nashbed.controlplane.contract.battery import Battery, BatteryReading, Criterion
from nashbed.controlplane.contract.bounds import BOUNDED
from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.units import counted

from ..frame import PLAIN, Column, Frame
from ..measures import RunMeasures
from ..metrics.metric import possible_values
from ..metrics.statistics import Estimate, estimate
from ..nash.sentence import answers
from .bounds import Where, matches, values_of, words
from .fairness import fairness_lines, switch_line
from .summary import RunSummary

NOT_MEASURED = "not measured: "
MET, MISSED, UNDECIDED = "met", "missed", "undecided"


@dataclass(frozen=True)
class Evaluated:
    """What a battery found of a control.

    Attributes:
        harm: Sentences: what the control does to a deployed one.
        games: Sentences: would flows switch, and where does it end?
        rows: One for each criterion, setting and reading, as ROWS has them.
        ran: Scenario -> its run directory's name.
    """

    battery: Battery
    control: str
    size: str
    harm: tuple[str, ...]
    games: tuple[str, ...]
    rows: tuple[JsonObject, ...]
    ran: Mapping[str, str]

    @property
    def missed(self) -> tuple[JsonObject, ...]:
        """The rows in which a trial is beyond the limits, or could not be held to them."""
        return tuple(row for row in self.rows if row["verdict"] not in {"", MET})

    @property
    def held(self) -> str:
        """How many criteria have limits, and how many of these are met, in words."""
        limited = {(row["section"], row["name"]) for row in self.rows if row["verdict"]}
        missed = {(row["section"], row["name"]) for row in self.missed}
        return f"{len(limited - missed)} of {len(limited)} test cases are met"

    @property
    def looked_at_twice(self) -> tuple[JsonObject, ...]:
        """The rows in which it is worse than every reference."""
        return tuple(row for row in self.rows if row["twice"])

    @cached_property
    def table(self) -> pl.DataFrame:
        """The rows in base units, as they are exported."""
        return rows_frame(self).table(self)

    @property
    def answer(self) -> JsonObject:
        """All that was found, in base units."""
        return {
            "battery": self.battery.name,
            "subject": self.battery.subject,
            "references": list(self.battery.references),
            "control": self.control,
            "size": self.size,
            "harm": list(self.harm),
            "games": list(self.games),
            "criteria": [
                row | {"values": measured["values"]}
                for row, measured in zip(self.table.to_dicts(), self.rows, strict=True)
            ],
            "runs": dict(self.ran),
        }


class Evaluation:
    """Takes what was found of a control, scenario by scenario.

    Args:
        battery: The battery.
        control: The control's name.
        size: How long it is.
    """

    def __init__(self, battery: Battery, control: str, size: str) -> None:
        self._battery, self._control, self._size = battery, control, size
        self._harm: list[str] = []
        self._games: list[str] = []
        self._rows: dict[int, list[JsonObject]] = {}
        self._ran: dict[str, str] = {}

    def measured(self, scenario: str, summary: RunSummary) -> None:
        """Take the run of a scenario."""
        measures = summary.measures
        self._ran[scenario] = measures.run.path.name
        if scenario == self._battery.harm:
            self._harm += _harm_lines(measures, self._control)
        if scenario in self._battery.games:
            self._games += _game_lines(summary)
        for number, criterion in enumerate(self._battery.criteria):
            if criterion.scenario == scenario:
                self._rows[number] = list(self._read(criterion, summary))

    def not_measured(self, scenario: str, reason: str) -> None:
        """Take what kept a scenario from being run, or measured."""
        if scenario == self._battery.harm:
            self._harm.append(NOT_MEASURED + reason)
        if scenario in self._battery.games:
            self._games.append(f"{scenario}: {NOT_MEASURED}{reason}")
        for number, criterion in enumerate(self._battery.criteria):
            if criterion.scenario == scenario:
                self._rows[number] = [_empty(criterion, NOT_MEASURED + reason)]

    def end(self) -> Evaluated:
        """All that was taken, in the order of the criteria."""
        rows: list[JsonObject] = []
        for number, criterion in enumerate(self._battery.criteria):
            reason = criterion.not_measured or "it did not run"
            rows += self._rows.get(number) or [_empty(criterion, NOT_MEASURED + reason)]
        return Evaluated(
            self._battery, self._control, self._size,
            tuple(self._harm), tuple(self._games), tuple(rows), self._ran,
        )  # fmt: skip

    def _read(self, criterion: Criterion, summary: RunSummary) -> Iterator[JsonObject]:
        by_label = {each.setting.label: each for each in summary.equilibria}
        for setting in summary.measures.run.settings:
            where = Where(summary.measures, setting, by_label[setting.label])
            for reading in criterion.reads:
                if matches(reading, setting):
                    yield self._row(criterion, reading, where)

    def _row(self, criterion: Criterion, reading: BatteryReading, where: Where) -> JsonObject:
        names = (self._control, *self._battery.references)
        by_name = {name: self._values(reading, name, where) for name in names}
        possible = possible_values(BOUNDED[reading.metric].unit)
        found = {name: estimate(list(by_name[name].values()), possible=possible) for name in names}
        note = _note(len(by_name[self._control]), where)
        row = _empty(criterion, note) | {
            "setting": where.setting.label,
            "what": words(self._placed(reading, self._control)),
            "reading": words(reading),
            "better": reading.better,
            "unit": BOUNDED[reading.metric].unit,
            "value": found[self._control],
            "values": by_name[self._control],
            **_held(reading, list(by_name[self._control].values()), where),
        }
        worse = []
        for name in self._battery.references:
            difference = paired(by_name[self._control], by_name[name])
            row[name], row[f"less_{name}"] = found[name], difference
            worse += [is_worse(difference, reading.better)] if name != self._control else []
        return row | {"twice": bool(worse) and all(worse)}

    def _values(self, reading: BatteryReading, name: str, where: Where) -> dict[int, float]:
        """Repetition -> what is read of a control in the place of the one that is evaluated."""
        placed = self._placed(reading, name)
        return {
            number: value
            for cell in where.cells(placed)
            for number, value in values_of(cell, placed, where).items()
        }

    def _placed(self, reading: BatteryReading, name: str) -> BatteryReading:
        return BatteryReading.model_validate(
            placed(reading.model_dump(exclude_none=True), self._battery.subject, name)
        )


def placed(data: Any, subject: str, name: str) -> Any:
    """What is written of one strategy, of another: the words that are its name, wherever they are.

    Flows of one that stands twice in a mix then are counted together; in a list it stands once.
    """
    if isinstance(data, Mapping):
        changed: JsonObject = {}
        for key, value in data.items():
            new = name if key == subject else key
            counted = new in changed and isinstance(value, int)
            changed[new] = changed[new] + value if counted else placed(value, subject, name)
        return changed
    if isinstance(data, list | tuple):
        changed_list = [placed(each, subject, name) for each in data]
        return [each for i, each in enumerate(changed_list) if each not in changed_list[:i]]
    return name if data == subject else data


def _note(valid: int, where: Where) -> str:
    """What to know of a reading: trials that are missing, or had not settled."""
    wanted = where.measures.run.scenario.trials
    unsettled = sum(cell.unsettled for cell in where.measures.cells(where.setting))
    notes = []
    if valid < wanted:
        why = _last_failure(where) or "the run says why"
        notes.append(f"{valid} of {wanted} trials valid: {why}" if valid else
                     f"{NOT_MEASURED}no valid trial has it: {why}")  # fmt: skip
    if unsettled:
        notes.append(f"{counted(unsettled, 'trial')} of the setting not settled")
    return "; ".join(notes)


def _last_failure(where: Where) -> str:
    """What the guest or the host said when it last ended a trial of the setting; empty: none."""
    trials = f"{where.setting.label}-k"
    reasons = (f.reason for f in where.measures.run.failures if f.trial.startswith(trials))
    return ["", *reasons][-1]


def _held(reading: BatteryReading, values: Sequence[float], where: Where) -> JsonObject:
    """How the trials stand to a reading's limits: the worst of them decides."""
    if not reading.limited:
        return {"verdict": ""}
    low, high = reading.limits
    known = [value for value in values if math.isfinite(value)]
    within = [v for v in known if (low is None or v >= low) and (high is None or v <= high)]
    complete = len(values) == where.measures.run.scenario.trials
    verdict = MISSED if len(within) < len(values) else MET if complete else UNDECIDED
    return {
        "low": low,
        "high": high,
        "least": min(known, default=None),
        "most": max(known, default=None),
        "within": len(within),
        "verdict": verdict,
    }


def _harm_lines(measures: RunMeasures, control: str) -> list[str]:
    """What the control does to a deployed one; a deployed control is its own yardstick."""
    return fairness_lines(measures) or [
        f"{control} is deployed: others are held against what it does to its own kind"
    ]


def _game_lines(summary: RunSummary) -> Iterator[str]:
    """For each setting whether one flow would switch, and where switching ends."""
    by_label = {each.setting.label: each for each in summary.equilibria}
    for setting in summary.measures.run.settings:
        one = switch_line(summary.measures, setting)
        for answer in answers(by_label[setting.label]):
            sure = f" ({answer.sure})" if answer.sure else ""
            yield "; ".join(part for part in (one, f"{answer.text}{sure}") if part)


def paired(own: Mapping[Any, float], other: Mapping[Any, float]) -> Estimate | None:
    """The difference of two controls over the repetitions that both have."""
    return estimate([own[number] - other[number] for number in own if number in other])


def is_worse(difference: Estimate | None, better: str | None) -> bool:
    """Whether a difference to a reference surely is one for the worse."""
    if difference is None or difference.ci95 is None or better is None:
        return False
    for_the_worse = -difference.mean if better == "more" else difference.mean
    return for_the_worse > difference.ci95


def _empty(criterion: Criterion, note: str) -> JsonObject:
    own = criterion.model_dump(include={"section", "name", "level", "asks", "scenario"})
    verdict = UNDECIDED if any(reading.limited for reading in criterion.reads) else ""
    return own | {"note": note, "setting": "", "what": "", "reading": "", "better": None,
                  "unit": "1", "value": None, "values": {},
                  "low": None, "high": None, "least": None, "most": None, "within": None,
                  "verdict": verdict, "twice": False}  # fmt: skip


def rows_frame(evaluated: Evaluated) -> Frame[Evaluated]:
    """The readings as a table."""
    references, limited = evaluated.battery.references, evaluated.battery.limited
    compared = (
        *(Column(name, f"mean of {name} in its place", name, "unit",
                 parts={"ci95": f"{name}_ci95"}) for name in references),
        *(Column(f"less_{name}", f"mean difference to {name}, by repetition", f"Less {name}",
                 "unit", parts={"ci95": f"less_{name}_ci95"}) for name in references),
        Column("twice", "whether it is worse than every reference, by the 95 % intervals of the "
               "differences", "Look twice", kind=pl.Boolean,
               form=lambda twice: "yes" if twice else ""),
    )  # fmt: skip
    held = (
        Column("least", "of the trials", "Least", "unit"),
        Column("most", "of the trials", "Most", "unit"),
        Column("low", "smallest value that a trial may have", "At least", "unit"),
        Column("high", "largest value that a trial may have", "At most", "unit"),
        Column("within", "number of trials within the limits", "Within", PLAIN, kind=pl.Int64),
        Column("verdict", "`met`, `missed`, or `undecided` as trials are missing", "Verdict"),
    )
    return Frame(
        "criteria",
        evaluated.battery.title,
        "criterion, setting and reading",
        (
            Column("section", "section of the standard", "Section"),
            Column("name", "the criterion", "Criterion"),
            Column("level", "how much it is asked for", "Level"),
            Column("asks", "what is asked"),
            Column("scenario", "the scenario that was run"),
            Column("setting", "label of the setting", "Setting"),
            Column("what", "what is read", "Read"),
            Column("reading", "the same with the battery's name of the control"),
            Column("better", "whether `more` or `less` of it is better"),
            Column("unit", "unit of the numbers", "Unit", form=lambda unit: DISPLAY[unit][1]),
            Column("value", "mean of the control", evaluated.control, "unit",
                   parts={"n": "n", "ci95": "ci95"}),
            *(compared if references else ()),
            *(held if limited else ()),
            Column("note", "why it was not measured, or what to know", "Note"),
        ),
        rows_of,
    )  # fmt: skip


def rows_of(evaluated: Evaluated) -> Iterable[JsonObject]:
    """The rows, with every column."""
    names = evaluated.battery.references
    lacking = {key: None for name in names for key in (name, f"less_{name}")}
    return (lacking | row for row in evaluated.rows)
