"""`nashbed cc`: CCAs in one C file each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer
from nashbed import cc
from nashbed.cc import LOSSES_PPM, CcaBehaviour, CcaVerdict, ShippedCca

from ..contract.errors import EXIT_OK
from ..contract.units import Duration, Rate
from .api_command import Call, command
from .console import as_text, new_table
from .options import AsJson, answer, new_app

if TYPE_CHECKING:
    from nashbed.analysis.results.conformance import Conformance

EPILOG = """Example: nashbed cc new mycc; nashbed cc check mycc.c; then write `strategies: [cubic,
./mycc.c]` in a scenario beside it, and nashbed run the scenario."""
PPM_PER_PERCENT = 10_000
COLUMNS = (
    *("rate", "base RTT", "share of link", "queue", "lost"),
    *(f"with {ppm / PPM_PER_PERCENT:g} % loss" for ppm in LOSSES_PPM),
    *("two of it", "against CUBIC"),
)
LEGEND = (
    "alone: share of the link, mean queueing delay, segments lost; with random loss: throughput "
    "relative\nto none; two of it: the smaller throughput divided by the larger; against CUBIC: "
    "its share of both\n(50 % is fair). 2 BDP of drop-tail buffer; simulated, a kernel "
    "module in guests."
)
app = new_app(
    "cc",
    help="Congestion controls in one C file: list, write, check and compare them.",
    epilog=EPILOG,
    no_args_is_help=True,
)


@app.command("list", epilog="Example: nashbed cc list --json")
def list_ccas(as_json: AsJson = False) -> int:
    """List the congestion controls that nashbed brings along, and how they are had here."""
    ccas = cc.shipped()
    answer({"ok": True, "controls": ccas}, as_json, "" if as_json else list_text(ccas))
    return EXIT_OK


@command(app, "cc.new", examples="Example: nashbed cc new mycc", folder=None)
def new(write: Call, as_json: AsJson = False) -> int:
    """Write NAME.c in this folder: a small congestion control that works, to be changed."""
    path = write()
    text = f"wrote {path}; it includes {cc.TEMPLATE.parent}/cc.h; try: nashbed cc check {path}"
    answer({"ok": True, "file": str(path)}, as_json, text)
    return EXIT_OK


@command(app, "cc.check", examples="Example: nashbed cc check mycc.c --json")
def check(check: Call, as_json: AsJson = False) -> int:
    """Compile a congestion control, load it if this machine can, and show what it does."""
    verdict = check()
    said = {
        "ok": True,
        "name": verdict.cca.name,
        "digest": verdict.cca.digest,
        "object_from": verdict.object_from,
        "loads": verdict.loads,
        "skipped": verdict.skipped,
        "paths": verdict.behaviour,
    }
    answer(said, as_json, "" if as_json else verdict_text(verdict))
    return EXIT_OK


@command(
    app,
    "cc.conform",
    examples="Example: nashbed cc conform results/20260101T120000Z-a bbrk --to bbr",
    cca=typer.Argument(metavar="CONTROL"),
    reference=typer.Option("--to"),
)
def conform(conform: Call, as_json: AsJson = False) -> int:
    """Show how alike two congestion controls of a run behave where each is alone."""
    found = conform()
    text = "" if as_json else conformance_text(found)
    answer([each.model_dump() for each in found], as_json, text)
    return EXIT_OK


def list_text(ccas: Sequence[ShippedCca]) -> str:
    """The CCAs that nashbed brings along."""
    columns = ("name", "what", "in real time", "in virtual time")
    table = new_table("congestion controls of nashbed (hosts/cc)", *columns)
    for cca in ccas:
        table.add_row(cca.name, cca.title, cca.real_time, cca.virtual_time)
    more = "by name: strategies: [cubic, bbr3]; of your own: strategies: [cubic, ./mycc.c]"
    return f"{as_text(table)}{more}"


def conformance_text(found: Sequence[Conformance]) -> str:
    """How alike two CCAs behave, a row for each setting."""
    first = found[0]
    columns = ("setting", ">points", ">median RTT (ms)", ">median goodput (Mbit/s)", ">score")
    table = new_table(f"{first.cca} held against {first.reference}", *columns)
    for each in found:
        table.add_row(
            each.setting,
            " / ".join(str(n) for n in each.points),
            " / ".join(f"{rtt:.1f}" for rtt in each.median_rtt_ms),
            " / ".join(f"{bps / 1e6:.2f}" for bps in each.median_goodput_bps),
            f"{each.score:.3f}",
        )
    return as_text(table).rstrip()


def verdict_text(verdict: CcaVerdict) -> str:
    """What is known of a CCA after it was tried."""
    cca = verdict.cca
    lines = [f"{cca.name}: compiles ({verdict.object_from or 'for the simulator alone'})"]
    if verdict.loads:
        lines.append("this kernel's verifier takes it")
    if verdict.skipped:
        lines.append(f"not loaded: {verdict.skipped}")
    if verdict.parameters:
        lines.append(f"parameters: {', '.join(verdict.parameters)}")
    if not verdict.behaviour:
        return "\n".join([*lines, "not simulated: eBPF runs in real time only"])
    table = new_table(f"what {cca.name} does", *(f">{name}" for name in COLUMNS))
    for behaviour in verdict.behaviour:
        table.add_row(*_cells(behaviour))
    return "\n".join([*lines, as_text(table) + LEGEND])


def _cells(behaviour: CcaBehaviour) -> list[str]:
    return [
        str(Rate(behaviour.rate_bps)),
        str(Duration(behaviour.base_rtt_ns)),
        f"{behaviour.link_share:.1%}",
        f"{behaviour.queue_ms:.1f} ms",
        f"{behaviour.loss:.2%}",
        *(f"{each:.0%}" for each in behaviour.under_loss.values()),
        f"{behaviour.pair_ratio:.2f}",
        f"{behaviour.share_against_cubic:.0%}",
    ]
