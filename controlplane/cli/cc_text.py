"""What `nashbed cc` shows a person."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from ..contract.units import Duration, Rate
from ..controls.behaviour import ControlBehaviour
from ..controls.check import ControlVerdict
from ..controls.paths import LOSSES_PPM
from ..controls.shipped import ShippedControl
from .console import as_text

if TYPE_CHECKING:
    from nashbed.analysis.results.conformance import Conformance

PPM_PER_PERCENT = 10_000
COLUMNS = (
    *("rate", "base RTT", "share of link", "queue", "lost"),
    *(f"with {ppm / PPM_PER_PERCENT:g} % loss" for ppm in LOSSES_PPM),
    *("two of it", "against CUBIC"),
)
LEGEND = (
    "alone: share of the link, mean queueing delay, segments lost; with random loss: throughput "
    "relative\nto none; two of it: the smaller throughput divided by the larger; against CUBIC: "
    "its share of both\n(50 % is fair). Simulated, 2 BDP of drop-tail buffer."
)


def list_text(controls: Sequence[ShippedControl]) -> str:
    """The controls that nashbed brings along."""
    table = Table(title="congestion controls of nashbed (hosts/cc)")
    for name in ("name", "what", "in real time", "in virtual time"):
        table.add_column(name)
    for control in controls:
        table.add_row(control.name, control.title, control.real_time, control.virtual_time)
    more = "by name: strategies: [cubic, bbr3]; of your own: strategies: [cubic, ./mycc.c]"
    return f"{as_text(table)}{more}"


def conformance_text(found: Sequence[Conformance]) -> str:
    """How alike two controls behave, a row for each setting."""
    first = found[0]
    table = Table(title=f"{first.control} held against {first.reference}")
    for name in ("setting", "points", "median RTT (ms)", "median goodput (Mbit/s)", "score"):
        table.add_column(name, justify="left" if name == "setting" else "right")
    for each in found:
        row = each.to_dict()
        table.add_row(
            each.setting.label,
            " / ".join(str(n) for n in row["points"]),
            " / ".join(f"{rtt:.1f}" for rtt in row["median_rtt_ms"]),
            " / ".join(f"{bps / 1e6:.2f}" for bps in row["median_goodput_bps"]),
            f"{each.score:.3f}",
        )
    return as_text(table).rstrip()


def verdict_text(verdict: ControlVerdict) -> str:
    """What is known of a control after it was tried."""
    control = verdict.control
    lines = [f"{control.name}: compiles ({verdict.object_from or 'for the simulator alone'})"]
    lines.append(
        "this kernel's verifier takes it" if verdict.loads else f"not loaded: {verdict.skipped}"
    )
    table = Table(title=f"what {control.name} does")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for behaviour in verdict.behaviour:
        table.add_row(*_cells(behaviour))
    return "\n".join([*lines, as_text(table) + LEGEND])


def _cells(behaviour: ControlBehaviour) -> list[str]:
    return [
        str(Rate(behaviour.rate_bps)),
        str(Duration(behaviour.base_rtt_ns)),
        f"{behaviour.link_share:.1%}",
        f"{behaviour.queue_ms:.1f} ms",
        f"{behaviour.loss:.2%}",
        *(f"{each:.0%}" for each in behaviour.under_loss),
        f"{behaviour.pair_ratio:.2f}",
        f"{behaviour.share_against_cubic:.0%}",
    ]
