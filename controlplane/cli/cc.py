"""`nashbed cc`: congestion controls in one C file each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..contract.control import SUFFIX, control_name
from ..contract.errors import EXIT_OK, ConfigError
from ..controls.check import check_control
from ..controls.shipped import shipped_controls
from ..machine.controls.checks import kernels_own_controls
from ..machine.paths import CONTROL_TEMPLATE
from .cc_text import conformance_text, list_text, verdict_text
from .console import step_display
from .options import AsJson, RunFolder, answer, new_app

EPILOG = """Example: nashbed cc new mycc; nashbed cc check mycc.c; then write `strategies: [cubic,
./mycc.c]` in a scenario beside it, and nashbed run the scenario."""

app = new_app(
    "cc",
    help="Congestion controls in one C file: list, write, check and compare them.",
    epilog=EPILOG,
    no_args_is_help=True,
)

ControlSource = Annotated[Path, typer.Argument(metavar="FILE", help="Its C file.")]


@app.callback()
def _commands() -> None:
    """Congestion controls in one C file: list, write, check and compare them."""


@app.command("list", epilog="Example: nashbed cc list --json")
def list_controls(as_json: AsJson = False) -> int:
    """List the congestion controls that nashbed brings along, and how they are had here."""
    controls = shipped_controls()
    data = {"ok": True, "controls": [control.to_dict() for control in controls]}
    answer(data, as_json, "" if as_json else list_text(controls))
    return EXIT_OK


@app.command(epilog="Example: nashbed cc new mycc")
def new(
    name: Annotated[str, typer.Argument(help="Its name, at most 15 of a-z, 0-9 and _.")],
    as_json: AsJson = False,
) -> int:
    """Write NAME.c in this folder: a small congestion control that works, to be changed."""
    path = Path(f"{name.removesuffix(SUFFIX)}{SUFFIX}")
    write_template(path)
    text = f"wrote {path}; it includes {CONTROL_TEMPLATE.parent}/cc.h; try: nashbed cc check {path}"
    answer({"ok": True, "file": str(path)}, as_json, text)
    return EXIT_OK


@app.command(epilog="Example: nashbed cc check mycc.c --json")
def check(source: ControlSource, as_json: AsJson = False) -> int:
    """Compile a congestion control, load it if this machine can, and show what it does.

    It is simulated on nine paths: 10, 50 and 200 Mbit/s at base RTTs of 5, 40 and 100 ms, each with
    a drop-tail buffer of 2 BDP: alone, with random loss, against itself, and against CUBIC.
    Nothing of this needs root but loading it.
    """
    with step_display() as show:
        verdict = check_control(source, show)
    answer(verdict.to_dict(), as_json, "" if as_json else verdict_text(verdict))
    return EXIT_OK


@app.command(epilog="Example: nashbed cc conform results/20260101T120000Z-a bbrk --to bbr")
def conform(
    run_dir: RunFolder,
    control: Annotated[str, typer.Argument(help="A strategy of the run.")],
    reference: Annotated[str, typer.Option("--to", help="The one to hold it against.")] = "bbr",
    as_json: AsJson = False,
) -> int:
    """Show how alike two congestion controls of a run behave where each is alone.

    The score is the share of their points (RTT and goodput over ten base RTTs) that lie in the
    performance envelopes of both: two series of the same control score about 0.95. The run needs
    settings in which all flows run the one, and the other.
    """
    from nashbed.analysis.measures import measure_run  # noqa: PLC0415 - slow to import
    from nashbed.analysis.results.conformance import conformance_of_run  # noqa: PLC0415

    found = conformance_of_run(measure_run(run_dir), control, reference)
    text = "" if as_json else conformance_text(found)
    answer([each.to_dict() for each in found], as_json, text)
    return EXIT_OK


def write_template(path: Path) -> None:
    """Write the template of a congestion control.

    Args:
        path: The file to be written.

    Raises:
        ConfigError: There is such a file, or its name cannot be a control's.
    """
    try:
        name = control_name(path.name)
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if str(path.parent) != ".":
        raise ConfigError(f"{path}: write a name without a folder; it is written in this one")
    if name in kernels_own_controls():
        raise ConfigError(f"{name}: the kernel has a control of this name; take another")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(CONTROL_TEMPLATE.read_text(encoding="utf-8"))
    except FileExistsError as error:
        raise ConfigError(f"{path}: exists already; take another name, or remove it") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
