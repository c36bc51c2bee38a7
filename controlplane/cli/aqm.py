"""`nashbed aqm`: queue disciplines, ours and those in one C file of a user's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from nashbed import aqm
from nashbed.aqm import (
    CHECKS,
    DisciplineVerdict,
    LoadVerdict,
    ParameterAbout,
    ShippedDiscipline,
    written,
)
from rich.table import Table

from ..contract.errors import EXIT_CONFIG, EXIT_OK
from ..contract.model import ContractModel, JsonAnswer
from .console import as_text, step_display
from .options import AsJson, answer, new_app

EPILOG = """Example: nashbed aqm new mine; nashbed aqm check mine.c; then `discipline: ./mine.c`
in the bottleneck of a scenario beside it, and nashbed run the scenario."""
DisciplineSource = Annotated[Path, typer.Argument(metavar="FILE", help="Its C file.")]
REPEATABLE = "repeatability"
EVERY_CHECK = (*CHECKS, REPEATABLE)
COLUMNS = ("load", "left", "dropped", "marked", "mean delay", "verdict")
app = new_app(
    "aqm",
    help="Queue disciplines: list ours, write and check your own in one C file.",
    epilog=EPILOG,
    no_args_is_help=True,
)


@app.callback()
def _commands() -> None:
    """Queue disciplines: list ours, write and check your own in one C file."""


class ParameterAnswer(ContractModel):
    """A parameter of a discipline.

    Attributes:
        name: Its name in a scenario.
        default: Its default, as a scenario has it; null: none, or it follows from the buffer.
    """

    name: str
    default: str | None


class DisciplineAnswer(ContractModel):
    """A discipline that nashbed brings along.

    Attributes:
        name: Its name in a scenario.
        title: Its name for people.
        about: What it does, and where it is from.
        parameters: Its parameters.
    """

    name: str
    title: str
    about: str
    parameters: tuple[ParameterAnswer, ...]


class DisciplinesAnswer(JsonAnswer):
    """What `nashbed aqm list` answers.

    Attributes:
        ok: True.
        disciplines: The disciplines that nashbed brings along.
        memory: The policies of the memory that several queues share, likewise.
    """

    ok: bool = True
    disciplines: tuple[DisciplineAnswer, ...]
    memory: tuple[DisciplineAnswer, ...]


class WrittenDiscipline(JsonAnswer):
    """What `nashbed aqm new` answers.

    Attributes:
        ok: True.
        file: The file that was written.
    """

    ok: bool = True
    file: str


class CheckedLoad(ContractModel):
    """What came of a load.

    Attributes:
        load: What its packets are like.
        departed: Packets that left.
        dropped: Those that were dropped.
        marked: Those that left with a mark.
        mean_delay_ms: Mean time in the queue of those that left.
        problems: Name of a check that failed -> what is wrong.
    """

    load: str
    departed: int
    dropped: int
    marked: int
    mean_delay_ms: float
    problems: dict[str, str]


class CheckedDiscipline(JsonAnswer):
    """What `nashbed aqm check` answers.

    Attributes:
        ok: Whether every check was passed with every load.
        name: The discipline's name.
        digest: SHA-256 of its sources.
        object_from: The compiler.
        parameters: Its parameters.
        loads: What came of each load.
    """

    ok: bool
    name: str
    digest: str
    object_from: str
    parameters: tuple[ParameterAnswer, ...]
    loads: tuple[CheckedLoad, ...]


@app.command("list", epilog="Example: nashbed aqm list --json")
def list_disciplines(as_json: AsJson = False) -> int:
    """List the queue disciplines and the policies of shared memory that nashbed brings along."""
    said = DisciplinesAnswer(
        disciplines=tuple(map(_described, aqm.shipped())),
        memory=tuple(map(_described, aqm.policies())),
    )
    answer(said, as_json, "" if as_json else list_text(said))
    return EXIT_OK


@app.command(epilog="Example: nashbed aqm new mine")
def new(
    name: Annotated[str, typer.Argument(help="Its name, at most 15 of a-z, 0-9 and _.")],
    memory: Annotated[
        bool, typer.Option("--memory", help="A policy of the memory that queues share.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Write NAME.c in this folder: a small queue discipline that works, to be changed."""
    path = aqm.new(name, memory=memory)
    header = f"{aqm.HEADERS}/{'memory' if memory else 'aqm'}.h"
    text = f"wrote {path}; it includes {header}; try: nashbed aqm check {path}"
    answer(WrittenDiscipline(file=str(path)), as_json, text)
    return EXIT_OK


