"""What is measured: lanes as a panel has them, on a testbed whose own capacity is set aside."""

from __future__ import annotations

from dataclasses import dataclass

from ...config import Loaded, parse_scenario
from ...contract.scenario import Scenario
from ...contract.target import Capabilities
from ...contract.testbed import Capacity, Testbed
from ...contract.units import Buffer, Duration, Rate

RATE = Rate(50_000_000)
BUFFER = Buffer.parse("2bdp")
BASE_RTT = Duration(40_000_000)
MOST_WARMUP_S = 5.0
SCENARIO = """\
name: capacity
title: Lanes side by side
bottleneck: {{rate: {rate}, buffer: {buffer}}}
flows: [{{name: main, count: {flows}, base_rtt: {base_rtt}}}]
strategies: [cubic, bbr]
duration: {duration_ms}ms
warmup: {warmup_ms}ms
start_jitter: {jitter_ms}ms
trials: {lanes}
seed: {seed}
max_attempts: 1
sweep: {{mixes: [{bbr}]}}
{more}"""


@dataclass(frozen=True)
class Lanes:
    """What every lane is like.

    Attributes:
        rate: Its bottleneck's rate.
        buffer: Its buffer.
        base_rtt: Its flows' base RTT.
        flows: Its flows; half of them run BBR, the others CUBIC.
        seconds: How long it is measured.
        more: Further lines of the scenario; tests widen bounds by them.
    """

    rate: Rate = RATE
    buffer: Buffer = BUFFER
    base_rtt: Duration = BASE_RTT
    flows: int = 10
    seconds: float = 30.0
    more: str = ""

    def scenario(self, lanes: int, seed: int) -> Loaded[Scenario]:
        """So many lanes as trials of one scenario, each tried once.

        Args:
            lanes: How many.
            seed: No two attempts have the same.

        Raises:
            ConfigError: There is no such lane (a rate of 0, no second for the flows).
        """
        warmup_ms = int(1000 * min(self.seconds / 4, MOST_WARMUP_S))
        text = SCENARIO.format(
            rate=self.rate,
            buffer=self.buffer,
            flows=self.flows,
            base_rtt=self.base_rtt,
            duration_ms=int(1000 * self.seconds),
            warmup_ms=warmup_ms,
            jitter_ms=min(100, warmup_ms),
            lanes=lanes,
            seed=seed,
            bbr=self.flows // 2,
            more=self.more,
        )
        return parse_scenario(text, "capacity")


def measuring_bed(testbed: Loaded[Testbed], rate: Rate) -> Loaded[Testbed]:
    """The testbed with room for every lane it has, whatever it is said to carry.

    Args:
        testbed: The testbed.
        rate: Of a lane.
    """
    lanes = testbed.model.dataplane.lanes
    capacity = Capacity(rate=Rate(rate.bps * lanes), lanes=lanes)
    model = testbed.model.model_copy(update={"capacity": capacity})
    return Loaded(model, testbed.text, f"{testbed.name} (its capacity is being measured)")


def why_not(testbed: Testbed, can: Capabilities, rate: Rate) -> str:
    """Why lanes of a rate cannot be counted on a testbed; empty: they can.

    Args:
        testbed: The testbed.
        can: What its target can do.
        rate: Of a lane.
    """
    if testbed.switch is not None:
        return (
            f"target {can.target}: the testbed file states the capacity of its switch, and it is "
            "not measured"
        )
    if can.isolated:
        return (
            f"target {can.target}: each lane is a machine of its own; there is one for each core, "
            "whatever its rate"
        )
    if can.lanes < 2:
        return f"target {can.target} has one lane only: there is nothing to count"
    if can.max_rate_bps < rate.bps:
        most = Rate(can.max_rate_bps)
        return f"target {can.target} supports at most {most}, and each lane has {rate}"
    return ""
