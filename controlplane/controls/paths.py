"""The handful of paths on which a control is simulated, and who is on them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from ..contract.units import NS_PER_S, Buffer, Duration, Rate
from ..machine.controls.simulator import SimulatedBottleneck

RATES = (Rate(10**7), Rate(5 * 10**7), Rate(2 * 10**8))
RTTS = (Duration(5 * 10**6), Duration(4 * 10**7), Duration(10**8))
BUFFER = Buffer.parse("2bdp")
LOSSES_PPM = (1_000, 10_000)
"""Random losses of 0.1 and 1 %."""
ALONE_S, TOGETHER_S = 60, 120
"""Length of a simulation of one flow, and of two that have to find their shares."""
WARMUP_ALONE_S, WARMUP_TOGETHER_S = 20, 60
OWN, CUBIC = "own", "cubic"


@dataclass(frozen=True)
class SimulatedCase:
    """One simulation.

    Attributes:
        name: What it shows: `alone`, `loss 1000 ppm`, `pair`, `cubic`.
        where: The bottleneck.
        flows: A control of each flow: OWN or CUBIC.
    """

    name: str
    where: SimulatedBottleneck
    flows: tuple[str, ...]


@dataclass(frozen=True)
class SimulatedPathCases:
    """All simulations of one path.

    Attributes:
        rate: The bottleneck's rate.
        base_rtt: The flows' base RTT.
        alone: One flow by itself.
        lossy: The same with each of LOSSES_PPM.
        pair: Two flows of the control.
        against_cubic: One flow of it and one of CUBIC.
    """

    rate: Rate
    base_rtt: Duration
    alone: SimulatedCase
    lossy: tuple[SimulatedCase, ...]
    pair: SimulatedCase
    against_cubic: SimulatedCase

    @property
    def all(self) -> tuple[SimulatedCase, ...]:
        """Every one of them."""
        return (self.alone, *self.lossy, self.pair, self.against_cubic)


def panel() -> tuple[SimulatedPathCases, ...]:
    """Every rate at every base RTT."""
    return tuple(_cases(rate, rtt) for rate, rtt in product(RATES, RTTS))


def _cases(rate: Rate, rtt: Duration) -> SimulatedPathCases:
    size = BUFFER.to_bytes(rate, rtt)
    alone = SimulatedBottleneck(
        rate.bps, rtt.ns, size, ALONE_S * NS_PER_S, WARMUP_ALONE_S * NS_PER_S
    )
    together = replace(
        alone, duration_ns=TOGETHER_S * NS_PER_S, warmup_ns=WARMUP_TOGETHER_S * NS_PER_S
    )
    lossy = tuple(
        SimulatedCase(f"loss {ppm} ppm", replace(alone, loss_ppm=ppm), (OWN,)) for ppm in LOSSES_PPM
    )
    return SimulatedPathCases(
        rate,
        rtt,
        SimulatedCase("alone", alone, (OWN,)),
        lossy,
        SimulatedCase("pair", together, (OWN, OWN)),
        SimulatedCase("cubic", together, (OWN, CUBIC)),
    )
