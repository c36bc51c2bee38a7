"""`nashbed aqm`: queue disciplines, ours and those in one C file of a user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nashbed import aqm
from nashbed.aqm import (
    CHECKS,
    DisciplineVerdict,
    LoadVerdict,
    ParameterAbout,
    ShippedDiscipline,
    written,
)

from ..contract.errors import EXIT_CONFIG, EXIT_OK
from ..contract.model import JsonObject
from .api_command import Call, command
from .console import rows_text
from .options import Answer, new_app

EPILOG = """Example: nashbed aqm new mine; nashbed aqm check mine.c; then `discipline: ./mine.c`
in the bottleneck of a scenario beside it, and nashbed run the scenario."""
REPEATABLE = "repeatability"
EVERY_CHECK = (*CHECKS, REPEATABLE)
app = new_app(
    "aqm",
    help="Queue disciplines: list ours, write and check your own in one C file.",
    epilog=EPILOG,
    no_args_is_help=True,
)


@command(app, name="list", examples="Example: nashbed aqm list --json")
def list_disciplines() -> Answer:
    """List the queue disciplines and the policies of shared memory that nashbed brings along."""
    kinds = {"disciplines": aqm.shipped(), "memory": aqm.policies()}
    told = {
        kind: [vars(each) | {"parameters": _parameters(each.parameters)} for each in all_of]
        for kind, all_of in kinds.items()
    }
    return Answer({"ok": True, **told}, lambda: list_text(**kinds))


@command(app, "aqm.new", examples="Example: nashbed aqm new mine", folder=None)
def new(write: Call) -> Answer:
    """Write NAME.c in this folder: a small queue discipline that works, to be changed."""
    path = write()
    header = f"{aqm.HEADERS}/{'memory' if write.given['memory'] else 'aqm'}.h"
    text = f"wrote {path}; it includes {header}; try: nashbed aqm check {path}"
    return Answer({"ok": True, "file": str(path)}, text)


@command(app, "aqm.check", examples="Example: nashbed aqm check mine.c --json", seed=None)
def check(check: Call) -> Answer:
    """Compile a queue discipline, send packets through it, and judge what it does with them."""
    verdict = check()
    said = {
        "ok": verdict.ok,
        "name": verdict.own.name,
        "digest": verdict.own.digest,
        "object_from": verdict.made_by,
        "parameters": _parameters(
            {each.name: _own_default(each) for each in verdict.about.parameters}
        ),
        "loads": [vars(each) | {"load": each.load.name} for each in verdict.loads],
    }
    return Answer(said, lambda: verdict_text(verdict), EXIT_OK if verdict.ok else EXIT_CONFIG)


def _parameters(defaults: Mapping[str, str | None]) -> list[JsonObject]:
    return [{"name": name, "default": default} for name, default in defaults.items()]


def list_text(disciplines: Sequence[ShippedDiscipline], memory: Sequence[ShippedDiscipline]) -> str:
    """The disciplines and the policies of shared memory that nashbed brings along."""
    policies = _listed("policies of the memory that several queues share", memory)
    return (
        f"{_listed('queue disciplines of nashbed', disciplines)}"
        "by name: discipline: codel; with parameters: discipline: {codel: {target: 1ms}};\n"
        "of your own: discipline: ./mine.c\n\n"
        f"{policies}"
        "shared_buffer: {dynamic_threshold: {alpha: 1}}; shared_buffer: {static: [1MB, 200kB]}; of "
        "your own:\nshared_buffer: {file: ./mine.c}, which nashbed aqm new mine --memory writes"
    )


def _listed(title: str, all_of: Sequence[ShippedDiscipline]) -> str:
    rows = [
        {
            "name": each.name,
            "what": each.about,
            "parameters": ", ".join(f"{k} {v or ''}".strip() for k, v in each.parameters.items()),
        }
        for each in all_of
    ]
    return rows_text(title, rows)


def verdict_text(verdict: DisciplineVerdict) -> str:
    """What is known of a discipline after it was tried."""
    own, about = verdict.own, verdict.about
    lines = [f"{own.name}: compiles ({verdict.made_by})"]
    lines += [
        f"  {each.name}: {each.help} ({_own_default(each) or 'none'}; "
        f"{written(each.kind, each.min)} to {written(each.kind, each.max)})"
        for each in about.parameters
    ]
    table = rows_text(f"what {own.name} does", [_row(each) for each in verdict.loads])
    wrong = [
        f"{each.load.name}: {name}: {problem}"
        for each in verdict.loads
        for name, problem in each.problems.items()
    ]
    checked = f"checked: {', '.join(EVERY_CHECK)}"
    return "\n".join([*lines, table + checked, *wrong])


def _row(verdict: LoadVerdict) -> dict[str, str]:
    return {
        "load": verdict.load.name,
        ">left": str(verdict.departed),
        ">dropped": str(verdict.dropped),
        ">marked": str(verdict.marked),
        ">mean delay": f"{verdict.mean_delay_ms:.2f} ms",
        "verdict": ", ".join(verdict.problems) or "ok",
    }


def _own_default(parameter: ParameterAbout) -> str | None:
    return None if parameter.default is None else written(parameter.kind, parameter.default)
