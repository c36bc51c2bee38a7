"""A run as its workers are told of it: files as text, and back to files."""

from __future__ import annotations

import hashlib
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from ..contract.control import ControlFile, control_sources, read_control
from ..contract.errors import ConfigError
from ..machine.controls.objects import is_shipped
from ..machine.paths import CONTROLS
from ..run.active_run import ActiveRun
from .identity import identity_here
from .request import ControlSource, RunBundle

BYTES = "latin-1"
"""A character for each byte: C files arrive as they are, whatever encoding and line ends they have;
their digest is over their bytes."""


def bundle_of(run: ActiveRun, shared: str = "") -> RunBundle:
    """What workers are told of a run.

    Args:
        run: The run.
        shared: As in `RunBundle`.
    """
    kernels = sorted({trial.setting.kernel for trial in run.plan.trials})
    return RunBundle(
        run=run_name(run.directory.path),
        directory=run.directory.path.name,
        scenario=run.scenario.text,
        testbed=run.testbed.text,
        identity=identity_here(run.testbed.model, kernels),
        controls=tuple(_source(control) for control in run.controls),
        window_bytes=run.plan.largest_window_bytes,
        shared=shared,
    )


def run_name(path: Path) -> str:
    """Twelve hexadecimal digits that stand for a run directory of this machine."""
    place = f"{socket.gethostname()}\0{path.resolve()}"
    return hashlib.sha256(place.encode()).hexdigest()[:12]


def _source(control: ControlFile) -> ControlSource:
    files: dict[str, str] = {}
    if not is_shipped(control):
        sources = control_sources(control.source, CONTROLS).items()
        own = {n: f for n, f in sources if not f.is_relative_to(CONTROLS.resolve())}
        files = {name: file.read_bytes().decode(BYTES) for name, file in own.items()}
    return ControlSource(
        name=control.name, source=control.source.name, digest=control.digest, files=files
    )


def unpacked_controls(sources: Sequence[ControlSource], folder: Path) -> tuple[ControlFile, ...]:
    """The congestion controls of a bundle, as files.

    Args:
        sources: The controls.
        folder: Where the files of those go that nashbed does not bring along.

    Raises:
        ConfigError: One is not what the client has.
    """
    return tuple(_unpacked(source, folder / source.name) for source in sources)


def _unpacked(source: ControlSource, folder: Path) -> ControlFile:
    for name, text in source.files.items():
        _refuse_outside(name, source.files)
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode(BYTES))
    control = read_control((folder if source.files else CONTROLS) / source.source, CONTROLS)
    if control.digest != source.digest:
        raise ConfigError(
            f"{source.name}: the client has another version of it ({source.digest[:12]}) than "
            f"there is here ({control.digest[:12]})"
        )
    return control


def _refuse_outside(name: str, names: Iterable[str]) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ConfigError(f"{name}: a file of a congestion control stands outside its folder")
