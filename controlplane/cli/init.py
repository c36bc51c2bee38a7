"""`nashbed init`: a scenario for a question, to be run and changed."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from nashbed import cc

from .options import app


@app.command("init", epilog="Example: nashbed init fair mycc.c; nashbed run fair.yaml")
def init(
    question: Annotated[
        Literal["fair"],
        typer.Argument(metavar="QUESTION", help="fair: is it fair, and would it be adopted?"),
    ],
    source: Annotated[str, typer.Argument(metavar="FILE", help="The congestion control.")],
) -> None:
    """Write a scenario that answers a question: is my control fair?"""
    path = cc.fair(source)
    typer.echo(f"wrote {path}; try: nashbed run {path} --testbed virtual")
