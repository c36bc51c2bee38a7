"""`nashbed program`: programs as strategies."""

from __future__ import annotations

from collections.abc import Sequence

from nashbed import programs
from nashbed.programs import ProgramVerdict, ShippedProgram

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from ..contract.units import Rate
from .api_command import Call, command
from .console import rows_text
from .options import Answer, new_app

EPILOG = """Example: nashbed program check ngtcp2-cubic.yaml; then write `strategies: [cubic,
{program: ngtcp2-cubic.yaml}]` in a scenario, and nashbed run it on testbed virtual."""
app = new_app(
    "program",
    help="Programs as strategies: list, write and check the files that describe them.",
    epilog=EPILOG,
    no_args_is_help=True,
)


@command(app, name="list", examples="Example: nashbed program list --json")
def list_programs() -> Answer:
    """List the programs that nashbed knows how to start, and whether they can run here."""
    found = programs.shipped()
    return Answer({"ok": True, "programs": found}, lambda: list_text(found))


@command(app, "programs.new", examples="Example: nashbed program new mine", folder=None)
def new(write: Call) -> Answer:
    """Write NAME.yaml in this folder: how a program is started, to be changed."""
    path = write()
    text = f"wrote {path}; try: nashbed program check {path}"
    return Answer({"ok": True, "file": str(path)}, text)


@command(app, "programs.check", examples="Example: nashbed program check ngtcp2-cubic.yaml --json")
def check(check: Call) -> Answer:
    """Run one flow of a program alone on three paths, and one of them twice.

    With two runs that differ the exit code is 20.
    """
    found = check()
    code = EXIT_ACCEPTANCE if found.differences else EXIT_OK
    said = {"ok": not found.differences, **vars(found)}
    return Answer(said, lambda: verdict_text(found), code)


def list_text(found: Sequence[ShippedProgram]) -> str:
    """The programs that nashbed knows how to start."""
    rows = [
        {"name": each.name, "what": each.title, "here": each.here or "can run"} for each in found
    ]
    more = "in a scenario: strategies: [cubic, {program: NAME}]; your own: nashbed program new mine"
    return rows_text("programs of nashbed (configs/programs)", rows) + more


def verdict_text(found: ProgramVerdict) -> str:
    """What is known of a program after it was tried."""
    rows = [
        {
            ">rate": str(Rate(each.rate_bps)),
            ">share of link": f"{each.link_share:.1%}",
            ">queue": f"{each.queue_ms:.1f} ms",
            ">lost": f"{each.loss:.2%}",
        }
        for each in found.paths
    ]
    version = f" ({found.version})" if found.version else ""
    table = rows_text(f"{found.name}: {found.title}{version}", rows)
    again = ["run twice: equal to the bit"]
    if found.differences:
        again = ["run twice: differs", *(f"  {each}" for each in found.differences)]
    return table + "\n".join(["one flow alone, 40 ms, 1 BDP of drop-tail buffer", *again])
