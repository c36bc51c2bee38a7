"""`nashbed targets`: what each target can do, and what it has met so far, as tables from data."""

from __future__ import annotations

from nashbed import testbeds
from nashbed.testbeds import EVIDENCE, Evidence

from ..contract.target import Capabilities
from ..contract.units import Duration, Rate
from .api_command import command
from .options import Answer, app


@command(app, examples="Example: nashbed targets --json")
def targets() -> Answer:
    """Show what each target can do.

    A second table says how far each claim has been verified, and what stays unproven.
    """
    shipped = testbeds.targets()
    text = f"{capability_table(shipped)}\n\n{evidence_table()}"
    return Answer({"ok": True, "targets": shipped, "evidence": EVIDENCE}, text)


def capability_table(targets: list[Capabilities]) -> str:
    """The targets as a Markdown table, one row each."""
    return _markdown([_row(capabilities) for capabilities in targets])


def evidence_table(rows: tuple[Evidence, ...] = EVIDENCE) -> str:
    """The claims as a Markdown table, one row each."""
    return _markdown(
        [
            {
                "claim": row.claim,
                "nearest real thing it has met": row.met,
                "what that proves": row.proves,
                "what stays unproven": row.unproven,
            }
            for row in rows
        ]
    )


def _markdown(rows: list[dict[str, str]]) -> str:
    """Rows, at least one, as column -> cell."""
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *(list(row.values()) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(capabilities: Capabilities) -> dict[str, str]:
    """Column -> cell."""
    exact = capabilities.departure_tolerance_ns <= 1
    return {
        "target": f"`{capabilities.target}`",
        "verified on": capabilities.verified_on,
        "traffic manager": capabilities.traffic_manager,
        "buffer limit": capabilities.limit_detail,
        "queue": ", ".join(capabilities.names("discipline"))
        + (", or one's own" if "file" in capabilities.lane else ""),
        "several queues": _several(capabilities),
        "admits": " or ".join(capabilities.names("arrivals")),
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
    return f"up to {most}: {', '.join([*how, *own])}"


def _arrivals(capabilities: Capabilities) -> str:
    """Who says when a frame arrived at the data plane."""
    if capabilities.virtual_time:
        return "exact"
    return "stamped by the kernel at AF_XDP ports" if capabilities.arrival_stamps else "as found"
