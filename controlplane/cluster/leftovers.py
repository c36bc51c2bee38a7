"""What no sealed trial refers to is removed from a run's part of the shared folder.

It stays there when a client or a worker dies between the copying of a trial's large tables and the
sealing of the trial, which then runs again and copies them under another name.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from ..machine.log import LOG


def remove_leftovers(shared: Path, trials: Path) -> None:
    """Remove them; of a folder that is not seen any more nothing is asked.

    Args:
        shared: The run's part of the shared folder; no other run writes there.
        trials: The folder with the run's sealed trials.
    """
    try:
        there = sorted(shared.iterdir())
        wanted = _referred(shared, trials)
    except OSError as error:
        LOG.info("%s: not looked through: %s", shared, error)
        return
    for folder in there:
        if folder.name not in wanted:
            LOG.info("%s: no trial refers to it: removed", folder)
            shutil.rmtree(folder, ignore_errors=True)


def _referred(shared: Path, trials: Path) -> set[str]:
    """Names of the folders within the shared one that trials have links to."""
    place = shared.resolve()
    leads = [path.readlink() for path in trials.rglob("*") if path.is_symlink()]
    return {lead.relative_to(place).parts[0] for lead in leads if lead.is_relative_to(place)}
