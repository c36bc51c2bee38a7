"""`nashbed targets`: what each target can do, and what it has met so far, from data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill, indent

from nashbed import testbeds
from nashbed.testbeds import EVIDENCE, Evidence

from ..contract.target import Capabilities
from ..contract.units import Duration, Rate
from .api_command import command
from .options import Answer, app

WIDTH = 100
EVIDENCE_COLUMNS = (
    "claim", "nearest real thing it has met", "what that proves", "what stays unproven",
)  # fmt: skip


@command(app, examples="Example: nashbed targets --json")
def targets() -> Answer:
    """Show what each target can do.

    Below it stands how far each claim has been verified, and what stays unproven.
    """
    shipped = testbeds.targets()
    text = f"{capability_text(shipped)}\n\n{evidence_text()}"
    return Answer({"ok": True, "targets": shipped, "evidence": EVIDENCE}, text)


def capability_text(targets: Sequence[Capabilities]) -> str:
    """What the targets differ in, each with what they can; those that can the same, together."""
    (_, *names), *rows = capability_rows(targets)
    return "\n".join(_told(what, _alike(names, cells)) for what, *cells in rows)


def _alike(names: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    """The names of those that have the same cell -> the cell."""
    alike = {
        cell: [n for n, own in zip(names, cells, strict=True) if own == cell] for cell in cells
    }
    return {", ".join(those): cell for cell, those in alike.items()}


def _told(head: str, told: Mapping[str, str]) -> str:
    """A line, and below it what there is to tell about it, within the terminal."""
    lines = (f"{name}: {text}" for name, text in told.items())
    folded = [fill(each, WIDTH - 2, subsequent_indent="  ") for each in lines]
    return "\n".join([fill(head, WIDTH), *(indent(each, "  ") for each in folded)])


def capability_rows(targets: Sequence[Capabilities]) -> list[list[str]]:
    """What the targets differ in, and what each can do of it; the first row names them."""
    each = [_row(capabilities) for capabilities in targets]
    return [[what, *(cells[what] for cells in each)] for what in each[0]]


def evidence_text(rows: Sequence[Evidence] = EVIDENCE) -> str:
    """The claims, each with what it has met."""
    cells = [dict(zip(EVIDENCE_COLUMNS, evidence_cells(row), strict=True)) for row in rows]
    return "\n".join(_told(each.pop("claim"), each) for each in cells)


def evidence_cells(row: Evidence) -> tuple[str, ...]:
    """A claim as EVIDENCE_COLUMNS has it."""
    return row.claim, row.met, row.proves, row.unproven


def _row(capabilities: Capabilities) -> dict[str, str]:
    """Column -> cell."""
    exact = capabilities.departure_tolerance_ns <= 1
    return {
        "target": capabilities.target,
        "verified on": capabilities.verified_on,
        "traffic manager": capabilities.traffic_manager,
        "buffer limit": capabilities.limit_detail,
        "queue": ", ".join(capabilities.names("discipline"))
        + (", or one's own" if "file" in capabilities.lane else ""),
        "several queues": _several(capabilities),
        "admits": " or ".join(capabilities.names("arrive_as")),
        "limit counts": " or ".join(capabilities.names("limit_counts")),
        "bottlenecks side by side": "one per core"
        if capabilities.isolated
        else str(capabilities.lanes),
        "highest rate": str(Rate(capabilities.max_rate_bps)),
        "largest buffer": f"{capabilities.max_buffer_bytes / 1e6:.0f} MB",
        "departure times": "scheduled, exact" if exact else "as seen",
        "time": "virtual" if capabilities.virtual_time else "real",
        "arrivals": _arrivals(capabilities),
        "step of the clock": str(Duration(capabilities.clock_step_ns)),
        "per-flow bytes in the queue": "in P4"
        if capabilities.in_queue_registers
        else "from postcards",
    }


def _several(capabilities: Capabilities) -> str:
    """How many queues there can be behind one line, and how they are served and share memory."""
    most = capabilities.lane["queues"]
    if most == 1:
        return "no"
    how = [*capabilities.names("scheduler"), *capabilities.names("memory")]
    own = ["memory by one's own"] if "file" in capabilities.lane else []
    detail = f"; {capabilities.queues_detail}" if capabilities.queues_detail else ""
    return f"up to {most}: {', '.join([*how, *own])}{detail}"


def _arrivals(capabilities: Capabilities) -> str:
    """Who says when a frame arrived at the data plane."""
    if capabilities.virtual_time:
        return "exact"
    return "stamped by the kernel at AF_XDP ports" if capabilities.arrival_stamps else "as found"
