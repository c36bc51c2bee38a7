"""Evaluations of one battery: what changed from one to another, and all controls side by side.

Trials of one repetition have the same seed in all, so a difference is a mean over pairs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl
from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.units import counted
from nashbed.controlplane.store.errors import RunError

from ..frame import Column, Frame
from ..metrics.statistics import Estimate
from .evaluation import is_worse, paired

CRITERIA = "criteria.json"
KEY = ("section", "name", "setting", "reading")


@dataclass(frozen=True)
class EvaluationChanges:
    """Two evaluations, reading by reading.

    Attributes:
        first: The folder of the first.
        second: The folder of the second.
        rows: One for each reading that either has, as CHANGES has them.
    """

    first: Path
    second: Path
    rows: tuple[JsonObject, ...]

    @property
    def changed(self) -> tuple[JsonObject, ...]:
        """The rows that differ by more than the interval, or in their verdicts."""
        return tuple(row for row in self.rows if row["change"])

    @property
    def table(self) -> pl.DataFrame:
        """All rows in base units."""
        return CHANGES.table(self)

    @property
    def answer(self) -> JsonObject:
        """All of it, in base units."""
        names = {"first": str(self.first), "second": str(self.second)}
        return names | {"changes": self.table.to_dicts()}

    def section(self, everything: bool = False) -> JsonObject:
        """The section of a page, of what changed or of all."""
        return CHANGES.section(self if everything else replace(self, rows=self.changed))

    @property
    def summary(self) -> str:
        """How many readings changed, in words."""
        changes = [row["change"] for row in self.rows]
        better, worse = changes.count("better"), changes.count("worse")
        return (
            f"{len(self.changed)} of {counted(len(self.rows), 'reading')} changed: {better} for "
            f"the better, {worse} for the worse"
        )


def compare_evaluations(first: Path, second: Path) -> EvaluationChanges:
    """Compare two evaluations; raises RunError if one has no end, or they are of two batteries."""
    before, after = _read_alike([first, second])
    rows = {_key(row): [row, None] for row in before["criteria"]}
    for row in after["criteria"]:
        rows.setdefault(_key(row), [None, None])[1] = row
    return EvaluationChanges(first, second, tuple(_row(*pair) for pair in rows.values()))


def _read_alike(folders: Sequence[Path]) -> list[JsonObject]:
    """What evaluations of one battery found."""
    found = [_read(folder) for folder in folders]
    for folder, each in zip(folders, found, strict=True):
        if each["battery"] != found[0]["battery"]:
            raise RunError(f"{folder}: is of battery {each['battery']}, not {found[0]['battery']}")
    return found


def _read(folder: Path) -> JsonObject:
    try:
        answer: JsonObject = json.loads((folder / CRITERIA).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{folder}: has no {CRITERIA}; end it with `nashbed cc evaluate`") from error
    return answer


def _key(row: JsonObject) -> tuple[str, ...]:
    return tuple(row[part] for part in KEY)


def _row(before: JsonObject | None, after: JsonObject | None) -> JsonObject:
    first, second = before or {}, after or {}
    known = second or first
    difference = paired(second.get("values", {}), first.get("values", {}))
    verdicts = [each.get("verdict", "not there") for each in (first, second)]
    change = _change(difference, known["better"])
    return {part: known[part] for part in (*KEY, "unit")} | {
        "what": known["what"] or known["note"],
        "first": first.get("value"),
        "second": second.get("value"),
        "difference": difference,
        "change": change if len({*verdicts}) == 1 else " to ".join(filter(None, verdicts)),
    }


def _change(difference: Estimate | None, better: str | None) -> str:
    """What a difference beyond its interval is: the better or the worse where a reading says."""
    if is_worse(difference, better):
        return "worse"
    if is_worse(difference, "more" if better == "less" else "less"):
        return "better" if better else "more"
    return "less" if not better and is_worse(difference, "more") else ""


CHANGES = Frame[EvaluationChanges](
    "changes",
    "What changed",
    "criterion, setting and reading",
    (
        Column("setting", "label of the setting", "Setting"),
        Column("section", "section of the standard", "Section"),
        Column("name", "the criterion", "Criterion"),
        Column("reading", "what is read, with the battery's name of the control"),
        Column("what", "what is read, or why nothing is", "Read"),
        Column("unit", "unit of the numbers", "Unit", form=lambda unit: DISPLAY[unit][1]),
        Column("change", "`better` or `worse` (`more` or `less` where neither is) beyond the 95 % "
               "interval, or how the verdict changed", "Change"),
        Column("first", "mean in the first evaluation", "First", "unit"),
        Column("second", "mean in the second", "Second", "unit"),
        Column("difference", "mean difference, second minus first, by repetition", "Difference",
               "unit", parts={"n": "n", "ci95": "ci95"}),
    ),
    lambda changes: changes.rows,
    note="Differences are means over pairs of trials of the same seed. A row has changed if its "
    "difference is beyond the 95 % interval; of a hundred that did not, some do so by chance.",
)  # fmt: skip
"""Every reading of two evaluations."""


@dataclass(frozen=True)
class ControlsTable:
    """Controls that one battery evaluated, side by side.

    Attributes:
        controls: Their names; the battery's references are the first.
        rows: One for each reading: control -> its mean, `CONTROL_is` -> its verdict where the
            reading has bounds; else `worse` or `better` than every reference, beyond the 95 %
            interval of the differences.
    """

    controls: tuple[str, ...]
    rows: tuple[JsonObject, ...]

    @property
    def frame(self) -> Frame[ControlsTable]:
        """How it is shown and exported."""
        return Frame(
            "controls",
            "Controls side by side",
            "criterion, setting and reading",
            (
                Column("setting", "label of the setting", "Setting"),
                Column("section", "section of the standard", "Section"),
                Column("name", "the criterion"),
                Column("reading", "what is read; `it` is the control", "Read"),
                Column("unit", "unit of the numbers", "Unit", form=lambda unit: DISPLAY[unit][1]),
                *(Column(name, f"mean of {name}", name, "unit",
                         parts={"n": f"{name}_n", "ci95": f"{name}_ci95"})
                  for name in self.controls),
                *(Column(f"{name}_is", "`met`, `missed` or `undecided` where the reading has "
                         "bounds; else `worse` or `better` than every reference, beyond the 95 % "
                         "intervals of the differences") for name in self.controls),
            ),
            lambda table: table.rows,
        )  # fmt: skip

    @property
    def table(self) -> pl.DataFrame:
        """The rows in base units."""
        return self.frame.table(self)


def controls_table(folders: Sequence[Path]) -> ControlsTable:
    """Lay evaluations of one battery side by side.

    Raises:
        RunError: One has no end, or two are of one control, of two batteries, or of two sizes.
    """
    found = _read_alike(folders)
    if len({each["size"] for each in found}) > 1:
        raise RunError(f"{', '.join(each['size'] for each in found)}: evaluate all by one size")
    references = tuple(found[0]["references"])
    names = [each["control"] for each in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise RunError(f"{twice[0]}: two of the evaluations are of it; name one")
    controls = tuple(dict.fromkeys([*references, *names]))
    rows: dict[tuple[str, ...], JsonObject] = {}
    for each in found:
        for row in each["criteria"]:
            if row["what"]:
                made = rows.setdefault(_key(row), _control_row(row, each["subject"], controls))
                _fill(made, row, each["control"], references)
    return ControlsTable(controls, tuple(rows.values()))


def _control_row(row: JsonObject, subject: str, controls: Sequence[str]) -> JsonObject:
    reading = re.sub(rf"(of )?\b{re.escape(subject)}\b", "of it", row["reading"])
    empty = {key: None for name in controls for key in (name, f"{name}_is")}
    return {part: row[part] for part in (*KEY, "unit")} | {"reading": reading} | empty


def _fill(made: JsonObject, row: JsonObject, control: str, references: Sequence[str]) -> None:
    """Put what was read of a control into a row, and of the references in the first evaluation.

    Loading a module shifts the random numbers of a guest's kernel, so where the kernel's own
    control is evaluated the references have other trials.
    """
    for name in references:
        made[name] = made[name] or _estimate(row, name, f"{name}_ci95")
    if control not in references:
        made[control] = _estimate(row, "value", "ci95")
        changes = {
            _change(_estimate(row, f"less_{name}", f"less_{name}_ci95"), row["better"])
            for name in references
        }
        made[f"{control}_is"] = row.get("verdict") or (changes.pop() if len(changes) == 1 else "")


def _estimate(row: JsonObject, mean: str, ci95: str) -> Estimate | None:
    if row[mean] is None:
        return None
    return Estimate(mean=row[mean], n=row["n"] or 0, ci95=row[ci95])
