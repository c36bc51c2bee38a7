"""CCAs in the simulator (hosts/cc/sim): virtual time, the same numbers each time."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CC = Path(os.environ.get("NASHBED_BUILD", ROOT / "build")) / "hosts" / "cc"
SIMULATOR = CC / "nashbed-cc-sim"
FRAME_BYTES = 1514
MSS_BYTES = 1448

needs_simulator = pytest.mark.skipif(
    not SIMULATOR.is_file(), reason="needs the congestion controls' simulator: run `make build`"
)


@dataclass(frozen=True)
class SimPath:
    """The bottleneck that the flows share.

    Attributes:
        mbps: Rate in Mbit/s, frames of 1514 bytes.
        loss_ppm: Segments in a million that are lost at random.
        mark_bytes: With more queued, segments of controls that need ECN are marked; 0: none.
    """

    mbps: float
    rtt_ms: float
    buffer_bdp: float = 2
    loss_ppm: int = 0
    mark_bytes: int = 0

    @property
    def bdp_bytes(self) -> float:
        """Bandwidth-delay product."""
        return self.mbps * 1e6 / 8 * self.rtt_ms / 1e3


@dataclass(frozen=True)
class SimFlow:
    """What one flow had after the warm-up (throughput with headers; RTT mean of its samples)."""

    flow: int
    control: str
    throughput_bps: float
    sent: int
    lost: int
    mean_rtt_us: float

    @property
    def mbps(self) -> float:
        """Throughput in Mbit/s."""
        return self.throughput_bps / 1e6


@dataclass(frozen=True)
class SimSample:
    """What a flow was doing at an instant: the socket, what its CCA tells, the queue."""

    time_ns: int
    flow: int
    cwnd: int
    pacing_bps: int
    inflight: int
    delivered_bytes: int
    srtt_us: int
    bw: int
    min_rtt_us: int
    pacing_gain: int
    cwnd_gain: int
    mode: int
    queue_bytes: int


@dataclass(frozen=True)
class SimRun:
    """A simulation's flows, samples (if asked for) and what the link did after the warm-up."""

    flows: list[SimFlow]
    samples: list[SimSample]
    utilisation: float
    mean_queue_bytes: float
    drops: int
    marks: int

    def mean_mbps(self, cca: str) -> float:
        """Mean throughput in Mbit/s of the flows of a CCA."""
        rates = [flow.mbps for flow in self.flows if flow.control == cca]
        return sum(rates) / len(rates)

    def of_flow(self, flow: int, after_s: float = 0) -> list[SimSample]:
        """The samples of one flow, from a time on."""
        since = after_s * 1e9
        return [one for one in self.samples if one.flow == flow and one.time_ns >= since]


def simulate(
    path: SimPath,
    ccas: Sequence[str],
    *,
    seconds: float = 30,
    warmup_s: float = 10,
    seed: int = 1,
    sample_ms: float = 0,
) -> SimRun:
    """Run flows through one bottleneck.

    Args:
        ccas: One name a flow: a shipped CCA, or `cubic`, which the simulator has itself.
        seconds: Virtual time.
        seed: Of starts, losses and the CCAs' random numbers.
        sample_ms: A sample of each flow so often; 0 takes none.
    """
    options = {
        "rate-bps": path.mbps * 1e6,
        "rtt-ns": path.rtt_ms * 1e6,
        "buffer-bytes": max(path.buffer_bdp * path.bdp_bytes, 2 * FRAME_BYTES),
        "duration-ns": seconds * 1e9,
        "warmup-ns": warmup_s * 1e9,
        "seed": seed,
        "loss-ppm": path.loss_ppm,
        "sample-ns": sample_ms * 1e6,
        "mark-bytes": path.mark_bytes,
    }
    command = [str(SIMULATOR)]
    command += [item for name, value in options.items() for item in (f"--{name}", f"{value:.0f}")]
    command += [name if name == "cubic" else str(CC / f"{name}.so") for name in ccas]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return _read(done.stdout)


def _read(lines: str) -> SimRun:
    events = [json.loads(line) for line in lines.splitlines()]
    kinds: dict[str, list[dict[str, object]]] = {"flow": [], "sample": [], "end": []}
    for event in events:
        kinds[str(event.pop("event"))].append(event)
    return SimRun(
        flows=[SimFlow(**one) for one in kinds["flow"]],  # type: ignore[arg-type]
        samples=[SimSample(**one) for one in kinds["sample"]],  # type: ignore[arg-type]
        **kinds["end"][0],  # type: ignore[arg-type]
    )
