"""The packet path in virtual time, on one core: P4 ingress, queue, P4 egress, postcards."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from ..contract.errors import TargetError
from ..contract.figure import Figure
from ..contract.target import BottleneckProgram, Limit
from ..session.locate import DATAPLANE, built, spec
from ..session.program import run_dataplane
from ..targets.dpdk import replay_config

RATE_BPS = 10**9
BUFFER_BYTES = 10**7
"""Two BDP at 1 Gbit/s and 40 ms: packets that have stood in it are in no cache any more."""
TARGET_MPPS = 2.0


def bench_replay(packets: int, repetitions: int, flows: int, burst: int) -> tuple[Figure, ...]:
    """Time packets through the whole path, in memory, at 1 Gbit/s and 2 % overload.

    Args:
        packets: Packets of each repetition.
        repetitions: How often.
        flows: Flows that they belong to.
        burst: Packets that arrive at one time, 1 to 64.

    Raises:
        NashbedError: The data plane is not built, or refused.
    """
    rates = tuple(_once(packets, flows, burst) for _ in range(repetitions))
    found = Figure(
        name="replay_mpps",
        unit="million packets per second",
        values=rates,
        wanted=TARGET_MPPS,
        detail=f"{packets} packets of {flows} flows, {burst} at once, one core",
        data={"packets": packets, "flows": flows, "burst": burst},
    )
    return (found,)


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