@app.command(epilog="Example: nashbed aqm check mine.c --json")
def check(source: DisciplineSource, as_json: AsJson = False) -> int:
    """Compile a queue discipline, send packets through it, and judge what it does with them.

    A policy of shared memory is tried with four queues, which packets are for by their flow.

    With six loads of seeded random arrivals at 10 Mbit/s: every packet comes out once, those of a
    flow in order, never is more queued than the limit, the line is never idle with a packet in the
    queue, and the same packets fare the same again.
    """
    with step_display() as show:
        verdict = aqm.check(source, show)
    answer(_checked(verdict), as_json, "" if as_json else verdict_text(verdict))
    return EXIT_OK if verdict.ok else EXIT_CONFIG


def list_text(said: DisciplinesAnswer) -> str:
    """The disciplines and the policies of shared memory that nashbed brings along."""
    disciplines = _listed("queue disciplines of nashbed", said.disciplines)
    policies = _listed("policies of the memory that several queues share", said.memory)
    return (
        f"{disciplines}"
        "by name: discipline: codel; with parameters: discipline: {codel: {target: 1ms}};\n"
        "of your own: discipline: ./mine.c\n\n"
        f"{policies}"
        "memory: {dynamic_threshold: {alpha: 1}}; memory: {static: [1MB, 200kB]}; of your own:\n"
        "memory: {file: ./mine.c}, which nashbed aqm new mine --memory writes"
    )


def _listed(title: str, each_of: Sequence[DisciplineAnswer]) -> str:
    table = Table(title=title)
    for name in ("name", "what", "parameters"):
        table.add_column(name)
    for each in each_of:
        parameters = (
            p.name if p.default is None else f"{p.name} {p.default}" for p in each.parameters
        )
        table.add_row(each.name, each.about, ", ".join(parameters))
    return as_text(table)


def verdict_text(verdict: DisciplineVerdict) -> str:
    """What is known of a discipline after it was tried."""
    own, about = verdict.own, verdict.about
    lines = [f"{own.name}: compiles ({verdict.made_by})"]
    lines += [
        f"  {each.name}: {each.help} ({_own_default(each) or 'none'}; "
        f"{written(each.kind, each.min)} to {written(each.kind, each.max)})"
        for each in about.parameters
    ]
    table = Table(title=f"what {own.name} does")
    for name in COLUMNS:
        table.add_column(name, justify="left" if name in ("load", "verdict") else "right")
    for each in verdict.loads:
        table.add_row(*_cells(each))
    wrong = [
        f"{each.load.name}: {name}: {problem}"
        for each in verdict.loads
        for name, problem in each.problems.items()
    ]
    checked = f"checked: {', '.join(EVERY_CHECK)}"
    return "\n".join([*lines, as_text(table) + checked, *wrong])


def _cells(verdict: LoadVerdict) -> list[str]:
    return [
        verdict.load.name,
        str(verdict.departed),
        str(verdict.dropped),
        str(verdict.marked),
        f"{verdict.mean_delay_ms:.2f} ms",
        ", ".join(verdict.problems) or "ok",
    ]


def _checked(verdict: DisciplineVerdict) -> CheckedDiscipline:
    return CheckedDiscipline(
        ok=verdict.ok,
        name=verdict.own.name,
        digest=verdict.own.digest,
        object_from=verdict.made_by,
        parameters=tuple(
            ParameterAnswer(name=each.name, default=_own_default(each))
            for each in verdict.about.parameters
        ),
        loads=tuple(
            CheckedLoad(
                load=each.load.name,
                departed=each.departed,
                dropped=each.dropped,
                marked=each.marked,
                mean_delay_ms=each.mean_delay_ms,
                problems=each.problems,
            )
            for each in verdict.loads
        ),
    )


def _described(discipline: ShippedDiscipline) -> DisciplineAnswer:
    return DisciplineAnswer(
        name=discipline.name,
        title=discipline.title,
        about=discipline.about,
        parameters=tuple(
            ParameterAnswer(name=name, default=default)
            for name, default in discipline.parameters.items()
        ),
    )


def _own_default(parameter: ParameterAbout) -> str | None:
    return None if parameter.default is None else written(parameter.kind, parameter.default)
