"""Figures of a whole run: along lines of its settings, and settings beside each other."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures
from ..nash.of_run import SettingEquilibria
from ..results.sweep import (
    Axis,
    SweepSeries,
    beside_disciplines,
    lines,
    lines_by_kernel,
    mixed_states,
    settings_by_discipline,
    settings_by_kernel,
    without_kernel,
)
from ..state import State, state_text, strategy_totals
from ..text import buffer_text
from .against_setting import alone_along_plot, mix_along_plot
from .alone import draw_decision_tree, gain_of_setting, heat_map_plot, retransmits_of
from .axes import a_few
from .by_discipline import by_discipline_plot
from .by_kernel import equilibria_by_kernel_plot, throughput_by_kernel_plot
from .by_mix import panel_by_mix_plot
from .equilibria import equilibria_along_plot, equilibrium_by_length_plot
from .equilibrium_map import equilibrium_map_plot
from .pairs import pair_equilibria_plot
from .setting_figures import MODELS_SAY, condition, if_modelled, references
from .sketch import Sketch

MAX_SETTINGS = 16
"""Settings of a run that get figures of their own; a larger sweep shows lines and maps alone."""
ALONG: dict[Axis, str] = {
    "buffer": "the buffer", "random_loss": "random loss",
    "duration": "the length of the trials", "flows": "the number of flows",
}  # fmt: skip
"""What settings of a line differ in."""
MAX_LINE_MIXES = 6
"""Mixes of a line of settings that get a figure against what was swept."""


def run_sketches(
    measures: RunMeasures, equilibria: Mapping[str, SettingEquilibria]
) -> Iterator[Sketch]:
    """Every figure of a whole run, from its measures and the equilibria by setting's label."""
    for line in lines(measures.run.settings):
        yield from _line_sketches(measures, line, equilibria)
    yield from _kernel_sketches(measures, equilibria)
    yield from _discipline_sketches(measures, equilibria)
    yield from _side_by_side_sketches(measures)
    yield Sketch(
        "equilibrium_by_length", "",
        "Equilibrium by the length of the trials and the order of the starts",
        f"Number of flows that run {measures.strategies[0]} at the equilibrium (where the other's "
        "lead ends), by throughput from the warm-up to the given length; every long trial contains "
        "the shorter ones. A trial that ended because it was steady counts as if it had continued "
        "unchanged. Points: linear interpolation between neighbouring mixes. Dashed: from the "
        "second half of the trials alone. Thick, and the band about a dashed line: 95 % interval, "
        "where there are enough mixes for one.",
        lambda: equilibrium_by_length_plot(measures, lines(measures.run.settings)),
    )  # fmt: skip
    first, second = measures.strategies[:2]
    yield Sketch(
        "goodput_gain", "", f"Goodput gain of {second} over {first}, each alone",
        f"Mean goodput when all flows run {second}, minus mean goodput when all run {first}, as a "
        "percentage of the latter. Definition: Cao et al. (IMC 2019).",
        lambda: heat_map_plot(measures, gain_of_setting, "goodput gain (%)", signed=True),
    )  # fmt: skip
    for strategy in (first, second):
        yield Sketch(
            "retransmits", "", f"Retransmissions of {strategy} alone",
            "Retransmitted payload bytes, as a percentage of all payload bytes sent in the window.",
            partial(heat_map_plot, measures, retransmits_of(strategy), "retransmitted (%)", False),
            suffix=strategy,
        )  # fmt: skip
    yield Sketch(
        "decision_tree", "", f"Which has more goodput alone, {second} or {first}?",
        "The congestion control with more goodput when all flows run it: scikit-learn's decision "
        "tree (CART) of at most three levels. The left branch is taken where the condition is "
        "true. Neither: the difference is within the variation of the repetitions (95 %). Settings "
        "without repetitions are left out.",
        lambda: draw_decision_tree(measures),
    )  # fmt: skip


