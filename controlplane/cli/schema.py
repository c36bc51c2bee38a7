"""`nashbed schema`: the JSON schemas of the files that people write, for editors."""

from __future__ import annotations

from pathlib import Path

from ..config.load import write_schemas
from ..machine.paths import CONFIGS
from .api_command import command
from .options import Answer, app


@command(app, examples="Example: nashbed schema --out configs/schema", hidden=True)
def schema(out: Path = CONFIGS / "schema") -> Answer:
    """Write the JSON schemas of scenario, testbed and cluster files.

    Args:
        out: Folder for the schemas.
    """
    paths = [str(path) for path in write_schemas(out)]
    return Answer({"ok": True, "schemas": paths}, "\n".join(paths))
