"""`nashbed init`: a scenario for a question, to be run and changed."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from nashbed import cc

from .api_command import command
from .options import Answer, app


@command(app, examples="Example: nashbed init fair mycc.c; nashbed run fair.yaml")
def init(
    question: Annotated[
        Literal["fair"],
        typer.Argument(metavar="QUESTION", help="fair: is it fair, and would it be adopted?"),
    ],
    source: Annotated[str, typer.Argument(metavar="FILE", help="The congestion control.")],
) -> Answer:
    """Write a scenario that answers a question: is my control fair?"""
    path = cc.fair(source)
    return Answer({"ok": True, "file": path}, f"wrote {path}; try: nashbed run {path}")
