"""What a model is asked: one bottleneck, one base RTT, CUBIC and BBR flows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from nashbed.controlplane.contract.errors import ConfigError


class ModelError(ConfigError):
    """A model is asked something that makes no sense, such as a negative buffer."""


@dataclass(frozen=True)
class Question:
    """A competition that a model is to predict.

    Attributes:
        rate_bps: Rate C of the bottleneck in bit/s.
        base_rtt_s: Round-trip time R without queueing, the same for all flows, in seconds.
        buffer_bytes: Drop-tail buffer B in bytes.
        cubic: CUBIC flows N_c.
        bbr: BBR flows N_b.
        duration_s: How long they compete, in seconds.
        k: Part of its largest aggregate window that CUBIC keeps in a congestion event, as
            measured or assumed; only the model with a given k reads it.
        cubic_start_s: When the CUBIC flows start, in seconds after the common start. What follows
            is read by the fluid model alone, `measured_from_s` by the closed form too; the others
            know no start.
        bbr_start_s: When the BBR flows start.
        start_spread_s: Each flow starts up to this much later.
        measured_from_s: Start of the time over which shares are meant; it lasts until `duration_s`.
        window_bytes: Most that a socket's buffers let a flow have in flight; None: no limit.
    """

    rate_bps: float
    base_rtt_s: float
    buffer_bytes: float
    cubic: int
    bbr: int
    duration_s: float = 120.0
    k: float | None = None
    cubic_start_s: float = 0.0
    bbr_start_s: float = 0.0
    start_spread_s: float = 0.1
    measured_from_s: float = 0.0
    window_bytes: float | None = None

    def __post_init__(self) -> None:
        """Refuse what no model could answer.

        Raises:
            ModelError: A quantity is not positive and finite, or there is no flow.
        """
        for name in ("rate_bps", "base_rtt_s", "buffer_bytes", "duration_s"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise ModelError(f"{name} is {value:g}; give a number above 0")
        for name in ("cubic_start_s", "bbr_start_s", "start_spread_s", "measured_from_s"):
            value = getattr(self, name)
            if not 0 <= value < self.duration_s:
                raise ModelError(f"{name} is {value:g}; give 0 or more, less than duration_s")
        if min(self.cubic, self.bbr) < 0 or self.flows == 0:
            raise ModelError(
                f"{self.cubic} CUBIC and {self.bbr} BBR flows: give at least one, none negative"
            )

    @property
    def flows(self) -> int:
        """All flows N."""
        return self.cubic + self.bbr

    @property
    def bdp_bytes(self) -> float:
        """Bandwidth-delay product C R in bytes."""
        return self.rate_bps * self.base_rtt_s / 8

    @property
    def buffer_bdp(self) -> float:
        """Buffer X in bandwidth-delay products."""
        return self.buffer_bytes / self.bdp_bytes

    @property
    def fair_share_bps(self) -> float:
        """C / N in bit/s."""
        return self.rate_bps / self.flows

    def with_bbr(self, bbr: int) -> Question:
        """The same with another number of BBR flows among as many flows."""
        return replace(self, cubic=self.flows - bbr, bbr=bbr)
