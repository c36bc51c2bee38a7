"""Which figures a run gets of harm, of transfers and media, and of paths that change."""

from collections.abc import Iterator
from functools import partial

from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures, TrialMeasures
from ..results.harm import harm_of_run
from ..results.transfers import ALL_SIZES, transfers_of_run
from ..state import state_text
from .around_change import around_change_plot, span_around
from .axes import a_few
from .harm import harm_plot
from .sketch import Sketch
from .transfers import by_size_plot, media_delay_plot

MOST_CHANGES = 4
"""Changes of a trial that get a figure of their own."""
MOST_MIXES = 6
MOST_SETTINGS = 16


def run_sketches(measures: RunMeasures) -> Iterator[Sketch]:
    """Figures of the harm that each strategy does to a victim."""
    found = harm_of_run(measures)
    labels = dict.fromkeys(each.setting.label for each in found)
    for label in list(labels)[:MOST_SETTINGS]:
        mine = [each for each in found if each.setting.label == label]
        place = f", {label}" if len(labels) > 1 else ""
        yield Sketch(
            "harm", "", f"Harm to {mine[0].victim}{place}",
            "How much worse a metric of the victim is beside flows of each strategy than alone: 0, "
            "not at all; 1, all of it is gone, or is the others' doing; below 0, better. Ware et "
            "al. (HotNets 2019) ask of a new algorithm to do no more harm than what is deployed: "
            "the victim's own kind, CUBIC, Reno. Bars: 95 % interval over repetitions, "
            "if there are any.",
            partial(harm_plot, measures, mine), suffix=label,
        )  # fmt: skip


def setting_sketches(measures: RunMeasures, setting: Setting) -> Iterator[Sketch]:
    """Figures of a setting that has transfers or media."""
    yield from _transfer_sketches(measures, setting)
    cells = [cell for cell in measures.cells(setting) if cell.trials]
    if any(trial.trial.has("datagrams") for cell in cells for trial in cell.trials):
        yield Sketch(
            "media_delay", setting.label, "One-way delay of media",
            "The share of datagrams that were on the way for longer than a time, of those that "
            "were sent in the measured windows and arrived. Where a line crosses 5 % and 1 % are "
            "the 95th and the 99th percentile.",
            partial(media_delay_plot, measures, a_few(cells, MOST_MIXES)),
        )  # fmt: skip


def _transfer_sketches(measures: RunMeasures, setting: Setting) -> Iterator[Sketch]:
    rows = [each for each in transfers_of_run(measures) if each.setting.label == setting.label]
    for group, strategy in dict.fromkeys((row.group, row.strategy) for row in rows):
        mine = [r for r in rows if (r.group, r.strategy) == (group, strategy)]
        states = a_few(list(dict.fromkeys(row.state for row in mine)), MOST_MIXES)
        shown = [row for row in mine if row.state in states and row.sizes != ALL_SIZES]
        yield Sketch(
            "slowdown_by_size", setting.label,
            f"Slowdown of the transfers of {group} by size, {strategy}",
            "Completion time by that which a transfer would have alone on its path (dashed: as "
            "fast): handshake, slow start from 10 segments, and its bytes at the rate. A colour "
            "for each mix of the other flows. A percentile among transfers that were not completed "
            "is not known, and not drawn. Where the path changes: completion times. Bars: 95 % "
            "interval over repetitions, if there are any.",
            partial(by_size_plot, measures, shown), suffix=f"{group}-{strategy}",
        )  # fmt: skip


def trial_sketches(measures: RunMeasures, trial: TrialMeasures) -> Iterator[Sketch]:
    """Figures of a trial whose path changes and that gets its own."""
    label, record, course = trial.trial.setting.label, trial.trial.record, trial.course
    if course is None:
        return
    mix = state_text(trial.state, measures.strategies, measures.group_names)
    for number, (change, _) in enumerate(course.segments(record.duration_ns)[:MOST_CHANGES]):
        yield Sketch(
            "around_change", label, f"Around a change ({change.text}): {mix}",
            "Above: what left the queue, of all flows of each congestion control together, and "
            "what the link can carry (dashed). Below: bytes in the queue. Means over short bins, "
            "from postcards. Dotted: the changes.",
            partial(
                around_change_plot, measures, trial,
                span_around(course, number, record.duration_ns),
            ),
            suffix=f"{record.id.removeprefix(f'{label}-')}-{number}",
        )  # fmt: skip
