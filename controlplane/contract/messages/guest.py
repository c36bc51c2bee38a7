"""What process 1 of a guest says."""

from typing import Self

from pydantic import model_validator

from .message import Count, Message


class StartedProcess(Message):
    """The answer to `start`.

    Attributes:
        process: The process's number.
    """

    process: Count


class GuestEvent(Message, extra="forbid"):
    """What a process in a guest said, or that it has ended.

    Attributes:
        process: Its number.
        line: A line of its standard output.
        exit: Its exit code; 128 and the signal when one killed it.
    """

    process: Count
    line: str | None = None
    exit: Count | None = None

    @model_validator(mode="after")
    def _either(self) -> Self:
        if (self.line is None) == (self.exit is None):
            raise ValueError("an event has either a line or an exit code")
        return self


class PassedTime(Message):
    """The answer to `run`.

    Attributes:
        now_ns: The guest's CLOCK_MONOTONIC.
        events: What its processes did, in order.
    """

    now_ns: Count
    events: tuple[GuestEvent, ...]


class FileText(Message):
    """The answer to `read`.

    Attributes:
        text: The file's content.
    """

    text: str


class QdiscState(Message):
    """The answer to `qdisc`: what queues before a host's interface.

    Attributes:
        kind: As tc names it.
        dropped: Packets that it dropped.
        throttled: How often fq held back a flow's packet until its time; 0 of another.
    """

    kind: str
    dropped: Count
    throttled: Count
