"""Write an evaluation: one page for a browser, Markdown for a mailing list, CSV and JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from nashbed.controlplane.contract.battery import Battery
from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.units import counted
from nashbed.controlplane.store.staging import write_whole

from ..figures.catalogue import draw_all, sketches
from ..figures.drawing import write_plot
from ..figures.evaluations import controls_plot
from ..frame import Column, Frame
from ..metrics.statistics import Estimate
from ..results.evaluation import MISSED, UNDECIDED, Evaluated, rows_frame
from ..results.evaluations import ControlsTable
from ..results.summary import RunSummary
from .build import environment
from .context import figure_context

OPENING = ("harm", "throughput_by_mix")
"""Kinds of figures that the page opens with."""
NO_FIGURES: Mapping[str, Sequence[JsonObject]] = MappingProxyType({})
SCALE_PX, MIDDLE_PX, HALF_PX = 220, 9, 3.5
"""Width of a picture, half of its height, and half of a mark."""


def draw_opening(summary: RunSummary, folder: Path) -> list[JsonObject]:
    """Draw what a run says of harm, and of who would switch; the page opens with it."""
    wanted = sketches(summary.measures, summary.equilibria)
    drawn = draw_all((each for each in wanted if each.kind in OPENING), folder, ("svg",))
    return [figure_context(each, "") for each in drawn]


def write_pages(
    evaluated: Evaluated, folder: Path, figures: Mapping[str, Sequence[JsonObject]] = NO_FIGURES
) -> None:
    """Write index.html, evaluation.md, criteria.csv and criteria.json.

    Args:
        figures: Scenario -> what `draw_opening` made of it.
    """
    frame = rows_frame(evaluated)
    write_whole(folder / "criteria.csv", evaluated.table.write_csv())
    write_whole(folder / "criteria.json", json.dumps(evaluated.answer, indent=1) + "\n")
    write_whole(folder / "evaluation.md", _markdown(evaluated, frame))
    page = (
        environment()
        .get_template("evaluation.html.j2")
        .render(figures=figures, **_context(evaluated, frame))
    )
    write_whole(folder / "index.html", page)


def write_controls(table: ControlsTable, files: Iterable[Path]) -> None:
    """Write controls side by side: as a table where a name ends in .csv, else as a plate."""
    for file in files:
        if file.suffix == ".csv":
            write_whole(file, table.table.write_csv())
        else:
            write_plot(controls_plot(table), file)


def _markdown(evaluated: Evaluated, frame: Frame[Evaluated]) -> str:
    """The evaluation as Markdown."""
    columns = [column for column in frame.columns_of(evaluated) if column.title]
    lines = [
        f"# {evaluated.control}: {evaluated.battery.title}", "",
        f"Battery {evaluated.battery.name} ({evaluated.battery.source}), size {evaluated.size}. "
        "Mean, ± half the width of the 95 % interval." + _rule(evaluated.battery), "",
        *(f"- {line}" for line in (*evaluated.harm, *evaluated.games)),
        *([f"- {evaluated.held}"] if evaluated.battery.limited else []), "",
        f"| {' | '.join(column.head for column in columns)} |",
        "|" + " --- |" * len(columns),
    ]  # fmt: skip
    for row in frame.rows(evaluated):
        cells = (" ".join(part for part in _cell(column, row) if part) for column in columns)
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines) + "\n"


def _rule(battery: Battery) -> str:
    """What a row's verdict is, in Markdown."""
    compared = (
        " A row says *yes* where the control is worse than every reference beyond that interval."
    )
    held = " A row is met if every trial is within its limits."
    none = " The standard sets no thresholds."
    return compared * bool(battery.references) + (held if battery.limited else none)


def _cell(column: Column, row: JsonObject) -> tuple[str, str]:
    """A cell as a person reads it; what is not measured has no numbers at all."""
    if column.shown is not None and not row["what"]:
        return "", ""
    return column.on_page(row)


def _context(evaluated: Evaluated, frame: Frame[Evaluated]) -> JsonObject:
    names = (evaluated.control, *evaluated.battery.references)
    columns = [c for c in frame.columns_of(evaluated) if c.title and c.shown is not None]
    criteria: list[JsonObject] = []
    for row in frame.rows(evaluated):
        key = (row["section"], row["name"])
        if not criteria or criteria[-1]["key"] != key:
            run = evaluated.ran.get(row["scenario"], "")
            new = {
                "key": key,
                "id": f"c{len(criteria)}",
                "rows": [],
                "run": run,
                "twice": [],
                "missed": [],
            }
            criteria.append({**row, **new})
        if row["what"]:
            shown = {**row, "numbers": [column.on_page(row) for column in columns]}
            found = [row["value"], *(row[name] for name in evaluated.battery.references)]
            criteria[-1]["rows"].append(shown | {"marks": _marks(names, found)})
            said = f"{row['what']} ({row['setting']})"
            criteria[-1]["twice"] += [said] if row["twice"] else []
            criteria[-1]["missed"] += [said] if row["verdict"] in {MISSED, UNDECIDED} else []
    return {
        "evaluated": evaluated,
        "battery": evaluated.battery,
        "names": names,
        "heads": [column.head for column in columns],
        "criteria": criteria,
        "twice": counted(len(evaluated.looked_at_twice), "row"),
        "units": {unit: text for unit, (_, text) in DISPLAY.items()},
        "width": SCALE_PX,
        "middle": MIDDLE_PX,
    }


def _marks(names: Sequence[str], found: Iterable[Estimate | None]) -> list[JsonObject]:
    """Each control on one scale from 0, or from the least, to the most of them, in pixels."""
    known = [(name, each) for name, each in zip(names, found, strict=True) if each is not None]
    reach = [(each.mean - (each.ci95 or 0), each.mean + (each.ci95 or 0))
             for _, each in known]  # fmt: skip
    if not reach:
        return []
    low, high = min(0.0, *(a for a, _ in reach)), max(b for _, b in reach)
    scale = (SCALE_PX - 2 * HALF_PX) / ((high - low) or 1)
    return [
        {
            "number": names.index(name),
            "from": round(HALF_PX + (a - low) * scale, 1),
            "to": round(HALF_PX + (b - low) * scale, 1),
            "at": round(HALF_PX + (each.mean - low) * scale, 1),
        }
        for (name, each), (a, b) in zip(known, reach, strict=True)
    ]
