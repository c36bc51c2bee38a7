"""What a control does on a path, from its simulations. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from ..contract.errors import ConfigError
from ..machine.controls.simulator import Simulation
from .paths import LOSSES_PPM, SimulatedCase, SimulatedPathCases

BITS_PER_BYTE = 8
SILENT_SHARE = 0.001
"""Of a link that it has to itself: a control that takes less does not send."""

RunCase = Callable[[SimulatedCase], Simulation]
"""Runs a simulation."""


@dataclass(frozen=True)
class ControlBehaviour:
    """What a control does on one path. Shares and ratios are of 1.

    Attributes:
        rate_bps: The bottleneck's rate.
        base_rtt_ns: The base RTT.
        link_share: Share of the link that one flow alone takes.
        queue_ms: Mean queueing delay with one flow alone.
        loss: Share of its segments that one flow alone loses.
        under_loss: Its throughput with each random loss of LOSSES_PPM, divided by that without.
        pair_ratio: The smaller throughput of two flows of it, divided by the larger.
        share_against_cubic: Its share of what it and one CUBIC flow get.
    """

    rate_bps: int
    base_rtt_ns: int
    link_share: float
    queue_ms: float
    loss: float
    under_loss: tuple[float, ...]
    pair_ratio: float
    share_against_cubic: float

    @property
    def sends(self) -> bool:
        """Whether anything to speak of is sent."""
        return self.link_share >= SILENT_SHARE

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        under = {str(ppm): each for ppm, each in zip(LOSSES_PPM, self.under_loss, strict=True)}
        return asdict(self) | {"under_loss": under}


def behaviour_on(path: SimulatedPathCases, run: RunCase) -> ControlBehaviour:
    """Simulate a control on a path.

    Args:
        path: The simulations.
        run: Runs one.
    """
    alone = run(path.alone)
    mine = alone.flows[0]
    pair = [flow.throughput_bps for flow in run(path.pair).flows]
    against = [flow.throughput_bps for flow in run(path.against_cubic).flows]
    return ControlBehaviour(
        rate_bps=path.rate.bps,
        base_rtt_ns=path.base_rtt.ns,
        link_share=mine.throughput_bps / path.rate.bps,
        queue_ms=alone.path.mean_queue_bytes * BITS_PER_BYTE / path.rate.bps * 1e3,
        loss=_ratio(mine.lost, mine.sent),
        under_loss=tuple(
            _ratio(run(case).flows[0].throughput_bps, mine.throughput_bps) for case in path.lossy
        ),
        pair_ratio=_ratio(min(pair), max(pair)),
        share_against_cubic=_ratio(against[0], sum(against)),
    )


def require_sending(name: str, found: list[ControlBehaviour]) -> None:
    """Raise ConfigError for a control that never sends."""
    if not any(each.sends for each in found):
        raise ConfigError(
            f"{name}: never sends: on no simulated path it takes {SILENT_SHARE:.1%} of the link; "
            "does it set a window (cc_set_cwnd) and, if it paces, a rate (cc_set_rate)?"
        )


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
