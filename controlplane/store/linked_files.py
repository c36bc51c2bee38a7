"""Files of a trial that stayed in a shared folder; the trial's own folder has links to them."""

from __future__ import annotations

from pathlib import Path

from .errors import damaged

REMEDY = (
    "large tables of runs on a cluster stay in its shared folder: mount that at the same place, or "
    "copy the run with `cp -rL` where it is seen"
)


def check_links(folder: Path) -> None:
    """Raise RunError when a file of a trial is a link to what is not seen here.

    Args:
        folder: The trial's folder.
    """
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.is_symlink() and not _seen(path):
            raise damaged(path, f"is kept as {path.readlink()}, which is not seen here", REMEDY)


def _seen(path: Path) -> bool:
    """Whether a link leads to a file; a network folder that fails to answer has none."""
    try:
        return path.is_file()
    except OSError:
        return False
