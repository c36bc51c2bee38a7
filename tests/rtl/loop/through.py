"""Frames through the two ports of the simulated FPGA at given times, and the delays by trailers."""

import json
from pathlib import Path

from nashbed.analysis.captures import TimestampSource
from nashbed.analysis.clock import TimeBase
from nashbed.analysis.clock.match import common, read_seen
from tests.rtl.simulate import simulate
from tests.support.timestamps import EPOCH, pcap

WRAPPER = Path(__file__).parents[1] / "timestamper" / "two_ports.v"
CLOCK = TimeBase("timestamper")

Plan = list[tuple[int, bytes]]
"""Time in ns and bytes of each frame, in order, apart by more than they last."""


def through_ports(folder: Path, before: Plan, behind: Plan, period_ns: int) -> tuple[Path, Path]:
    """Simulate both ports; returns what they captured, before and behind."""
    frames = [[(time, data.hex()) for time, data in port] for port in (before, behind)]
    plan = {"epoch_s": EPOCH, "period_ns": period_ns, "frames": frames}
    (folder / "plan.json").write_text(json.dumps(plan))
    simulate(
        "two_ports",
        "tests.rtl.loop.checks",
        folder / "sim",
        {"PERIOD_NS": period_ns},
        (WRAPPER,),
        {"LOOP_FOLDER": str(folder)},
    )
    paths = []
    for port in (0, 1):
        left = json.loads((folder / f"port{port}.json").read_text())
        paths.append(folder / f"port{port}.pcap")
        paths[-1].write_bytes(pcap((EPOCH, 0, bytes.fromhex(f)) for f in left))
    return paths[0], paths[1]


def delays_ps(before: Path, behind: Path) -> dict[int, int]:
    """TCP sequence number -> delay between the ports, by their trailers."""
    came, went = (read_seen(TimestampSource(path), CLOCK) for path in (before, behind))
    at_came, at_went = common(came, went)
    delay = went.times.take(at_went) - came.times.take(at_came)
    return dict(zip(came.seq[at_came].tolist(), delay.tolist(), strict=True))
