"""`nashbed cc`: CCAs in one C file each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer
from nashbed import cc
from nashbed.cc import CcaBehaviour, CcaVerdict, ShippedCca

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from ..contract.model import JsonObject
from ..contract.units import Duration, Rate
from .api_command import Call, command
from .console import rows_text, section_text
from .options import Answer, new_app

if TYPE_CHECKING:
    from nashbed.analysis.results.conformance import Conformance
    from nashbed.evaluation import Evaluation

EPILOG = """Example: nashbed cc new mycc; nashbed cc check mycc.c; then write `strategies: [cubic,
./mycc.c]` in a scenario beside it, and nashbed run the scenario."""
PPM_PER_PERCENT = 10_000
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


@command(app, name="list", examples="Example: nashbed cc list --json")
def list_ccas() -> Answer:
    """List the congestion controls that nashbed brings along, and how they are had here."""
    ccas = cc.shipped()
    return Answer({"ok": True, "controls": ccas}, lambda: list_text(ccas))


@command(app, "cc.new", examples="Example: nashbed cc new mycc", folder=None)
def new(write: Call) -> Answer:
    """Write NAME.c in this folder: a small congestion control that works, to be changed."""
    path = write()
    text = f"wrote {path}; it includes {cc.TEMPLATE.parent}/cc.h; try: nashbed cc check {path}"
    return Answer({"ok": True, "file": str(path)}, text)


@command(app, "cc.check", examples="Example: nashbed cc check mycc.c --json")
def check(check: Call) -> Answer:
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
    return Answer(said, lambda: verdict_text(verdict))


@command(
    app,
    "evaluation.evaluate",
    examples="""Examples: nashbed cc evaluate bbr3 --size quick;
nashbed cc evaluate mycc.c --out results/mine; nashbed cc evaluate copa --on local:4""",
)
def evaluate(evaluate: Call) -> Answer:
    """Show what the standards ask of a congestion control, and what came out: one page."""
    return _evaluated(evaluate())


@command(
    app,
    "evaluation.evaluate",
    examples="""Examples: nashbed cc conform bbr3 --suite bbr-draft;
nashbed cc conform mycc.c --suite c4 --size full --on local:4""",
    battery=None,
    suite=typer.Option("--suite"),
)
def conform(evaluate: Call, suite: str) -> Answer:
    """Hold a congestion control to the bounds of a suite of test cases.

    Every trial of a case has to be within its bounds; with one beyond them the exit code is 20.

    Args:
        suite: A folder with battery.yaml, or the name of one in configs/evaluations.
    """
    return _evaluated(evaluate(battery=suite))


def _evaluated(evaluation: Evaluation) -> Answer:
    """What was found, and code 20 where limits are missed."""
    found = evaluation.found
    said = {"ok": not found.missed, "page": str(evaluation.page)} | found.answer
    lines = [*found.harm, *found.games]
    lines += [_row_line("look twice", row) for row in found.looked_at_twice]
    lines += [_row_line(row["verdict"], row) for row in found.missed]
    lines += [found.held] if found.battery.limited else []
    code = EXIT_ACCEPTANCE if found.missed else EXIT_OK
    return Answer(said, "\n".join([*lines, f"page: {evaluation.page}"]), code)


def _row_line(said: str, row: JsonObject) -> str:
    read = f"{row['what']} ({row['setting']})" if row["what"] else row["note"]
    return f"{said}: {row['section']} {row['name']}: {read}"


@command(
    app,
    "evaluation.controls_table",
    examples="""Example: nashbed cc table results/rfc9743-bbr-quick results/rfc9743-copa-quick
--out controls.csv --out controls.png""",
)
def table(controls_table: Call) -> Answer:
    """Lay evaluations of several congestion controls side by side."""
    found = controls_table()
    rows = found.table.to_dicts()
    return Answer({"ok": True, "controls": rows}, lambda: section_text(found.frame.section(found)))


@command(
    app,
    "cc.alike",
    examples="Example: nashbed cc alike results/20260101T120000Z-a bbrk --to bbr",
    cca=typer.Argument(metavar="CONTROL"),
    reference=typer.Option("--to"),
)
def alike(alike: Call) -> Answer:
    """Show how alike two congestion controls of a run behave where each is alone."""
    found = alike()
    return Answer([each.model_dump() for each in found], lambda: conformance_text(found))


def list_text(ccas: Sequence[ShippedCca]) -> str:
    """The CCAs that nashbed brings along."""
    rows = [
        {
            "name": cca.name,
            "what": cca.title,
            "in real time": cca.real_time,
            "in virtual time": cca.virtual_time,
        }
        for cca in ccas
    ]
    more = "by name: strategies: [cubic, bbr3]; of your own: strategies: [cubic, ./mycc.c]"
    return rows_text("congestion controls of nashbed (hosts/cc)", rows) + more


def conformance_text(found: Sequence[Conformance]) -> str:
    """How alike two CCAs behave, a row for each setting."""
    first = found[0]
    rows = [
        {
            "setting": each.setting,
            ">points": " / ".join(map(str, each.points)),
            ">median RTT (ms)": " / ".join(f"{rtt:.1f}" for rtt in each.median_rtt_ms),
            ">median goodput (Mbit/s)": " / ".join(
                f"{bps / 1e6:.2f}" for bps in each.median_goodput_bps
            ),
            ">score": f"{each.score:.3f}",
        }
        for each in found
    ]
    return rows_text(f"{first.cca} held against {first.reference}", rows).rstrip()


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
    table = rows_text(f"what {cca.name} does", [_row(each) for each in verdict.behaviour])
    return "\n".join([*lines, table + LEGEND])


def _row(behaviour: CcaBehaviour) -> dict[str, str]:
    losses = {
        f">with {ppm / PPM_PER_PERCENT:g} % loss": f"{each:.0%}"
        for ppm, each in behaviour.under_loss.items()
    }
    return {
        ">rate": str(Rate(behaviour.rate_bps)),
        ">base RTT": str(Duration(behaviour.base_rtt_ns)),
        ">share of link": f"{behaviour.link_share:.1%}",
        ">queue": f"{behaviour.queue_ms:.1f} ms",
        ">lost": f"{behaviour.loss:.2%}",
        **losses,
        ">two of it": f"{behaviour.pair_ratio:.2f}",
        ">against CUBIC": f"{behaviour.share_against_cubic:.0%}",
    }
