"""Which figures a run gets, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure
from nashbed.controlplane.contract.scenario import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures, TrialMeasures
from ..nash import SettingEquilibria
from ..state import state_text, strategy_totals
from . import (
    delay_by_mix,
    queue_over_time,
    rtt_over_time,
    share_against_share,
    throughput_by_mix,
)
from .style import house_style, save

MAX_DETAILED = 12
"""Trials of a run that get their own figures over time."""
PER_SETTING = 4


@dataclass(frozen=True)
class DrawnFigure:
    """A figure and its files.

    Attributes:
        name: Stem of the files.
        kind: Which figure it is, e.g. `throughput_by_mix`.
        setting: Label of its setting.
        title: One line.
        caption: What is shown and how to read it.
        paths: Suffix -> file.
    """

    name: str
    kind: str
    setting: str
    title: str
    caption: str
    paths: dict[str, Path]


@dataclass(frozen=True)
class _Sketch:
    """A figure before it is drawn."""

    kind: str
    setting: str
    suffix: str
    title: str
    caption: str
    draw: Callable[[], Figure | None]

    @property
    def name(self) -> str:
        return "-".join(part for part in (self.kind, self.setting, self.suffix) if part)


def draw_all(
    measures: RunMeasures,
    equilibria: Sequence[SettingEquilibria],
    folder: Path,
    formats: Sequence[str] = ("svg", "png", "pdf"),
) -> list[DrawnFigure]:
    """Draw every figure of a run.

    Settings without a valid trial have no figure: never a plot of nothing.

    Args:
        measures: The run's measures.
        equilibria: The equilibria of each setting.
        folder: Where the files go; it is made.
        formats: Suffixes: svg, png, pdf.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with house_style():
        for sketch in _sketches(measures, equilibria):
            figure = sketch.draw()
            if figure is None:
                continue
            paths = save(figure, folder / sketch.name, formats)
            files = {path.suffix[1:]: path for path in paths}
            drawn.append(
                DrawnFigure(
                    sketch.name, sketch.kind, sketch.setting, sketch.title, sketch.caption, files
                )
            )
    return drawn


def _sketches(measures: RunMeasures, equilibria: Sequence[SettingEquilibria]) -> Iterator[_Sketch]:
    found = {e.setting.label: e for e in equilibria}
    detailed = detailed_trials(measures, equilibria)
    for setting in measures.run.settings:
        if not any(cell.trials for cell in measures.cells(setting)):
            continue
        yield from _setting_sketches(measures, setting, found[setting.label])
        for trial in detailed:
            if trial.trial.setting.label == setting.label:
                yield from _trial_sketches(measures, trial)


def _setting_sketches(
    measures: RunMeasures, setting: Setting, equilibria: SettingEquilibria
) -> Iterator[_Sketch]:
    label = setting.label
    series = references(measures, setting)
    yield _Sketch(
        "throughput_by_mix",
        label,
        "",
        "Per-flow throughput by mix",
        _throughput_caption(measures),
        lambda: throughput_by_mix.draw(measures, setting, equilibria, series),
    )
    yield _Sketch(
        "delay_by_mix",
        label,
        "",
        "Queueing delay by mix",
        "Stay in the queue of the packets that left in the measured window, own serialisation "
        "included. Bars: 95 % interval of the mean over repetitions, where there are any.",
        lambda: delay_by_mix.draw(measures, setting),
    )
    yield _Sketch(
        "share_against_share",
        label,
        "",
        "Share of the queue against share of the throughput",
        "One point per flow and trial. Equation (5) of Mishra et al. (2022) puts every flow on "
        "the dashed line: it gets the share of the link that it holds of the queue. A flow to "
        "the right of it meets a longer queue than average.",
        lambda: share_against_share.draw(measures, setting),
    )


def _throughput_caption(measures: RunMeasures) -> str:
    repeated = measures.run.scenario.trials > 1
    bars = (
        "Bars: 95 % interval (Student t) over repetitions."
        if repeated
        else "One trial per mix, so no interval: the bands reach from the slowest to the fastest "
        "flow of each congestion control."
    )
    return (
        "Goodput of one flow, averaged over the flows of each congestion control. The fair share "
        "is the applied rate by the number of flows; goodput lacks headers and stays a few per "
        f"cent below it. {bars}"
    )


def _trial_sketches(measures: RunMeasures, trial: TrialMeasures) -> Iterator[_Sketch]:
    label = trial.trial.setting.label
    suffix = trial.trial.id.removeprefix(f"{label}-")
    mix = state_text(trial.state, measures.strategies, measures.group_names)
    sampled = trial.trial.has("postcards") and trial.trial.record.postcards != "all"
    exact = "estimated from sampled postcards" if sampled else "rebuilt exactly from postcards"
    source = exact if trial.trial.has("postcards") else "as counted by the data plane"
    yield _Sketch(
        "queue_over_time",
        label,
        suffix,
        f"Who holds the queue: {mix}",
        f"Bytes of each flow in the queue, stacked, {source}; means over short bins. The dashed "
        "line is the applied limit.",
        lambda: queue_over_time.draw(measures, trial),
    )
    yield _Sketch(
        "rtt_over_time",
        label,
        suffix,
        f"RTT over time: {mix}",
        "The senders' smoothed RTT (TCP_INFO): a thin line for each flow, a thick one for the "
        "mean of each congestion control.",
        lambda: rtt_over_time.draw(measures, trial),
    )


def references(measures: RunMeasures, setting: Setting) -> list[ReferenceSeries]:
    """The scenario's published series that belong to a setting."""
    return [
        series
        for series in measures.run.scenario.reference
        if series.buffer is None or str(series.buffer) == setting.buffer_label
    ]


def detailed_trials(
    measures: RunMeasures, equilibria: Sequence[SettingEquilibria]
) -> list[TrialMeasures]:
    """The trials that get figures over time: at most 4 of a setting and 12 of a run.

    Of each setting: the mix with the fewest flows of the second strategy (but one), the
    equilibrium, the even mix and the one with the most; the first repetition of each.
    """
    chosen: list[TrialMeasures] = []
    for found in equilibria:
        cells = [c for c in measures.cells(found.setting) if c.trials]
        mixed = [c for c in cells if min(strategy_totals(c.state)) > 0] or cells
        wanted = [v.state for v in found.equilibria]
        at_equilibrium = [c for c in cells if c.state in wanted][:1]
        picked = [mixed[0], *at_equilibrium, mixed[len(mixed) // 2], mixed[-1]] if mixed else []
        unique = {c.state: c.trials[0] for c in cells if c in picked}
        chosen += list(unique.values())[:PER_SETTING]
    return chosen[:MAX_DETAILED]
