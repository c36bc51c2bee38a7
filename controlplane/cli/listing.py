"""`nashbed list` and `init`: what can be named, and a scenario to begin with."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer
from nashbed.files import shipped

from ..contract.errors import ConfigError
from .api_command import command
from .console import rows_text
from .options import Answer, app

WIDE = 120


class What(StrEnum):
    """What there is a list of."""

    SCENARIOS = "scenarios"
    TESTBEDS = "testbeds"
    CCAS = "ccas"
    FIGURES = "figures"


@command(
    app,
    name="list",
    examples="Examples: nashbed list scenarios; nashbed list ccas --json;\n"
    "nashbed list figures results/20260101T120000Z-quickstart",
    run=typer.Argument(metavar="RUN_DIR"),
)
def list_names(
    what: Annotated[What, typer.Argument(help="Of what.")],
    run: Path | None = None,
) -> Answer:
    """List the scenarios, testbeds, congestion controls or figures that there are.

    Each by the name that commands and files take.

    Args:
        run: The run whose figures are listed.
    """
    if (what is What.FIGURES) is (run is None):
        raise ConfigError("RUN_DIR: `nashbed list figures RUN_DIR` takes a run, no other list does")
    found = _named(what, run)
    said = [{"name": name, "about": about} for name, about in found.items()]
    rows = [{"|name": name, "what": about} for name, about in found.items()]
    return Answer({"ok": True, str(what): said}, rows_text(f"{what} ({len(found)})", rows, WIDE))


def _named(what: What, run: Path | None) -> dict[str, str]:
    """Name -> what it is."""
    if run is not None:
        from nashbed.figures import of_run  # noqa: PLC0415 - slow to import
        from nashbed.runs import open_run  # noqa: PLC0415

        return {each.name: each.title for each in of_run(open_run(run))}
    if what is What.CCAS:
        from nashbed.cc import kernels_own  # noqa: PLC0415
        from nashbed.cc import shipped as ours  # noqa: PLC0415

        known = dict.fromkeys(kernels_own(), "this machine's kernel has it")
        return known | {each.name: each.title for each in ours()}
    return shipped(what)


@command(app, examples="Example: nashbed init fair mycc.c; nashbed run fair.yaml")
def init(
    question: Annotated[
        Literal["fair"],
        typer.Argument(metavar="QUESTION", help="fair: is it fair, and would it be adopted?"),
    ],
    source: Annotated[str, typer.Argument(metavar="FILE", help="The congestion control.")],
) -> Answer:
    """Write a scenario that answers a question: is my control fair?"""
    from nashbed.cc import fair  # noqa: PLC0415 - slow to import

    path = fair(source)
    return Answer({"ok": True, "file": path}, f"wrote {path}; try: nashbed run {path}")
