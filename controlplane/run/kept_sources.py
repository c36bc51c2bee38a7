"""Users' own C files, kept in the directory of the run that they were part of."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..contract.c_files import c_sources
from ..store.errors import disk_errors


def keep_sources(folder: Path, place: Path, source: Path, headers: Path) -> str:
    """Copy a C file and what it includes into a run directory, but for our own headers.

    Args:
        folder: The run directory.
        place: Where in it.
        source: The C file.
        headers: The folder of our headers.

    Returns:
        Where the copy of the C file is, relative to the run directory.
    """
    with disk_errors(folder):
        for name, file in c_sources(source, headers).items():
            if file.is_relative_to(headers.resolve()):
                continue
            copy = folder / place / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
    return str(place / source.name)
