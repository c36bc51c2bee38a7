"""What a data plane is told of one way of a flow group's path, besides its delay."""

from __future__ import annotations

from pydantic import Field

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


class PathProgram(ContractModel):
    """Everything that one way of a path does besides.

    Attributes:
        changes: By time.
        impairments: Jitter, reordering and losses by two states, each with the seed of its
            sequence, in the words of the control socket.
    """

    changes: tuple[ChangeProgram, ...] = ()
    impairments: JsonObject = Field(default_factory=dict)

    def told(self) -> JsonObject:
        """The same in the words of the control socket."""
        told = self.model_dump(include={"changes"}) if self.changes else {}
        return told | self.impairments


class ReturnLine(QueuedLine):
    """A bottleneck of the way back; its limit includes what is being sent."""

    @property
    def longest_ns(self) -> int:
        """How long acknowledgements may be in its queue."""
        packets, held = self.limit.value // LEAST_ACK_BYTES, self.limit.value
        if self.limit.unit == "packets":
            packets, held = self.limit.value, self.limit.value * MOST_ACK_BYTES
        return (held + packets * self.overhead_bytes) * 8 * 10**9 // self.rate_bps
