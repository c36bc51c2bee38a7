"""`nashbed schema`: the JSON schemas of the files that people write, for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config.load import write_schemas
from ..contract.errors import EXIT_OK
from ..machine.paths import CONFIGS
from .options import AsJson, answer, app


@app.command(epilog="Example: nashbed schema --out configs/schema")
def schema(
    out: Annotated[Path, typer.Option("--out", help="Folder for the schemas.")] = CONFIGS
    / "schema",
    as_json: AsJson = False,
) -> int:
    """Write the JSON schemas of scenario, testbed and cluster files."""
    paths = [str(path) for path in write_schemas(out)]
    answer({"ok": True, "schemas": paths}, as_json, "\n".join(paths))
    return EXIT_OK
