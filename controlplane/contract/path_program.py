"""What a data plane is told of one way of a flow group's path, besides its delay."""

from __future__ import annotations

from .limit import QueuedLine
from .model import ContractModel, JsonObject

LEAST_ACK_BYTES, MOST_ACK_BYTES = 14 + 20 + 20, 14 + 60 + 60
"""Frames without payload: headers without options, and with all of them."""


class ChangeProgram(ContractModel):
    """What a path is from a time on.

    Attributes:
        at_ns: When, after the common start.
        delay_ns: Its delay.
        loss_ppb: Its random loss.
    """

    at_ns: int
    delay_ns: int
    loss_ppb: int


class JitterProgram(ContractModel):
    """What packets take more.

    Attributes:
        points_ns: Quantiles of the distribution, from the least to the most.
        every_ns: How long a draw holds; 0: for one packet.
        seed: Of its sequence.
    """

    points_ns: tuple[int, ...]
    every_ns: int
    seed: int


class ReorderProgram(ContractModel):
    """Which packets are late.

    Attributes:
        share_ppb: Their share.
        by_ns: How late.
        seed: Of its sequence.
    """

    share_ppb: int
    by_ns: int
    seed: int


class GilbertProgram(ContractModel):
    """Losses by two states, good and bad.

    Attributes:
        p_ppb: From good to bad.
        r_ppb: From bad to good.
        loss_bad_ppb: What the bad state loses.
        loss_good_ppb: What the good state loses.
        seed: Of its sequence.
    """

    p_ppb: int
    r_ppb: int
    loss_bad_ppb: int
    loss_good_ppb: int
    seed: int


class PathProgram(ContractModel):
    """Everything that one way of a path does besides.

    Attributes:
        changes: By time.
        jitter: What packets take more.
        reorder: Which are late.
        gilbert: Which are lost.
    """

    changes: tuple[ChangeProgram, ...] = ()
    jitter: JitterProgram | None = None
    reorder: ReorderProgram | None = None
    gilbert: GilbertProgram | None = None

    @property
    def is_any(self) -> bool:
        """Whether it does anything."""
        return self != PathProgram()

    def told(self) -> JsonObject:
        """The same in the words of the control socket."""
        return self.model_dump(exclude_none=True, exclude=None if self.changes else {"changes"})


class ReturnProgram(QueuedLine):
    """A bottleneck of the way back; its limit includes what is being sent."""

    @property
    def longest_ns(self) -> int:
        """How long acknowledgements may be in its queue."""
        packets, held = self.limit.value // LEAST_ACK_BYTES, self.limit.value
        if self.limit.unit == "packets":
            packets, held = self.limit.value, self.limit.value * MOST_ACK_BYTES
        return (held + packets * self.overhead_bytes) * 8 * 10**9 // self.rate_bps