def _line_sketches(
    measures: RunMeasures, line: SweepSeries, equilibria: Mapping[str, SettingEquilibria]
) -> Iterator[Sketch]:
    axis = ALONG[line.axis]
    kind, name = f"throughput_by_{line.axis}", line.label
    found = [equilibria[setting.label] for setting in line.settings]
    for state in a_few(mixed_states(measures, line), MAX_LINE_MIXES):
        yield Sketch(
            kind, "",
            f"{state_text(state, measures.strategies, measures.group_names)} against {axis}, "
            f"{line.title}",
            "Goodput of all flows of each congestion control together. Bars: 95 % interval over "
            "repetitions, if there are any."
            + if_modelled(measures, line.settings[0], MODELS_SAY, state),
            partial(mix_along_plot, measures, line, state),
            suffix=f"{name}-{'-'.join(str(c) for c in strategy_totals(state))}",
        )  # fmt: skip
    yield Sketch(
        f"{kind}_alone", "", f"Each alone against {axis}, {line.title}",
        "When every flow runs the same congestion control: goodput of all flows, mean time of "
        "packets in the queue, and packets lost. Bars: 95 % interval over repetitions, if there "
        "are any.",
        lambda: alone_along_plot(measures, line), suffix=name,
    )  # fmt: skip
    yield Sketch(
        f"equilibria_by_{line.axis}", "", f"Equilibrium against {axis}, {line.title}",
        "Bars with caps: where the lead per flow ends (crosses zero), with its 95 % interval. "
        "Beside them each equilibrium of the measured means and, as small circles, the equilibria "
        "of each repetition alone. Thick: mixes in which no flow gains more than the scenario's "
        "epsilon."
        + condition(found)
        + if_modelled(
            measures,
            line.settings[0],
            " Lines: where each model predicts the end of the lead; shaded: its range over seeds. "
            "Grey: the range between the two bounds of Mishra's model.",
        ),
        lambda: equilibria_along_plot(measures, line, equilibria), suffix=name,
    )  # fmt: skip
    yield Sketch(
        "pair_equilibria", "",
        f"Equilibrium of each with {measures.strategies[0]} against {axis}, {line.title}",
        f"Flows running {measures.strategies[0]} at the equilibrium with each other congestion "
        "control, two at a time, with 95 % intervals. Several points at one place are several "
        "equilibria; the line goes through their mean." + condition(found),
        lambda: pair_equilibria_plot(measures, line, equilibria), suffix=name,
    )  # fmt: skip
    yield Sketch(
        "panel_by_mix", "", f"Every mix at every buffer, {line.title}",
        _panel_caption(measures)
        + condition(found)
        + if_modelled(measures, line.settings[0], MODELS_SAY),
        lambda: panel_by_mix_plot(measures, line, equilibria), suffix=name,
    )  # fmt: skip


def _panel_caption(measures: RunMeasures) -> str:
    first, second = measures.strategies[:2]
    return (
        f"Goodput of all {second} flows together, as a percentage of the applied rate, against "
        f"their number; the other flows run {first}. Bars: 95 % interval over repetitions, if "
        f"there are any. Above the dashed line a {second} flow has more than its fair share of "
        "what a full link carries, below it less; where the points fall below the line, a flow "
        f"gains nothing by switching to {second}. Green stripes: where the lead per flow ends "
        "(crosses zero), 95 % interval. Solid vertical lines: the equilibria of the measured "
        "means. Open circles and dotted vertical lines: published mixes and equilibria, if the "
        "scenario contains them. Goodput excludes headers, so a full link is a few per cent below "
        "100 %."
    )


