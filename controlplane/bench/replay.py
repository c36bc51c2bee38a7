"""The packet path in virtual time, on one core: P4 ingress, queue, P4 egress, postcards."""

from __future__ import annotations

import json
import tempfile
from enum import Enum
from pathlib import Path
from typing import Any

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


class Pipeline(Enum):
    """How the data plane runs the P4 program."""

    AUTO = "auto"
    NATIVE = "native"
    INTERPRETED = "interpreted"


def bench_replay(
    packets: int, repetitions: int, flows: int, burst: int, pipeline: Pipeline = Pipeline.AUTO
) -> tuple[Figure, ...]:
    """Time packets through the whole path, in memory, at 1 Gbit/s and 2 % overload.

    Args:
        packets: Packets of each repetition.
        repetitions: How often.
        flows: Flows that they belong to.
        burst: Packets that arrive at one time, 1 to 64.
        pipeline: How the P4 program is run.

    Raises:
        NashbedError: The data plane is not built, or refused.
    """
    answers = [_once(packets, flows, burst, pipeline) for _ in range(repetitions)]
    ran_as = str(answers[0]["pipeline"])
    found = Figure(
        name="replay_mpps",
        unit="million packets per second",
        values=tuple(answer["mpps"] for answer in answers),
        wanted=TARGET_MPPS,
        detail=f"{packets} packets of {flows} flows, {burst} at once, P4 {ran_as}, one core",
        data={"packets": packets, "flows": flows, "burst": burst, "pipeline": ran_as},
    )
    return (found,)


def _once(packets: int, flows: int, burst: int, pipeline: Pipeline) -> dict[str, Any]:
    limit = Limit(unit="bytes", value=BUFFER_BYTES)
    config = replay_config(spec(), BottleneckProgram(rate_bps=RATE_BPS, limit=limit))
    config["pipeline"] = pipeline.value
    with tempfile.TemporaryDirectory(prefix="nashbed-") as folder:
        file = Path(folder) / "dataplane.json"
        file.write_text(json.dumps(config))
        program = [str(built(DATAPLANE)), "--config", str(file)]
        done = run_dataplane([*program, "--bench", f"{packets},{flows},{burst}"])
    try:
        answer = json.loads(done.out.splitlines()[-1])
        if answer["departed"] + answer["dropped"] != answer["postcards"]:
            raise TargetError(f"the data plane lost postcards: {answer}")
        return {"mpps": float(answer["mpps"]), "pipeline": str(answer["pipeline"])}
    except (ValueError, KeyError, IndexError) as error:
        raise TargetError(f"the data plane's answer cannot be read: {done.out[-200:]}") from error
