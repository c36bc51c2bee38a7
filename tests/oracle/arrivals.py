"""Arrivals for queue disciplines: patterns that enter and leave their states many times.

Each is an array of dtype ARRIVAL (linux_qdiscs.py), times in order, the same for the same seed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.oracle.linux_qdiscs import ARRIVAL

NOT_ECT, ECT_1, ECT_0, CE = 0, 1, 2, 3
FULL = 1514
SKB_BYTES = 2304
"""What a full-sized packet takes of a Linux machine's memory, about."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Traffic:
    """What comes.

    Attributes:
        rate_bps: The line's rate: loads are shares of it.
        flows: How many flows; the flow of a packet is drawn.
        sizes: "full", "mixed" (Internet mix: 64, 576 and 1514 bytes) or "any".
        ecn: "none", "ect0", "ect1" or "mixed" (a fixed codepoint for each flow).
    """

    pattern: str = "cbr"
    rate_bps: int = 100_000_000
    seconds: float = 3.0
    flows: int = 1
    sizes: str = "full"
    ecn: str = "none"
    seed: int = 1

    @property
    def packet_s(self) -> float:
        """How long the line sends a packet of the mean size."""
        mean = {"full": FULL, "mixed": MIX @ MIX_SHARES, "any": (54 + FULL) / 2}[self.sizes]
        return float(mean * 8 / self.rate_bps)


MIX = np.array([64.0, 576.0, 1514.0])
MIX_SHARES = np.array([7, 4, 1]) / 12


def cbr(traffic: Traffic, rng: np.random.Generator) -> Floats:
    """A constant 1.1 times the line's rate."""
    return np.arange(0, traffic.seconds, traffic.packet_s / 1.1)


def poisson(traffic: Traffic, rng: np.random.Generator) -> Floats:
    """Poisson arrivals, 1.05 times the line's rate."""
    n = int(traffic.seconds * 1.05 / traffic.packet_s)
    return np.cumsum(rng.exponential(traffic.packet_s / 1.05, n))


def bursts(traffic: Traffic, rng: np.random.Generator) -> Floats:
    """On and off: bursts at four times the line's rate, mean load 0.95."""
    times = []
    now = 0.0
    while now < traffic.seconds:
        n = int(rng.integers(5, 400))
        times.append(now + np.arange(n) * traffic.packet_s / 4)
        now += rng.exponential(n * traffic.packet_s / 0.95 - n * traffic.packet_s / 4)
        now += n * traffic.packet_s / 4
    return np.sort(np.concatenate(times))


def steps(traffic: Traffic, rng: np.random.Generator) -> Floats:
    """Steps of load between 0.5 and 2 for 20 to 300 ms each: in and out of dropping."""
    return _modulated(traffic, rng, lambda: rng.choice([0.5, 0.9, 1.02, 1.2, 2.0]), (0.02, 0.3))


def sawtooth(traffic: Traffic, rng: np.random.Generator) -> Floats:
    """Load that rises from 0.7 to 1.3 in a second and falls back, as a flow's window does."""
    times = []
    for begin in np.arange(0, traffic.seconds, 1.0):
        loads = np.linspace(0.7, 1.3, 50)
        for at, load in zip(np.arange(50) / 50, loads, strict=True):
            times.append(begin + at + np.arange(0, 0.02, traffic.packet_s / load))
    return np.concatenate(times)


def ties(traffic: Traffic, rng: np.random.Generator) -> Floats:
    """Several at one instant, and gaps of whole packet times: what comes as another leaves."""
    n = int(traffic.seconds / traffic.packet_s)
    gaps = rng.choice([0, 0, 1, 1, 2, 20], n, p=[0.2, 0.19, 0.3, 0.2, 0.1, 0.01])
    return np.cumsum(gaps * traffic.packet_s)


PATTERNS: dict[str, Callable[[Traffic, np.random.Generator], Floats]] = {
    "bursts": bursts,
    "cbr": cbr,
    "poisson": poisson,
    "sawtooth": sawtooth,
    "steps": steps,
    "ties": ties,
}


def arrivals(traffic: Traffic) -> NDArray[Any]:
    """Shape (n,), dtype ARRIVAL."""
    rng = np.random.default_rng(traffic.seed)
    times = PATTERNS[traffic.pattern](traffic, rng)
    made = np.zeros(len(times), ARRIVAL)
    made["ns"] = np.round(times * 1e9).astype(np.uint64)
    made["bytes"] = _sizes(traffic, rng, len(times))
    made["truesize"] = SKB_BYTES
    flow = _flows(traffic, rng, len(times))
    made["hash"] = flow_hash(flow)
    codepoint = {"none": NOT_ECT, "ect0": ECT_0, "ect1": ECT_1}
    mixed = np.array([ECT_0, NOT_ECT, ECT_1, CE])[flow % 4]
    made["ecn"] = mixed if traffic.ecn == "mixed" else codepoint[traffic.ecn]
    return made


def recorded(ecn: int = NOT_ECT) -> NDArray[Any]:
    """What six TCP flows, three CUBIC and three BBR, sent through 50 Mbit/s in virtual time (4 s).

    Shape (n,), dtype ARRIVAL; recorded behind drop-tail, 1 BDP at 30 ms: `nashbed run`.
    """
    with np.load(Path(__file__).parent / "recorded.npz") as held:
        made = np.zeros(len(held["bytes"]), ARRIVAL)
        made["ns"] = np.cumsum(held["gap_ns"].astype(np.uint64))
        made["bytes"] = held["bytes"]
        made["hash"] = flow_hash(held["flow"].astype(np.int64))
    made["truesize"] = SKB_BYTES
    made["ecn"] = ecn
    return made


def flow_hash(flow: NDArray[np.int64]) -> NDArray[np.uint32]:
    """A hash of each flow: flows below 1024 have a queue each, of 1024."""
    return (flow.astype(np.uint64) << np.uint64(22)).astype(np.uint32)


def _sizes(traffic: Traffic, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    if traffic.sizes == "mixed":
        return rng.choice(MIX.astype(np.int64), n, p=MIX_SHARES)
    if traffic.sizes == "any":
        return rng.integers(54, 1515, n)
    return np.full(n, FULL)


def _flows(traffic: Traffic, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """One flow has half of the packets, the others share the rest."""
    if traffic.flows == 1:
        return np.zeros(n, np.int64)
    return np.where(rng.random(n) < 0.5, 0, rng.integers(1, traffic.flows, n))


def _modulated(
    traffic: Traffic,
    rng: np.random.Generator,
    draw_load: Callable[[], float],
    lengths: tuple[float, float],
) -> Floats:
    """Poisson arrivals whose load is drawn anew from time to time."""
    edges = [0.0]
    while edges[-1] < traffic.seconds:
        edges.append(edges[-1] + rng.uniform(*lengths))
    times = []
    for begin, end in pairwise(edges):
        load = draw_load()
        n = rng.poisson((end - begin) * load / traffic.packet_s)
        times.append(np.sort(rng.uniform(begin, end, n)))
    return np.concatenate(times)
