"""Which figures a run gets, and their files."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ..clock.of_run import compare_run
from ..measures import OnStep, RunMeasures, TrialMeasures, each_step, silent
from ..nash.of_run import SettingEquilibria
from ..state import strategy_totals
from .delay_over_time import tap_delay_plot
from .run_figures import MAX_SETTINGS, run_sketches
from .saving import saving_beside
from .setting_figures import setting_sketches, trial_sketches
from .sharing import run_sketches as sharing_run_sketches
from .sharing import setting_sketches as sharing_setting_sketches
from .sharing import trial_sketches as sharing_trial_sketches
from .sketch import Sketch
from .style import house_style
from .traffic import run_sketches as traffic_run_sketches
from .traffic import setting_sketches as traffic_setting_sketches
from .traffic import trial_sketches as traffic_trial_sketches

MAX_DETAILED = 12
"""Trials of a run that get their own figures over time."""
PER_SETTING = 4


@dataclass(frozen=True)
class DrawnFigure(Sketch):
    """A figure and its files by suffix."""

    paths: dict[str, Path] = field(default_factory=dict)


def draw_all(
    wanted: Iterable[Sketch],
    folder: Path,
    formats: Sequence[str] = ("svg", "png", "pdf"),
    on_step: OnStep = silent,
) -> list[DrawnFigure]:
    """Draw figures into a folder, which is made; those that have nothing to show have no file."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with house_style(), saving_beside() as save:
        for sketch in each_step("figures", list(wanted), on_step):
            figure = sketch.draw()
            if figure is None:
                continue
            save(figure, folder / sketch.name, formats)
            files = {suffix: folder / f"{sketch.name}.{suffix}" for suffix in formats}
            drawn.append(DrawnFigure(**vars(sketch), paths=files))
    return drawn


def sketches(
    measures: RunMeasures,
    equilibria: Sequence[SettingEquilibria],
) -> Iterator[Sketch]:
    """Every figure of a run, none of them drawn yet.

    Settings without a valid trial have no figure: never a plot of nothing. What takes the
    packets of all trials is read when a figure that needs it is drawn.
    """
    by_label = {e.setting.label: e for e in equilibria}
    yield from run_sketches(measures, by_label)
    yield from sharing_run_sketches(measures)
    yield from traffic_run_sketches(measures)
    settings = measures.run.settings
    detailed = detailed_trials(measures, equilibria)
    for setting in settings if len(settings) <= MAX_SETTINGS else ():
        if not any(cell.trials for cell in measures.cells(setting)):
            continue
        yield from setting_sketches(measures, setting, by_label[setting.label])
        yield from sharing_setting_sketches(measures, setting)
        yield from traffic_setting_sketches(measures, setting)
        for trial in detailed:
            if trial.trial.setting.label == setting.label:
                yield from trial_sketches(measures, trial)
                yield from sharing_trial_sketches(measures, trial)
                yield from traffic_trial_sketches(measures, trial)
    for comparison in compare_run(measures.run).compared:
        yield Sketch(
            "tap_delay", "", f"Queueing delay from captures and from postcards, {comparison.trial}",
            "Above: each packet's sojourn time from the switch's postcards, and its delay from the "
            "captures before and behind the bottleneck. Below: the difference of the two. Dotted: "
            "5th and 95th percentile. The few packets outside the plot are listed as mismatches.",
            partial(tap_delay_plot, comparison), suffix=comparison.trial,
        )  # fmt: skip


def detailed_trials(
    measures: RunMeasures, equilibria: Sequence[SettingEquilibria]
) -> list[TrialMeasures]:
    """The trials that get figures over time: at most 4 of a setting and 12 of a run.

    Of each setting: the mix with the fewest flows of the second strategy (but one), the
    equilibrium, the even mix and the one with the most; the first repetition of each.
    """
    chosen: list[TrialMeasures] = []
    for each in equilibria:
        cells = [c for c in measures.cells(each.setting) if c.trials]
        mixed = [c for c in cells if min(strategy_totals(c.state)) > 0] or cells
        states = [v.state for v in each.equilibria]
        at_equilibrium = [c for c in cells if c.state in states][:1]
        picked = [mixed[0], *at_equilibrium, mixed[len(mixed) // 2], mixed[-1]] if mixed else []
        unique = {c.state: c.trials[0] for c in cells if c in picked}
        chosen += list(unique.values())[:PER_SETTING]
    return chosen[:MAX_DETAILED]
