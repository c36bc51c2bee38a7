"""Two evaluations of one battery: what another control, or another version of one, changed.

Trials of one repetition have the same seed in both, so a difference is a mean over pairs.
"""

from __future__ import annotations

import json
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
    before, after = (_read(folder) for folder in (first, second))
    if before["battery"] != after["battery"]:
        raise RunError(f"{second}: is of battery {after['battery']}, not {before['battery']}")
    rows = {_key(row): [row, None] for row in before["criteria"]}
    for row in after["criteria"]:
        rows.setdefault(_key(row), [None, None])[1] = row
    return EvaluationChanges(first, second, tuple(_row(*pair) for pair in rows.values()))


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
               "unit", parts={"n": "n", "half_width": "ci95"}),
    ),
    lambda changes: changes.rows,
    note="Differences are means over pairs of trials of the same seed. A row has changed if its "
    "difference is beyond the 95 % interval; of a hundred that did not, some do so by chance.",
)  # fmt: skip
"""Every reading of two evaluations."""
