"""The memory that several queues share: who held it at a drop, and which bursts it absorbs."""

import numpy as np
from nashbed.controlplane.contract.queues import Memory
from numpy.typing import NDArray

from ..align.data import FloatArray, IntArray, TrialData
from ..errors import NotMeasuredError
from .metric import Metric


def own_share_at_drops(own_share_bytes: FloatArray, met_bytes: FloatArray) -> FloatArray:
    """Share of the memory that a refused packet's own queue held, by bytes dropped (unit 1).

    1: the flow's queue alone filled what refused it. 0: others did.

    Args:
        own_share_bytes: Bytes of the refused packets x their queue's share at each, shape (F,).
        met_bytes: Their bytes, shape (F,).

    Returns:
        Shares, shape (F,); NaN for flows of which nothing was refused.
    """
    result = np.full(len(met_bytes), np.nan)
    np.divide(own_share_bytes, met_bytes, out=result, where=met_bytes > 0)
    return result


def _own_share(trial: TrialData) -> FloatArray:
    queue = trial.need_queue()
    if queue.own_share_bytes is None or queue.met_bytes is None:
        raise NotMeasuredError("the trial has one queue, or nothing was refused at several")
    return own_share_at_drops(queue.own_share_bytes, queue.met_bytes)


OWN_SHARE = Metric(
    name="own_queue_share_at_drop",
    title="Own queue's share of the memory at drops",
    unit="1",
    scope="flow",
    definition="Of the bytes that the flow's refused packets found in the memory, the share in "
    "their own one of several queues, weighted by the bytes refused.",
    source="the question of ConQuest (Chen et al., CoNEXT 2019), by queue",
    compute=_own_share,
)


def beside_long(others_bytes: IntArray) -> NDArray[np.bool_]:
    """Which bursts came beside a long queue, shape (n,).

    The others are long while they hold at least what they hold at a queue's average burst: whatever
    the threshold is that the memory's policy gives them.

    Args:
        others_bytes: What all other queues held when each burst of a queue began, shape (n,).
    """
    if not len(others_bytes):
        return np.zeros(0, bool)
    beside: NDArray[np.bool_] = (others_bytes > 0) & (others_bytes >= others_bytes.mean())
    return beside


def absorbed_burst(
    burst_bytes: IntArray, lost_bytes: IntArray, others_bytes: IntArray
) -> tuple[float, float]:
    """The largest burst without loss beside a long queue, and the smallest with loss, in bytes.

    Args:
        burst_bytes: Bytes of each burst of a queue, shape (n,).
        lost_bytes: Of these lost for want of memory, shape (n,).
        others_bytes: What all other queues held when it began, shape (n,).

    Returns:
        Both; NaN where there is no such burst.

    Source: how large a burst a memory absorbs beside queues that have taken their share of it is
    the question of Choudhury and Hahne (IEEE/ACM ToN 1998) and Addanki et al. (ABM, SIGCOMM 2022).
    """
    beside = beside_long(others_bytes)
    whole, cut = burst_bytes[beside & (lost_bytes == 0)], burst_bytes[beside & (lost_bytes > 0)]
    largest = float(whole.max()) if len(whole) else float("nan")
    return largest, float(cut.min()) if len(cut) else float("nan")


def sudden_burst(memory: Memory, memory_bytes: int, queues: int, queue: int) -> float | None:
    """The largest burst without loss, in theory, of packets that arrive all at once, in bytes.

    All other queues are as long as the policy lets them be. With dynamic thresholds m of them hold
    m alpha B / (1 + m alpha) of B bytes, and the burst is refused when it has alpha times what it
    leaves free: at alpha B / ((1 + alpha) (1 + m alpha)).

    Args:
        memory: The policy, as applied.
        memory_bytes: The memory, B.
        queues: How many queues share it, m + 1.
        queue: The one that the burst arrives at.

    Returns:
        Bytes; None: nothing is known of one's own policy.

    Source: the threshold of Choudhury and Hahne (IEEE/ACM ToN 6(2), 1998), which the long queues
    and then the burst meet.
    """
    others = queues - 1
    if memory.alpha is not None:
        return memory.alpha * memory_bytes / ((1 + memory.alpha) * (1 + others * memory.alpha))
    if memory.name == "complete_partitioning":
        return memory_bytes / queues
    if memory.name == "complete_sharing":
        return 0.0
    if memory.limits:
        rest = memory_bytes - (sum(memory.limits) - memory.limits[queue])
        return float(min(memory.limits[queue], max(0, rest)))
    return None


def _absorbed(trial: TrialData) -> FloatArray:
    bursts = trial.need_bursts()
    result = np.full(trial.flows, np.nan)
    for queue in np.unique(bursts.queue_of_flow[bursts.queue_of_flow >= 0]).tolist():
        mine = bursts.of_queue(queue)
        largest, _ = absorbed_burst(mine.bytes, mine.lost_bytes, mine.others_bytes)
        result[bursts.queue_of_flow == queue] = largest
    return result


ABSORBED = Metric(
    name="absorbed_burst",
    title="Largest burst without loss beside a long queue",
    unit="B",
    scope="flow",
    definition="The largest train of packets that began at the flow's empty queue, lasted at most "
    "its smallest base RTT and lost nothing for want of memory, while the other queues held at "
    "least what they held at this queue's average train.",
    source="trains: Jain and Routhier, JSAC 1986; absorption: Choudhury and Hahne, ToN 1998",
    compute=_absorbed,
)
