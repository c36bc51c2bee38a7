"""Which figures a run gets of who shares the queue's memory."""

from collections.abc import Iterator
from functools import partial

from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures, TrialMeasures
from ..results.sweep import beside_memories
from ..sharing.of_run import share_run
from ..sharing.of_trial import problem_of
from ..state import state_text
from .memory import (
    blame_plot,
    bursts_by_memory_plot,
    memory_over_time_plot,
    memory_shares_plot,
)
from .sketch import Sketch


def run_sketches(measures: RunMeasures) -> Iterator[Sketch]:
    """Figures of a run that sweeps how several queues share their memory."""
    for settings in beside_memories(measures.run.settings):
        labels = {setting.label for setting in settings}
        mixes = share_run(measures).mixes
        states = dict.fromkeys(m.state for m in mixes if m.setting.label in labels)
        for number, state in enumerate(states):
            yield Sketch(
                "bursts_by_memory", "",
                "Bursts that the memory absorbs: "
                f"{state_text(state, measures.strategies, measures.group_names)}",
                "A burst begins at an empty queue and has all packets that arrive at it within one "
                "base RTT, before a sender can learn of a loss. Shown are the largest without loss "
                "and the smallest with one, of those that came while the other queues held at "
                "least what they hold at the average burst. Dynamic thresholds by alpha: "
                "each queue may have alpha times the memory that is free. Dashed: the largest "
                "without loss if the whole burst arrived at once while every other queue was as "
                "long as the policy lets it be. Bars: 95 % interval over repetitions, if there "
                "are any.",
                partial(bursts_by_memory_plot, share_run(measures), settings, state),
                suffix=f"{settings[0].label}-{number}",
            )  # fmt: skip


def setting_sketches(measures: RunMeasures, setting: Setting) -> Iterator[Sketch]:
    """Figures of a setting with several queues."""
    yield Sketch(
        "memory_shares", setting.label,
        "Each queue's share of the memory against its share of the throughput",
        "One point per queue and trial: its part of the mean bytes in the memory, and of the bytes "
        "that left. A queue to the right of the dashed line holds more of the memory than it gets "
        "of the line: its packets wait longer than the average packet (Little's law).",
        lambda: memory_shares_plot(share_run(measures).of_setting(setting)),
    )  # fmt: skip


def trial_sketches(measures: RunMeasures, trial: TrialMeasures) -> Iterator[Sketch]:
    """Figures of the memory of a trial that gets its own."""
    label = trial.trial.setting.label
    suffix = trial.trial.id.removeprefix(f"{label}-")
    mix = state_text(trial.state, measures.strategies, measures.group_names)
    yield Sketch(
        "memory_over_time", label, f"Memory by queue: {mix}",
        "Above: bytes of each queue in the shared memory, stacked. Below: each queue by itself; "
        "dashed: what the policy of the memory, or its own limit, lets a queue have. Means over "
        "short bins, rebuilt exactly from postcards. Dotted: measured from here.",
        lambda: memory_over_time_plot(trial), suffix=suffix,
    )  # fmt: skip
    if problem_of(trial.trial) is not None:
        return
    yield Sketch(
        "blame", label, f"Who held the queue when packets were dropped: {mix}",
        "Each row: the flows that lost packets. Each column: the share of the queue's bytes that "
        "others, or they themselves, held at the moment of each drop; the mean over the drops of "
        "the measured window, by the bytes dropped. Rows add up to 100 %. Cells are flows, if "
        "there are not too many; numbers are all flows of a block together. Rebuilt exactly from "
        "postcards.",
        lambda: blame_plot(share_run(measures).of_trial(trial.trial.id)), suffix=suffix,
    )  # fmt: skip
