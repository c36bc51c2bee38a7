"""What each target can do, as a table generated from capability data."""

from __future__ import annotations

from pathlib import Path

from ..config import load_testbed
from ..contract.errors import ConfigError
from ..contract.target import Capabilities
from ..contract.units import Duration, Rate
from ..machine.paths import CONFIGS
from ..targets import capabilities_of
from ..targets.registry import TARGETS

BEGIN, END = "<!-- targets: `make targets` writes this -->", "<!-- end of targets -->"


def shipped_capabilities(folder: Path = CONFIGS / "testbeds") -> list[Capabilities]:
    """What each target can do on the first of the shipped testbeds that has it."""
    first: dict[str, Capabilities] = {}
    for path in sorted(folder.glob("*.yaml")):
        testbed = load_testbed(path).model
        if testbed.target in TARGETS and testbed.target not in first:
            first[testbed.target] = capabilities_of(testbed)
    return [first[name] for name in TARGETS if name in first]


def capability_table(targets: list[Capabilities]) -> str:
    """The targets as a Markdown table, one row each."""
    rows = [_row(can) for can in targets]
    columns = list(rows[0])
    lines = [columns, ["---"] * len(columns), *(list(row.values()) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(can: Capabilities) -> dict[str, str]:
    """Column -> cell."""
    exact = can.departure_tolerance_ns <= 1
    return {
        "target": f"`{can.target}`",
        "traffic manager": can.traffic_manager,
        "buffer limit": can.limit_detail,
        "bottlenecks side by side": str(can.lanes),
        "highest rate": str(Rate(can.max_rate_bps)),
        "largest buffer": f"{can.max_buffer_bytes / 1e6:.0f} MB",
        "postcards": ", ".join(can.postcards),
        "departure times": "scheduled, exact" if exact else "as seen",
        "step of the clock": str(Duration(can.clock_step_ns)),
        "per-flow bytes in the queue": "in P4" if can.in_queue_registers else "from postcards",
    }


def write_into(path: Path, table: str) -> None:
    """Replace the table between the markers of a file.

    Raises:
        ConfigError: The file has no such markers.
    """
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ConfigError(f"{path}: has no lines {BEGIN!r} and {END!r} to write the table between")
    path.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
