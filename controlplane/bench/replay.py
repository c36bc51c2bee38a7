"""The packet path in virtual time, on one core: P4 ingress, queue, P4 egress, postcards."""

from __future__ import annotations

import json
import statistics
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..contract.errors import TargetError
from ..contract.target import BottleneckProgram, Limit
from ..session.locate import DATAPLANE, built, spec
from ..session.program import run_dataplane
from ..targets.dpdk import replay_config

RATE_BPS = 10**9
BUFFER_BYTES = 10**7
"""Two BDP at 1 Gbit/s and 40 ms: packets that have stood in it are in no cache any more."""
TARGET_MPPS = 2.0


@dataclass(frozen=True)
class ReplayBench:
    """The result.

    Attributes:
        packets: Packets of each repetition.
        flows: Flows that they belong to.
        burst: Packets that arrive at one time.
        mpps: Millions of packets per second of each repetition.
        mpps_median: Their median.
        mpps_low: The slowest repetition's.
        mpps_high: The fastest repetition's.
        ns_per_packet: By the median.
        fast_enough: Whether the median reaches two million per second.
    """

    packets: int
    flows: int
    burst: int
    mpps: tuple[float, ...]
    mpps_median: float
    mpps_low: float
    mpps_high: float
    ns_per_packet: float
    fast_enough: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def bench_replay(packets: int, repetitions: int, flows: int, burst: int) -> ReplayBench:
    """Time packets through the whole path, in memory, at 1 Gbit/s and 2 % overload.

    Args:
        packets: Packets of each repetition.
        repetitions: How often.
        flows: Flows that they belong to.
        burst: Packets that arrive at one time, 1 to 64.

    Raises:
        NashbedError: The data plane is not built, or refused.
    """
    rates = [_once(packets, flows, burst) for _ in range(repetitions)]
    median = statistics.median(rates)
    return ReplayBench(
        packets=packets,
        flows=flows,
        burst=burst,
        mpps=tuple(rates),
        mpps_median=median,
        mpps_low=min(rates),
        mpps_high=max(rates),
        ns_per_packet=1e3 / median,
        fast_enough=median >= TARGET_MPPS,
    )


def _once(packets: int, flows: int, burst: int) -> float:
    limit = Limit(unit="bytes", value=BUFFER_BYTES)
    config = replay_config(spec(), BottleneckProgram(rate_bps=RATE_BPS, limit=limit))
    with tempfile.TemporaryDirectory(prefix="nashbed-") as folder:
        file = Path(folder) / "dataplane.json"
        file.write_text(json.dumps(config))
        program = [str(built(DATAPLANE)), "--config", str(file)]
        done = run_dataplane([*program, "--bench", f"{packets},{flows},{burst}"])
    try:
        answer = json.loads(done.out.splitlines()[-1])
        if answer["departed"] + answer["dropped"] != answer["postcards"]:
            raise TargetError(f"the data plane lost postcards: {answer}")
        return float(answer["mpps"])
    except (ValueError, KeyError, IndexError) as error:
        raise TargetError(f"the data plane's answer cannot be read: {done.out[-200:]}") from error
