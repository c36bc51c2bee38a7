"""What the loader of CCAs and their simulator say."""

from typing import Literal

from .message import Count, Finite, Message


class CcaRegistered(Message):
    """A CCA that the kernel has taken.

    Attributes:
        state_map: Id of the map with its state of each socket.
        state_bytes: Size of that.
    """

    name: str
    object: str
    state_map: Count
    state_bytes: Count


class CcaRefused(Message):
    """A CCA that the kernel does not take.

    Attributes:
        log: The verifier's last lines.
    """

    object: str
    reason: Literal["verifier", "name_taken", "not_a_control", "not_permitted", "kernel"]
    message: str
    log: tuple[str, ...] = ()


class SimulatedFlow(Message):
    """What a flow of the simulator got.

    Attributes:
        throughput_bps: What it delivered after the warm-up.
        sent: Segments that it sent.
        lost: Those of them that were lost.
    """

    flow: Count
    control: str
    throughput_bps: Finite
    sent: Count
    lost: Count
    mean_rtt_us: Finite


class SimulatedPath(Message):
    """What a simulation says of its bottleneck.

    Attributes:
        utilisation: Share of the link that was used.
        mean_queue_bytes: Mean length of the queue.
        drops: Segments that the queue dropped.
        marks: Segments that it marked.
    """

    utilisation: Finite
    mean_queue_bytes: Finite
    drops: Count
    marks: Count = 0
