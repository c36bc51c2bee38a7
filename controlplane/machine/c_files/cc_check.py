"""Whether a CCA compiles, loads, and behaves: what `nashbed cc check` finds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

from ...contract.c_files import CFile
from ...contract.errors import ConfigError
from ...contract.units import NS_PER_S, Buffer, Duration, Rate
from ...store.staging import scratch_folder
from ..log import ShowStep
from .cc_simulator import SimulatedBottleneck, Simulation, compile_for_simulator, simulate
from .ebpf_loader import try_loading
from .kernel_support import held_ccas, kernel_problems, kernels_own_ccas
from .kinds import form_of, is_shipped
from .objects import PACKAGES, ebpf_object, find_clang

RATES = (Rate(10**7), Rate(5 * 10**7), Rate(2 * 10**8))
RTTS = (Duration(5 * 10**6), Duration(4 * 10**7), Duration(10**8))
PATHS = tuple(product(RATES, RTTS))
BUFFER = Buffer.parse("2bdp")
LOSSES_PPM = (1_000, 10_000)
"""Random losses of 0.1 and 1 %."""
ALONE_S, TOGETHER_S = 60, 120
"""Length of a simulation of one flow, and of two that have to find their shares."""
WARMUP_ALONE_S, WARMUP_TOGETHER_S = 20, 60
OWN, CUBIC = "own", "cubic"
BITS_PER_BYTE = 8
SILENT_SHARE = 0.001
"""Share of an otherwise idle link below which a CCA counts as not sending."""


@dataclass(frozen=True)
class CcaVerdict:
    """What is known of a CCA after it was tried.

    Attributes:
        object_from: What made its eBPF object; empty: there is none.
        loads: Whether this machine's kernel takes it; None: that was not tried.
        skipped: Why something was not tried; empty: everything was.
        behaviour: What it does on each path.
        parameters: Those of a kernel module, by name: the kernel's word for their type.
    """

    cca: CFile
    object_from: str
    loads: bool | None
    skipped: str
    behaviour: tuple[CcaBehaviour, ...]
    parameters: Mapping[str, str] = field(default_factory=dict)


def check_cca(cca: CFile, show: ShowStep) -> CcaVerdict:
    """Try a CCA of cc.h, or one of eBPF, which the simulator does not take.

    Raises:
        ConfigError: It does not compile, the verifier refuses it, its name is taken, it crashes,
            or it never sends.
        HostError: The simulator is not built.
    """
    if cca.name in kernels_own_ccas():
        raise ConfigError(f"{cca.source}: the kernel has {cca.name!r} of its own; rename the file")
    if form_of(cca) == "ebpf":
        return CcaVerdict(cca, *_loaded(cca), behaviour=())
    with scratch_folder("cc") as folder:
        shared = folder / f"{cca.name}.so"
        show(f"compiling {cca.name}", 0, len(PATHS))
        compile_for_simulator(cca, shared)
        object_from, loads, skipped = _loaded(cca)
        found = _simulated(cca, shared, show)
    require_sending(cca.name, found)
    return CcaVerdict(cca, object_from, loads, skipped, tuple(found))


Run = Callable[[SimulatedBottleneck, tuple[str, ...]], Simulation]
"""Simulates flows, each OWN or CUBIC, at a bottleneck."""


@dataclass(frozen=True)
class CcaBehaviour:
    """What a CCA does on one path. Shares and ratios are of 1.

    Attributes:
        rate_bps: The bottleneck's rate.
        link_share: Share of the link that one flow alone takes.
        queue_ms: Mean queueing delay with one flow alone.
        loss: Share of its segments that one flow alone loses.
        under_loss: Random loss in ppm -> its throughput with it, divided by that without.
        pair_ratio: The smaller throughput of two flows of it, divided by the larger.
        share_against_cubic: Its share of what it and one CUBIC flow get.
    """

    rate_bps: int
    base_rtt_ns: int
    link_share: float
    queue_ms: float
    loss: float
    under_loss: dict[int, float]
    pair_ratio: float
    share_against_cubic: float

    @property
    def sends(self) -> bool:
        """Whether anything to speak of is sent."""
        return self.link_share >= SILENT_SHARE


def behaviour_on(rate: Rate, base_rtt: Duration, run: Run) -> CcaBehaviour:
    """Simulate a CCA on a path: alone, with random loss, against itself, against CUBIC."""
    where = SimulatedBottleneck(
        rate_bps=rate.bps,
        rtt_ns=base_rtt.ns,
        buffer_bytes=BUFFER.to_bytes(rate, base_rtt),
        duration_ns=ALONE_S * NS_PER_S,
        warmup_ns=WARMUP_ALONE_S * NS_PER_S,
    )
    both = replace(where, duration_ns=TOGETHER_S * NS_PER_S, warmup_ns=WARMUP_TOGETHER_S * NS_PER_S)
    alone = run(where, (OWN,))
    mine = alone.flows[0]
    lossy = {ppm: run(replace(where, loss_ppm=ppm), (OWN,)).flows[0] for ppm in LOSSES_PPM}
    pair = [flow.throughput_bps for flow in run(both, (OWN, OWN)).flows]
    against = [flow.throughput_bps for flow in run(both, (OWN, CUBIC)).flows]
    return CcaBehaviour(
        rate_bps=rate.bps,
        base_rtt_ns=base_rtt.ns,
        link_share=mine.throughput_bps / rate.bps,
        queue_ms=alone.path.mean_queue_bytes * BITS_PER_BYTE / rate.bps * 1e3,
        loss=ratio(mine.lost, mine.sent),
        under_loss={
            ppm: ratio(flow.throughput_bps, mine.throughput_bps) for ppm, flow in lossy.items()
        },
        pair_ratio=ratio(min(pair), max(pair)),
        share_against_cubic=ratio(against[0], sum(against)),
    )


def require_sending(name: str, found: list[CcaBehaviour]) -> None:
    """Raise ConfigError for a CCA that never sends."""
    if not any(each.sends for each in found):
        raise ConfigError(
            f"{name}: never sends: on no simulated path it takes {SILENT_SHARE:.1%} of the link; "
            "does it set a window (cc_set_cwnd) and, if it paces, a rate (cc_set_rate)?"
        )


def ratio(part: float, whole: float) -> float:
    """A part of the whole; 0 of nothing."""
    return part / whole if whole else 0.0


def _loaded(cca: CFile) -> tuple[str, bool | None, str]:
    """What made the eBPF object, whether it loads, and why that was not tried."""
    if find_clang() is None and not is_shipped(cca):
        return "", None, f"clang is not installed: {PACKAGES}"
    made = ebpf_object(cca)
    problems = kernel_problems()
    if problems:
        return made.made_by, None, problems[0]
    if cca.name in held_ccas():
        return made.made_by, None, "a nashbed-cc that is running has registered this name"
    try_loading(made)
    return made.made_by, True, ""


def _simulated(cca: CFile, shared: Path, show: ShowStep) -> list[CcaBehaviour]:
    """What the CCA does on each path."""

    def run(where: SimulatedBottleneck, flows: tuple[str, ...]) -> Simulation:
        return simulate(where, [str(shared) if flow == OWN else flow for flow in flows])

    def on(path: tuple[Rate, Duration]) -> CcaBehaviour:
        return behaviour_on(*path, run)

    found = []
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        for done, each in enumerate(pool.map(on, PATHS)):
            found.append(each)
            show(f"simulating {cca.name}", done + 1, len(PATHS))
    return found