def _kernel_sketches(
    measures: RunMeasures, equilibria: Mapping[str, SettingEquilibria]
) -> Iterator[Sketch]:
    """What is drawn where the guests' kernel was swept."""
    for kernels in lines_by_kernel(measures.run.settings):
        shared = SweepSeries(kernels[0].axis, tuple(map(without_kernel, kernels[0].settings)))
        yield Sketch(
            "equilibria_by_kernel", "", f"Equilibrium by buffer and kernel, {shared.title}",
            "Where the lead per flow ends (crosses zero) with the hosts of each kernel, with its "
            "95 % interval. Kernels stand beside each other at each buffer."
            + condition(equilibria[s.label] for line in kernels for s in line.settings),
            partial(equilibria_by_kernel_plot, measures, kernels, equilibria), suffix=shared.label,
        )  # fmt: skip
    if len(measures.run.settings) > MAX_SETTINGS:
        return
    for settings in settings_by_kernel(measures.run.settings):
        shared = SweepSeries("buffer", (without_kernel(settings[0]),))
        buffer = buffer_text(settings[0], measures.applied_buffer(settings[0]))
        yield Sketch(
            "throughput_by_kernel", "",
            f"Per-flow throughput by mix and kernel, {shared.title}, buffer {buffer}",
            "Left and middle: goodput of one flow, averaged over the flows of a congestion "
            "control, with the hosts of each kernel. Kernels stand beside each other at each mix. "
            "Bars: 95 % interval (Student t) over repetitions, if there are any. Right: where the "
            "lead per flow ends (crosses zero), with its 95 % interval."
            + condition(equilibria[s.label] for s in settings),
            partial(throughput_by_kernel_plot, measures, settings, equilibria,
                    references(measures, settings[0])),
            suffix=settings[0].label.removeprefix(f"v{settings[0].kernel}-"),
        )  # fmt: skip


def _discipline_sketches(
    measures: RunMeasures, equilibria: Mapping[str, SettingEquilibria]
) -> Iterator[Sketch]:
    """What is drawn where queue disciplines and buffers were swept."""
    for settings in settings_by_discipline(measures.run.settings):
        first, second = measures.strategies[:2]
        plain = settings[0].model_copy(update={"discipline": None, "queues": None})
        shared = SweepSeries("buffer", (plain,))
        yield Sketch(
            "equilibrium_map", "", f"Equilibrium by queue discipline and buffer, {shared.title}",
            f"Flows that run {first} where the lead per flow ends (crosses zero), and the 95 % "
            f"interval of that; the others run {second}. Several numbers: several equilibria. "
            "Any: no mix can be told from an equilibrium, so that nobody gains by switching "
            "wherever one begins. Not known: too few mixes were measured."
            + condition(equilibria[s.label] for s in settings),
            partial(equilibrium_map_plot, measures, settings, equilibria), suffix=shared.label,
        )  # fmt: skip


def _side_by_side_sketches(measures: RunMeasures) -> Iterator[Sketch]:
    """What is drawn where queue disciplines were swept."""
    for settings in beside_disciplines(measures.run.settings)[:MAX_SETTINGS]:
        plain = settings[0].model_copy(update={"discipline": None})
        shared = SweepSeries("buffer", (plain,))
        buffer = buffer_text(plain, measures.applied_buffer(settings[0]))
        for state in _states_of(measures, settings):
            mix = state_text(state, measures.strategies, measures.group_names)
            yield Sketch(
                "by_discipline", "",
                f"Queue disciplines side by side: {mix}, {shared.title}, buffer {buffer}",
                "A row for each discipline of the queue. Left: goodput of one flow, averaged over "
                "the flows of a congestion control. Middle: sojourn time of the packets that left, "
                "including their own serialisation. Right: packets that the queue dropped, of "
                "those that arrived, and that it marked, of those that left. Bars: 95 % interval "
                "over repetitions, if there are any.",
                partial(by_discipline_plot, measures, settings, state),
                suffix=f"{shared.label}-b{plain.buffer_label}-"
                f"{'-'.join(str(c) for c in strategy_totals(state))}",
            )  # fmt: skip


def _states_of(measures: RunMeasures, settings: Sequence[Setting]) -> list[State]:
    """The mixes of settings that have trials, to draw: all of them, or a few spread evenly."""
    found = (c.state for s in settings for c in measures.cells(s) if c.trials)
    return a_few(list(dict.fromkeys(found)), MAX_LINE_MIXES)
