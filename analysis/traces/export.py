"""The formats of one trial, and what is written where."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nashbed.controlplane.store.errors import RunError, writing
from nashbed.controlplane.store.staging import Staging

from . import int_xd, pcapng, perfetto, qlog
from .selection import Selection

Write = Callable[[Selection, Path], dict[str, int]]
FORMATS: dict[str, tuple[str, Write]] = {
    "perfetto": (perfetto.SUFFIX, perfetto.write_perfetto),
    "qlog": (qlog.SUFFIX, qlog.write_qlog),
    "int-xd": (int_xd.SUFFIX, int_xd.write_int_xd),
    "pcapng": (pcapng.SUFFIX, pcapng.write_pcapng),
}
"""Format -> end of the file's name, and its writer."""
FOLDER = "traces"


@dataclass(frozen=True)
class TrialExport:
    """What was written of a trial.

    Attributes:
        path: The file; of qlog, the folder.
        counts: What is in it -> how many.
    """

    trial: str
    path: Path
    counts: Mapping[str, int]


def check_form(form: str) -> None:
    """Refuse a format that is none.

    Raises:
        RunError: It is none.
    """
    if form not in FORMATS:
        known = ", ".join(FORMATS)
        raise RunError(f"export format {form!r} is unknown; there are csv, parquet, {known}")


def export_trial(run: Path, form: str, chosen: Selection, out: Path | None = None) -> TrialExport:
    """Write one trial in one format; what is there of an earlier export is replaced as a whole.

    Args:
        form: One of FORMATS.
        out: The file; None: in `traces/` of the run directory, with the trial's name.

    Returns:
        What was written.

    Raises:
        RunError: The format is unknown, the trial has no such flow, nothing at that time, or lacks
            what the format needs, or the file cannot be written.
    """
    check_form(form)
    suffix, write = FORMATS[form]
    if not chosen.control:
        raise RunError(f"{chosen.trial.id}: has no flows")
    target = out or run / FOLDER / f"{chosen.trial.id}.{suffix}"
    with writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with Staging(target.parent, target.name) as staging:
            made = staging.place / target.name
            counts = write(chosen, made)
            if not any(counts.values()):
                raise RunError(f"{chosen.trial.id}: {chosen.said} has nothing to export")
            _make_room(made, target)
            staging.publish(made, target)
    return TrialExport(chosen.trial.id, target, counts)


def _make_room(made: Path, target: Path) -> None:
    """A file and a folder cannot take each other's place.

    Raises:
        RunError: The target is a folder that holds what no export wrote.
    """
    if made.is_file() and target.is_dir():
        raise RunError(f"{target}: is a folder; name a file with --out")
    if made.is_dir() and target.is_file():
        raise RunError(f"{target}: is a file; name a folder with --out")
    if (
        made.is_dir()
        and target.is_dir()
        and any(p.suffix != qlog.FILE_SUFFIX for p in target.iterdir())
    ):
        raise RunError(f"{target}: holds other files; name an empty folder with --out")
