"""Who is to blame for whose drops: dropped bytes, split among those who held the queue."""

from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.contract.shared import DROP_REASONS
from numpy.typing import NDArray

from ..align.arrived import Outlook
from ..align.data import FloatArray, IntArray
from .holders import Drops


@dataclass(frozen=True)
class Blame:
    """The drops of packets that arrived in a window, by party. P parties, R reasons.

    Attributes:
        queue: Queue of each party, shape (P,).
        flow: Flow of each party, shape (P,).
        blamed_bytes: Dropped bytes of the party of each row, split among the parties of the columns
            by the bytes that they held at each drop, shape (P, P).
        unheld_bytes: Dropped bytes of each party at an empty queue, shape (P,).
        packets: Dropped packets by reason, shape (P, R).
        bytes: Their bytes, shape (P, R).
        unexplained: Refused packets that found other bytes than all parties held together.
    """

    queue: IntArray
    flow: IntArray
    blamed_bytes: FloatArray
    unheld_bytes: FloatArray
    packets: IntArray
    bytes: IntArray
    unexplained: int

    def among(self, of_party: IntArray, classes: int) -> FloatArray:
        """By classes of parties: dropped bytes of the rows, split among the columns.

        Args:
            of_party: The class of each party, shape (P,).
            classes: Number of classes K.

        Returns:
            Bytes, shape (K, K).
        """
        sums = np.zeros((classes, classes))
        np.add.at(sums, (of_party[:, None], of_party[None, :]), self.blamed_bytes)
        return sums


def blame_shares(blamed_bytes: FloatArray) -> FloatArray:
    """Each holder's share in the drops of each party (unit 1).

    At a drop, each holder's share is its bytes by all bytes in the queue; the mean over the drops
    is weighted by the bytes dropped. With one queue and drop-tail it is who filled the buffer that
    the packet found full. Source: the question of ConQuest (Chen, Landau Feibish, Koral, Rexford,
    Rottenstreich, CoNEXT 2019), whose answer is a sketch's.

    Args:
        blamed_bytes: Dropped bytes by party and holder, shape (P, P).

    Returns:
        Shares that add up to 1 in each row, shape (P, P); NaN in rows without drops.
    """
    total = blamed_bytes.sum(axis=1, keepdims=True)
    shares = np.full_like(blamed_bytes, np.nan)
    np.divide(blamed_bytes, total, out=shares, where=total > 0)
    return shares


class BlameSums:
    """Adds drops up.

    Args:
        window_ns: Drops of packets that arrived in [from, to) count.
    """

    def __init__(self, outlook: Outlook, window_ns: tuple[int, int]) -> None:
        parties, reasons = len(outlook.flow), len(DROP_REASONS)
        self._outlook, self._window_ns = outlook, window_ns
        self._blamed = np.zeros((parties, parties))
        self._unheld = np.zeros(parties)
        self._packets = np.zeros((parties, reasons), np.int64)
        self._bytes = np.zeros((parties, reasons), np.int64)
        self._unexplained = 0

    def add(self, drops: Drops) -> None:
        """Add some drops."""
        low, high = self._window_ns
        drops = drops.part((drops.arrived_ns >= low) & (drops.arrived_ns < high))
        if not len(drops):
            return
        self._unexplained += drops.unexplained
        np.add.at(self._packets, (drops.party, drops.reason), 1)
        np.add.at(self._bytes, (drops.party, drops.reason), drops.packet_bytes)
        total = drops.held.sum(axis=0)
        np.add.at(self._unheld, drops.party[total == 0], drops.packet_bytes[total == 0])
        weight: NDArray[np.float64] = drops.packet_bytes / np.maximum(total, 1)
        for party in np.unique(drops.party).tolist():
            mine = drops.party == party
            self._blamed[party] += drops.held[:, mine] @ weight[mine]

    def blame(self) -> Blame:
        """What was added up; a flow that only passed through another queue is no party there."""
        outlook = self._outlook
        kept = outlook.queue == outlook.queue_of_flow[outlook.flow]
        kept |= self._blamed.any(axis=0) | self._packets.any(axis=1)
        return Blame(
            queue=outlook.queue[kept],
            flow=outlook.flow[kept],
            blamed_bytes=self._blamed[np.ix_(kept, kept)],
            unheld_bytes=self._unheld[kept],
            packets=self._packets[kept],
            bytes=self._bytes[kept],
            unexplained=self._unexplained,
        )
