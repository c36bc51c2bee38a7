"""What a trial's record says of its hosts besides losses: what was short, and what was busy."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from .model import ContractModel

SocketLimit = Literal["receive window", "send buffer"]
"""What of a socket can hold a flow back."""


class CoreLoad(ContractModel):
    """The kernel's work on one core while a trial ran, for all that ran on it meanwhile.

    Attributes:
        core: Number of the core.
        flows: Whether it works for the flows; the packet loop's core does not.
        squeezed: How often receive work was put off because its budget was used up.
        dropped: Packets for which the core's backlog had no room.
        waiting: Packets in its backlog at the end.
        ksoftirqd_ns: Processor time of its ksoftirqd, to which receive work is put off.
        softirq: Share of its time in interrupts, which is where received packets are processed.
        steal: Share that the hypervisor gave to others.
    """

    core: int
    flows: bool
    squeezed: int
    dropped: int
    waiting: int
    ksoftirqd_ns: int
    softirq: float
    steal: float


class HostStrain(ContractModel):
    """What strained the hosts from a lane's programming until it had drained.

    Attributes:
        pressure: What the kernels of both hosts counted of memory and queues that ran short,
            without losing a segment, by host and counter. The counters are a namespace's: all
            lanes that ran meanwhile are in them.
        cores: The kernel's load of each core; None in virtual time, in which it takes no time.
    """

    pressure: dict[str, int] = Field(default_factory=dict)
    cores: tuple[CoreLoad, ...] | None = None


class Repeated(ContractModel):
    """What of a flow crossed the path more than once; of all postcards.

    Attributes:
        flow: Index of the flow in the trial.
        bytes: Payload that left the bottleneck again.
        packets: Segments that did, cut as they were before.
        late: Those that came so late that the news of the earlier copy's arrival must have been
            there before: it was lost behind the bottleneck.
        longest_ns: From a segment's departure until the arrival of its next copy, at most.
        missing_bytes: Payload that the sender sent again, and that neither a second copy nor a
            drop at the bottleneck accounts for: its earlier copy was lost before the bottleneck.
    """

    flow: int
    bytes: int
    packets: int
    late: int
    longest_ns: int
    missing_bytes: int


class WindowLimited(ContractModel):
    """A flow that a socket's size held back, and not its congestion control.

    Attributes:
        flow: Index of the flow in the trial.
        group: Its flow group.
        strategy: Its congestion control.
        by: What held it back.
        share: Share of the measured window.
        stated: The scenario states the size on purpose (`hosts`).
    """

    flow: int
    group: int
    strategy: str
    by: SocketLimit
    share: float
    stated: bool
