"""Who shared the queue's memory in every valid trial of a run, by setting and mix."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from nashbed.controlplane.contract.shared import DROP_REASONS
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import once
from numpy.typing import NDArray

from ..measures import OnStep, RunMeasures, TrialMeasures, each_step, silent
from ..metrics.losses import packet_rate
from ..metrics.memory import absorbed_burst, own_share_at_drops
from ..metrics.queue import packet_mean_delay
from ..metrics.statistics import Estimate, estimate
from ..state import State
from .blame import blame_shares
from .of_trial import TrialSharing, class_text, problem_of, share_trial

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MixSharing:
    """The repetitions of one mix at one setting.

    Attributes:
        trials: The repetitions; at least one.
    """

    setting: Setting
    state: State
    trials: tuple[TrialSharing, ...]

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues' names."""
        return self.trials[0].queues

    @property
    def classes(self) -> tuple[tuple[int, str], ...]:
        """Queue and strategy of the flows, each pair once, over all repetitions."""
        return tuple(dict.fromkeys(each for trial in self.trials for each in trial.classes))

    @cached_property
    def blamed_bytes(self) -> Array:
        """Dropped bytes of each class, split among all by what they held, shape (K, K)."""
        places = {each: index for index, each in enumerate(self.classes)}
        total = np.zeros((len(places), len(places)))
        for trial in self.trials:
            own = np.array([places[each] for each in trial.classes], np.int64)
            of_party = own[trial.class_of]
            total += trial.blame.among(of_party, len(places))
        return total

    @property
    def blame(self) -> Array:
        """Each class's share in the drops of each, over all repetitions, shape (K, K)."""
        return blame_shares(self.blamed_bytes)

    def class_text(self, index: int) -> str:
        """A class in words; see `of_trial.class_text`."""
        return class_text(self.queues, *self.classes[index])

    def reading(self, name: str, queue: int) -> Estimate | None:
        """A reading of one queue, mean over the repetitions.

        Args:
            queue: Index of the queue.
        """
        return estimate([READINGS[name][2](trial, queue) for trial in self.trials])

    def dropped_by_reason(self) -> dict[str, int]:
        """Dropped packets of all repetitions, by reason; those that never happened are left out."""
        packets = sum(trial.blame.packets.sum(axis=0) for trial in self.trials)
        return {r: int(n) for r, n in zip(DROP_REASONS, np.atleast_1d(packets), strict=True) if n}


Reading = Callable[[TrialSharing, int], float]


def _loss(trial: TrialSharing, queue: int) -> float:
    sums = trial.by_queue
    return float(packet_rate(sums.dropped_packets, sums.arrived_packets)[queue])


def _marks(trial: TrialSharing, queue: int) -> float:
    sums = trial.by_queue
    if sums.marked_packets is None:
        return float("nan")
    return float(packet_rate(sums.marked_packets, sums.departed_packets)[queue])


def _delay(trial: TrialSharing, queue: int) -> float:
    sums = trial.by_queue
    return packet_mean_delay(float(sums.delay_sum_ns[queue]), float(sums.departed_packets[queue]))


def _own_share(trial: TrialSharing, queue: int) -> float:
    sums = trial.by_queue
    if sums.own_share_bytes is None or sums.met_bytes is None:
        return float("nan")
    return float(own_share_at_drops(sums.own_share_bytes, sums.met_bytes)[queue])


def _burst(which: int) -> Reading:
    def read(trial: TrialSharing, queue: int) -> float:
        bursts = trial.measures.bursts
        if bursts is None:
            return float("nan")
        mine = bursts.of_queue(queue)
        return absorbed_burst(mine.bytes, mine.lost_bytes, mine.others_bytes)[which]

    return read


READINGS: dict[str, tuple[str, str, Reading]] = {
    "memory_share": ("Share of the memory", "%", lambda t, q: 100 * float(t.memory_shares[q])),
    "throughput_share": (
        "Share of the throughput", "%", lambda t, q: 100 * float(t.throughput_shares[q]),
    ),
    "delay": ("Queueing delay", "ms", lambda t, q: 1e3 * _delay(t, q)),
    "loss": ("Loss", "%", lambda t, q: 100 * _loss(t, q)),
    "marks": ("Marked", "%", lambda t, q: 100 * _marks(t, q)),
    "own_share": ("Own share of the memory at drops", "%", lambda t, q: 100 * _own_share(t, q)),
    "absorbed": ("Largest burst without loss", "kB", lambda t, q: 1e-3 * _burst(0)(t, q)),
    "cut": ("Smallest burst with loss", "kB", lambda t, q: 1e-3 * _burst(1)(t, q)),
}  # fmt: skip
"""Name -> title, unit as shown, and how it is read of one queue of a trial."""


@dataclass(frozen=True)
class RunSharing:
    """Who shared the memory in a run.

    Attributes:
        mixes: Those with a valid trial whose postcards are all kept, in the order of settings.
    """

    mixes: tuple[MixSharing, ...]

    def of_setting(self, setting: Setting) -> list[MixSharing]:
        """The mixes of one setting."""
        return [mix for mix in self.mixes if mix.setting.label == setting.label]

    @property
    def trials(self) -> list[TrialSharing]:
        """All trials that could be read."""
        return [trial for mix in self.mixes for trial in mix.trials]

    def of_trial(self, name: str) -> TrialSharing | None:
        """One trial by its id; None: its postcards cannot be read."""
        return next((each for each in self.trials if each.measures.trial.id == name), None)


@once
def share_run(measures: RunMeasures, on_step: OnStep = silent) -> RunSharing:
    """Read every valid trial of a run whose postcards are all kept."""
    mixes = []
    cells = [(each, cell) for each in measures.run.settings for cell in measures.cells(each)]
    for setting, cell in each_step("mixes whose drops are explained", cells, on_step):
        trials = _read([t for t in cell.trials if problem_of(t.trial) is None])
        if trials:
            mixes.append(MixSharing(setting, cell.state, trials))
    return RunSharing(tuple(mixes))


def _read(trials: Sequence[TrialMeasures]) -> tuple[TrialSharing, ...]:
    found = []
    for trial in trials:
        try:
            found.append(share_trial(trial))
        except RunError:
            continue
    return tuple(found)
