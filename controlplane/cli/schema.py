"""`nashbed schema`: the JSON schemas of the files that people write, for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config.load import write_schemas
from ..contract.errors import EXIT_OK
from ..contract.model import JsonAnswer
from ..machine.paths import CONFIGS
from .options import AsJson, answer, new_app

app = new_app()


class WrittenSchemas(JsonAnswer):
    """What `nashbed schema` answers.

    Attributes:
        ok: True.
        schemas: The files that were written.
    """

    ok: bool = True
    schemas: tuple[str, ...]


@app.command(epilog="Example: nashbed schema --out configs/schema")
def schema(
    out: Annotated[Path, typer.Option("--out", help="Folder for the schemas.")] = CONFIGS
    / "schema",
    as_json: AsJson = False,
) -> int:
    """Write the JSON schemas of scenario, testbed and cluster files."""
    paths = [str(path) for path in write_schemas(out)]
    answer(WrittenSchemas(schemas=tuple(paths)), as_json, "\n".join(paths))
    return EXIT_OK
