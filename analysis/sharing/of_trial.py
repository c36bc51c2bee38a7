"""One trial: what each queue and flow held of the memory and got of the line, and who met whom."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from nashbed.controlplane.contract.queues import Queues
from nashbed.controlplane.store.parquet import BATCH_ROWS, Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from ..align.arrived import (
    FIRST_COLUMNS,
    QUEUE_COLUMNS,
    Outlook,
    are_all,
    look_ahead,
    queue_of,
    several_queues,
    with_outlook,
)
from ..align.data import IntArray, QueueTotals
from ..align.load import link_of
from ..align.totals import POSTCARD_COLUMNS, sum_postcards
from ..measures import TrialMeasures
from ..metrics.throughput import shares
from .blame import Blame, BlameSums
from .holders import COLUMNS, HolderSearch

CELLS = 1 << 24
"""Rows x flows of a chunk, at most: with many flows, chunks are shorter."""
FEWEST_ROWS = 1 << 12
READ = tuple(dict.fromkeys((*COLUMNS, *POSTCARD_COLUMNS, *QUEUE_COLUMNS)))
WHOLE = "queue"
"""Name of the queue where there is one."""


@dataclass(frozen=True)
class TrialSharing:
    """Who shared the queue's memory in the measured window. Q queues, P parties, F flows.

    Attributes:
        queues: The queues' names, length Q.
        by_queue: Sums of each queue in place of each flow, shapes (Q,).
        blame: Its drops, and who held the queue at each.
    """

    measures: TrialMeasures
    queues: tuple[str, ...]
    by_queue: QueueTotals
    blame: Blame

    @property
    def memory_shares(self) -> NDArray[np.float64]:
        """Each queue's share of the mean bytes in the memory, shape (Q,)."""
        return shares(self.by_queue.occupancy_byte_ns)

    @property
    def throughput_shares(self) -> NDArray[np.float64]:
        """Each queue's share of the bytes that left, shape (Q,)."""
        return shares(self.by_queue.departed_bytes)

    @property
    def dropped_packets(self) -> int:
        """How many packets were dropped."""
        return int(self.blame.packets.sum())

    @cached_property
    def classes(self) -> tuple[tuple[int, str], ...]:
        """Queue and strategy of the parties, each pair once, in the order of queues."""
        names = self.measures.strategy
        pairs = zip(self.blame.queue.tolist(), self.blame.flow.tolist(), strict=True)
        found = {(queue, names[flow]) for queue, flow in pairs}
        order = {name: i for i, name in enumerate(dict.fromkeys(names))}
        return tuple(sorted(found, key=lambda each: (each[0], order[each[1]])))

    @property
    def class_of(self) -> IntArray:
        """The class of each party, shape (P,)."""
        pairs = zip(self.blame.queue.tolist(), self.blame.flow.tolist(), strict=True)
        return np.array(
            [self.classes.index((queue, self.measures.strategy[flow])) for queue, flow in pairs],
            np.int64,
        )

    def class_text(self, index: int) -> str:
        """A class in words; see the function of this name."""
        return class_text(self.queues, *self.classes[index])


def class_text(queues: Sequence[str], queue: int, strategy: str) -> str:
    """Flows of a strategy in words, and with several queues in which."""
    plain = len(queues) == 1 or queues[queue] == strategy
    return strategy if plain else f"{strategy} in {queues[queue]}"


def problem_of(trial: SealedTrial) -> str | None:
    """Why it is not known who held the queue at a trial's drops; None: it is."""
    if are_all(trial):
        return None
    kept = "bins" if trial.has("bins") else "none"
    return (
        f"who held the queue when a packet was dropped takes the postcards of all packets, and the "
        f"trials keep {kept}; write `telemetry: {{postcards: all}}`"
    )


def applied_queues(trial: SealedTrial) -> Queues | None:
    """The queues as applied; None: there is one, or postcards do not say which one."""
    return trial.record.applied.queues if several_queues(trial) else None


def queue_names(trial: SealedTrial) -> tuple[str, ...]:
    """The queues' names."""
    applied = applied_queues(trial)
    return (WHOLE,) if applied is None else tuple(queue.name for queue in applied.queues)


def share_trial(measures: TrialMeasures) -> TrialSharing:
    """Read one trial whose postcards are all kept; they are streamed twice.

    Raises:
        RunError: The postcards are damaged.
    """
    trial = measures.trial
    outlook = first_pass(measures)
    search, blame = HolderSearch(outlook), BlameSums(outlook, trial.record.window_ns)

    def searched() -> Iterator[Arrays]:
        """The chunks, each of whose drops has been searched, by queue in place of flow."""
        for chunk, arrival_ns, departure_ns in with_outlook(second_pass(measures), outlook):
            blame.add(search.add(chunk, arrival_ns, departure_ns))
            yield chunk | {"flow": queue_of(chunk)}

    names = queue_names(trial)
    totals = sum_postcards(searched(), len(names), link_of(trial))
    return TrialSharing(measures, names, totals, blame.blame())


def first_pass(measures: TrialMeasures) -> Outlook:
    """What a first pass over a trial's postcards finds."""
    flows = len(measures.strategy)
    return look_ahead(measures.trial.batches("postcards", FIRST_COLUMNS, _rows(flows)), flows)


def second_pass(measures: TrialMeasures) -> Iterator[Arrays]:
    """The trial's chunks with all that a search for holders reads."""
    return measures.trial.batches("postcards", READ, _rows(len(measures.strategy)))


def _rows(flows: int) -> int:
    return max(FEWEST_ROWS, min(BATCH_ROWS, CELLS // max(flows, 1)))
