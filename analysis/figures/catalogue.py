"""Which figures a run gets, and their files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from nashbed.controlplane.contract.harm import HarmMixes
from nashbed.controlplane.contract.scenario import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..clock.queueing import TapComparison
from ..correlation import RunCorrelation
from ..measures import RunMeasures, TrialMeasures
from ..models.asked import problem_of_queue
from ..models.measured import question_of_mix, questions_of_setting
from ..nash.of_run import SettingEquilibria
from ..results.bounds import matches
from ..results.sweep import (
    SweepLine,
    beside_disciplines,
    lines,
    lines_by_kernel,
    mixed_states,
    settings_by_discipline,
    settings_by_kernel,
    without_kernel,
)
from ..sharing.of_run import NOT_READ, RunSharing
from ..state import State, state_text, strategy_totals
from ..text import buffer_text
from .against_setting import draw_alone_along, draw_mix_along
from .alone import draw_decision_tree, draw_heat_map, gain_of_setting, retransmits_of
from .by_discipline import draw_by_discipline
from .by_kernel import draw_equilibria_by_kernel, draw_throughput_by_kernel
from .by_mix import draw_delay_by_mix, draw_panel_by_mix, draw_throughput_by_mix
from .correlation import draw_model_assumptions, draw_share_against_share, draw_synchronisation
from .delay_over_time import draw_rtt_alone, draw_rtt_over_time, draw_tap_delay
from .dynamics import draw_dynamics
from .equilibria import draw_equilibria_by_buffer, draw_equilibrium_by_length
from .equilibrium_map import draw_equilibrium_map
from .pairs import draw_pair_equilibria, draw_pair_lines, draw_tournament
from .queue_over_time import draw_queue_over_time
from .sharing import run_sketches as sharing_run_sketches
from .sharing import setting_sketches as sharing_setting_sketches
from .sharing import trial_sketches as sharing_trial_sketches
from .sketch import Sketch
from .style import house_style, save
from .traffic import run_sketches as traffic_run_sketches
from .traffic import setting_sketches as traffic_setting_sketches
from .traffic import trial_sketches as traffic_trial_sketches

MAX_DETAILED = 12
"""Trials of a run that get their own figures over time."""
PER_SETTING = 4
MAX_SETTINGS = 16
"""Settings of a run that get figures of their own; a larger sweep shows lines and maps alone."""
MODELS_SAY = (
    " Models: predicted shares of the link, as goodput. Shaded: the range over the seeds of a "
    "stochastic model. Hatched: the range between Mishra's two bounds, with CUBIC losses "
    "synchronised and de-synchronised."
)
"""In captions of runs whose mixes models speak of."""
MAX_LINE_MIXES = 6
"""Mixes of a line of settings that get a figure against what was swept."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure and its files.

    Attributes:
        name: Stem of the files.
        kind: Which figure it is, e.g. `throughput_by_mix`.
        setting: Label of its setting; empty: it is of the whole run.
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


def draw_all(
    measures: RunMeasures,
    equilibria: Sequence[SettingEquilibria],
    correlation: RunCorrelation,
    folder: Path,
    formats: Sequence[str] = ("svg", "png", "pdf"),
    taps: Sequence[TapComparison] = (),
    sharing: RunSharing = NOT_READ,
) -> list[DrawnFigure]:
    """Draw every figure of a run.

    Settings without a valid trial have no figure: never a plot of nothing.

    Args:
        measures: The run's measures.
        equilibria: The equilibria of each setting.
        correlation: How its telemetry goes with its throughput.
        folder: Where the files go; it is made.
        formats: Suffixes: svg, png, pdf.
        taps: Trials that were captured before and behind the bottleneck.
        sharing: Who shared the queue's memory.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    with house_style():
        for sketch in sketches(measures, equilibria, correlation, taps, sharing):
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


def sketches(
    measures: RunMeasures,
    equilibria: Sequence[SettingEquilibria],
    correlation: RunCorrelation,
    taps: Sequence[TapComparison] = (),
    sharing: RunSharing = NOT_READ,
) -> Iterator[Sketch]:
    """Every figure of a run, none of them drawn yet; see `draw_all`."""
    yield from _measured_sketches(measures, equilibria, correlation, sharing)
    yield from _tap_sketches(taps)


def _measured_sketches(
    measures: RunMeasures,
    equilibria: Sequence[SettingEquilibria],
    correlation: RunCorrelation,
    sharing: RunSharing,
) -> Iterator[Sketch]:
    by_label = {e.setting.label: e for e in equilibria}
    yield from _run_sketches(measures, by_label)
    yield from sharing_run_sketches(measures, sharing)
    yield from traffic_run_sketches(measures)
    if len(measures.run.settings) > MAX_SETTINGS:
        return
    detailed = detailed_trials(measures, equilibria)
    for setting in measures.run.settings:
        if not any(cell.trials for cell in measures.cells(setting)):
            continue
        yield from _setting_sketches(measures, setting, by_label[setting.label])
        yield from _alone_sketches(measures, setting)
        yield from _correlation_sketches(correlation, setting)
        yield from sharing_setting_sketches(sharing, setting)
        yield from traffic_setting_sketches(measures, setting)
        for trial in detailed:
            if trial.trial.setting.label == setting.label:
                yield from _trial_sketches(measures, trial)
                yield from sharing_trial_sketches(measures, trial, sharing)
                yield from traffic_trial_sketches(measures, trial)


def _tap_sketches(taps: Sequence[TapComparison]) -> Iterator[Sketch]:
    for comparison in taps:
        yield Sketch(
            "tap_delay",
            "",
            comparison.trial,
            f"Queueing delay from captures and from postcards, {comparison.trial}",
            "Above: each packet's sojourn time from the switch's postcards, and its delay from the "
            "captures before and behind the bottleneck. Below: the difference of the two. Dotted: "
            "5th and 95th percentile. The few packets outside the plot are listed as mismatches.",
            partial(draw_tap_delay, comparison),
        )


def _run_sketches(
    measures: RunMeasures, equilibria: Mapping[str, SettingEquilibria]
) -> Iterator[Sketch]:
    for line in lines(measures.run.settings):
        yield from _line_sketches(measures, line, equilibria)
    yield from _kernel_sketches(measures, equilibria)
    yield from _discipline_sketches(measures, equilibria)
    yield from _side_by_side_sketches(measures)
    yield Sketch(
        "equilibrium_by_length",
        "",
        "",
        "Equilibrium by the length of the trials and the order of the starts",
        f"Number of flows that run {measures.strategies[0]} at the equilibrium (where the other's "
        "lead ends), by throughput from the warm-up to the given length; every long trial contains "
        "the shorter ones. A trial that ended because it was steady counts as if it had continued "
        "unchanged. Points: linear interpolation between neighbouring mixes. Dashed: from the "
        "second half of the trials alone. Thick, and the band about a dashed line: 95 % interval, "
        "where there are enough mixes for one.",
        lambda: draw_equilibrium_by_length(measures, lines(measures.run.settings)),
    )
    first, second = measures.strategies[:2]
    yield Sketch(
        "goodput_gain",
        "",
        "",
        f"Goodput gain of {second} over {first}, each alone",
        f"Mean goodput when all flows run {second}, minus mean goodput when all run {first}, as a "
        "percentage of the latter. Definition: Cao et al. (IMC 2019).",
        lambda: draw_heat_map(measures, gain_of_setting, "goodput gain (%)", signed=True),
    )
    for strategy in (first, second):
        yield Sketch(
            "retransmits",
            "",
            strategy,
            f"Retransmissions of {strategy} alone",
            "Retransmitted payload bytes, as a percentage of all payload bytes sent in the window.",
            partial(draw_heat_map, measures, retransmits_of(strategy),
                    "retransmitted (%)", False),
        )  # fmt: skip
    yield Sketch(
        "decision_tree",
        "",
        "",
        f"Which has more goodput alone, {second} or {first}?",
        "The congestion control with more goodput when all flows run it: scikit-learn's decision "
        "tree (CART) of at most three levels. The left branch is taken where the condition is "
        "true. Neither: the difference is within the variation of the repetitions (95 %). Settings "
        "without repetitions are left out.",
        lambda: draw_decision_tree(measures),
    )


def _line_sketches(
    measures: RunMeasures, line: SweepLine, equilibria: Mapping[str, SettingEquilibria]
) -> Iterator[Sketch]:
    axis = "the buffer" if line.axis == "buffer" else "random loss"
    kind, name = f"throughput_by_{line.axis}", line.label
    found = [equilibria[setting.label] for setting in line.settings]
    for state in _line_mixes(measures, line):
        yield Sketch(
            kind,
            "",
            f"{name}-{'-'.join(str(c) for c in strategy_totals(state))}",
            f"{state_text(state, measures.strategies, measures.group_names)} against {axis}, "
            f"{line.title}",
            "Goodput of all flows of each congestion control together. Bars: 95 % interval over "
            "repetitions, if there are any."
            + _if_modelled(measures, line.settings[0], MODELS_SAY, state),
            partial(draw_mix_along, measures, line, state),
        )
    yield Sketch(
        f"{kind}_alone",
        "",
        name,
        f"Each alone against {axis}, {line.title}",
        "Goodput when every flow runs the same congestion control. Bars: 95 % interval over "
        "repetitions, if there are any.",
        lambda: draw_alone_along(measures, line),
    )
    yield Sketch(
        "equilibria_by_buffer",
        "",
        name,
        f"Equilibrium by buffer, {line.title}",
        "Bars with caps: where the lead per flow ends (crosses zero), with its 95 % interval. "
        "Beside them each equilibrium of the measured means and, as small circles, the equilibria "
        "of each repetition alone. Thick: mixes in which no flow gains more than the scenario's "
        "epsilon."
        + _condition(found)
        + _if_modelled(
            measures,
            line.settings[0],
            " Lines: where each model predicts the end of the lead; shaded: its range over seeds. "
            "Grey: the range between the two bounds of Mishra's model.",
        ),
        lambda: draw_equilibria_by_buffer(measures, line, equilibria),
    )
    yield Sketch(
        "pair_equilibria",
        "",
        name,
        f"Equilibrium of each against {measures.strategies[0]}, by buffer, {line.title}",
        f"Flows running {measures.strategies[0]} at the equilibrium with each other congestion "
        "control, two at a time, with 95 % intervals. Several points at one buffer are several "
        "equilibria; the line goes through their mean." + _condition(found),
        lambda: draw_pair_equilibria(measures, line, equilibria),
    )
    yield Sketch(
        "panel_by_mix",
        "",
        name,
        f"Every mix at every buffer, {line.title}",
        _panel_caption(measures)
        + _condition(found)
        + _if_modelled(measures, line.settings[0], MODELS_SAY),
        lambda: draw_panel_by_mix(measures, line, equilibria),
    )


def _condition(equilibria: Iterable[SettingEquilibria]) -> str:
    """What those equilibria hold for whose mixes had not settled; empty: all had."""
    conditions = dict.fromkeys(each.condition for each in equilibria if each.condition)
    if not conditions:
        return ""
    return (
        " Equilibria whose deciding mixes are not known to have settled hold for such trials: "
        f"{'; '.join(conditions)}."
    )


def _panel_caption(measures: RunMeasures) -> str:
    first, second = measures.strategies[:2]
    return (
        f"Goodput of all {second} flows together, as a percentage of the applied rate, against "
        f"their number; the other flows run {first}. Bars: 95 % interval over repetitions, if "
        f"there are any. Above the dashed line a {second} flow has more than its fair share of "
        f"the rate, below it less; where the points fall below the line, a flow gains nothing by "
        f"switching to {second}. Green stripes: where the lead per flow ends (crosses zero), 95 % "
        "interval. Solid vertical lines: the equilibria of the measured means. "
        "Open circles and dotted vertical lines: published mixes and equilibria, if the "
        "scenario contains them. Goodput excludes headers, so a full link is a few per cent below "
        "100 %."
    )


def _if_modelled(
    measures: RunMeasures, setting: Setting, text: str, state: State | None = None
) -> str:
    """A part of a caption about models, where these speak of the mix, or of every mix."""
    if (problem := problem_of_queue(setting)) is not None:
        return f" No model is drawn: {problem}."
    if state is None:
        return text if questions_of_setting(measures, setting) is not None else ""
    return text if question_of_mix(measures, setting, state) is not None else ""


def _kernel_sketches(
    measures: RunMeasures, equilibria: Mapping[str, SettingEquilibria]
) -> Iterator[Sketch]:
    """What is drawn where the guests' kernel was swept."""
    for kernels in lines_by_kernel(measures.run.settings):
        shared = SweepLine(kernels[0].axis, tuple(map(without_kernel, kernels[0].settings)))
        yield Sketch(
            "equilibria_by_kernel",
            "",
            shared.label,
            f"Equilibrium by buffer and kernel, {shared.title}",
            "Where the lead per flow ends (crosses zero) with the hosts of each kernel, with its "
            "95 % interval. Kernels stand beside each other at each buffer."
            + _condition(equilibria[s.label] for line in kernels for s in line.settings),
            partial(draw_equilibria_by_kernel, measures, kernels, equilibria),
        )
    if len(measures.run.settings) > MAX_SETTINGS:
        return
    for settings in settings_by_kernel(measures.run.settings):
        shared = SweepLine("buffer", (without_kernel(settings[0]),))
        buffer = buffer_text(settings[0], measures.applied_buffer(settings[0]))
        yield Sketch(
            "throughput_by_kernel",
            "",
            settings[0].label.removeprefix(f"v{settings[0].kernel}-"),
            f"Per-flow throughput by mix and kernel, {shared.title}, buffer {buffer}",
            "Left and middle: goodput of one flow, averaged over the flows of a congestion "
            "control, with the hosts of each kernel. Kernels stand beside each other at each mix. "
            "Bars: 95 % interval (Student t) over repetitions, if there are any. Right: where the "
            "lead per flow ends (crosses zero), with its 95 % interval."
            + _condition(equilibria[s.label] for s in settings),
            partial(draw_throughput_by_kernel, measures, settings, equilibria,
                    references(measures, settings[0])),
        )  # fmt: skip


def _discipline_sketches(
    measures: RunMeasures, equilibria: Mapping[str, SettingEquilibria]
) -> Iterator[Sketch]:
    """What is drawn where queue disciplines and buffers were swept."""
    for settings in settings_by_discipline(measures.run.settings):
        first, second = measures.strategies[:2]
        plain = settings[0].model_copy(update={"discipline": None, "queues": None})
        shared = SweepLine("buffer", (plain,))
        yield Sketch(
            "equilibrium_map",
            "",
            shared.label,
            f"Equilibrium by queue discipline and buffer, {shared.title}",
            f"Flows that run {first} where the lead per flow ends (crosses zero), and the 95 % "
            f"interval of that; the others run {second}. Several numbers: several equilibria. "
            "Any: no mix can be told from an equilibrium, so that nobody gains by switching "
            "wherever one begins. Not known: too few mixes were measured."
            + _condition(equilibria[s.label] for s in settings),
            partial(draw_equilibrium_map, measures, settings, equilibria),
        )


def _side_by_side_sketches(measures: RunMeasures) -> Iterator[Sketch]:
    """What is drawn where queue disciplines were swept."""
    for settings in beside_disciplines(measures.run.settings)[:MAX_SETTINGS]:
        plain = settings[0].model_copy(update={"discipline": None})
        shared = SweepLine("buffer", (plain,))
        buffer = buffer_text(plain, measures.applied_buffer(settings[0]))
        for state in _states_of(measures, settings):
            mix = state_text(state, measures.strategies, measures.group_names)
            yield Sketch(
                "by_discipline",
                "",
                f"{shared.label}-b{plain.buffer_label}-"
                f"{'-'.join(str(c) for c in strategy_totals(state))}",
                f"Queue disciplines side by side: {mix}, {shared.title}, buffer {buffer}",
                "A row for each discipline of the queue. Left: goodput of one flow, averaged over "
                "the flows of a congestion control. Middle: sojourn time of the packets that left, "
                "including their own serialisation. Right: packets that the queue dropped, of "
                "those that arrived, and that it marked, of those that left. Bars: 95 % interval "
                "over repetitions, if there are any.",
                partial(draw_by_discipline, measures, settings, state),
            )


def _states_of(measures: RunMeasures, settings: Sequence[Setting]) -> list[State]:
    """The mixes of settings that have trials, to draw: all of them, or a few spread evenly."""
    found = (c.state for s in settings for c in measures.cells(s) if c.trials)
    states = list(dict.fromkeys(found))
    return states[:: max(1, -(-len(states) // MAX_LINE_MIXES))]


def _line_mixes(measures: RunMeasures, line: SweepLine) -> list[State]:
    """The mixes of a line to draw: all of them, or a few spread evenly."""
    states = mixed_states(measures, line)
    step = max(1, -(-len(states) // MAX_LINE_MIXES))
    return states[::step]


def _setting_sketches(
    measures: RunMeasures, setting: Setting, equilibria: SettingEquilibria
) -> Iterator[Sketch]:
    label = setting.label
    if equilibria.table.pairs:
        yield from _pair_sketches(measures, setting, equilibria)
    elif _over_mixes(measures, setting):
        yield from _by_mix_sketches(measures, setting, equilibria)
    yield Sketch(
        "share_against_share",
        label,
        "",
        "Share of the queue against share of the throughput",
        "One point per flow and trial. If all packets waited equally long in the first-in "
        "first-out queue, every flow would lie on the dashed line (Little's law; equation (5) of "
        "Mishra et al. 2022). A flow to the right of the line meets a longer queue than average.",
        lambda: draw_share_against_share(measures, setting),
    )


def _over_mixes(measures: RunMeasures, setting: Setting) -> bool:
    """Whether there is anything to see over the mixes; those of a victim are no line of mixes."""
    if isinstance(measures.run.scenario.sweep.mixes, HarmMixes):
        return False
    return sum(bool(cell.trials) for cell in measures.cells(setting)) > 1


def _pair_sketches(
    measures: RunMeasures, setting: Setting, equilibria: SettingEquilibria
) -> Iterator[Sketch]:
    """What is drawn of mixes of two CCAs at a time."""
    first = measures.strategies[0]
    yield Sketch(
        "pair_lines",
        setting.label,
        "",
        f"Each against {first}: per-flow throughput by mix",
        f"Above: goodput of a flow that runs the other congestion control, against the number of "
        f"flows that run it; below: that of a {first} flow in the same mix. Dashed: the fair "
        "share. Where the two are equal, no flow gains by switching. Bars: 95 % interval over "
        "repetitions, if there are any.",
        lambda: draw_pair_lines(measures, setting),
    )
    yield Sketch(
        "tournament",
        setting.label,
        "",
        "Each against each: share of the flows at the equilibrium",
        "Share of the flows that run the congestion control of the row, at the equilibrium of "
        "mixes with that of the column; small: its 95 % interval. 100 %: every flow switches to "
        "it; 'or': several equilibria. Right: the mean over the opponents. A high share means that "
        "a congestion control would be adopted, not that it is fair." + _condition([equilibria]),
        lambda: draw_tournament(equilibria.pairs),
    )


def _by_mix_sketches(
    measures: RunMeasures, setting: Setting, equilibria: SettingEquilibria
) -> Iterator[Sketch]:
    """What is drawn over the mixes: nothing to see where there is one."""
    label = setting.label
    series = references(measures, setting)
    yield Sketch(
        "throughput_by_mix",
        label,
        "",
        "Per-flow throughput by mix",
        _throughput_caption(measures)
        + _condition([equilibria])
        + _if_modelled(measures, setting, MODELS_SAY),
        lambda: draw_throughput_by_mix(measures, setting, equilibria, series),
    )
    yield Sketch(
        "delay_by_mix",
        label,
        "",
        "Queueing delay by mix",
        "Sojourn time of the packets that left in the measured window, including their own "
        "serialisation. Bars: 95 % interval of the mean over repetitions, if there are any."
        + _if_modelled(measures, setting, " Thin: the mean by models that predict it."),
        lambda: draw_delay_by_mix(measures, setting),
    )
    yield Sketch(
        "dynamics",
        label,
        "",
        "Where the mix would move",
        "How the mix would move if flows could choose. Bars: the gain of one flow that switches. "
        "Arrows: the direction in which that switch moves the mix. Lines: replicator dynamics from "
        "nine starts, in which a congestion control spreads in proportion to its advantage over "
        "the mean. With several groups or three congestion controls: the plane of mixes, with "
        "best-response paths (one flow at a time) and replicator dynamics. Utilities between "
        "measured mixes are interpolated.",
        lambda: draw_dynamics(equilibria),
    )


def _alone_sketches(measures: RunMeasures, setting: Setting) -> Iterator[Sketch]:
    yield Sketch(
        "rtt_alone",
        setting.label,
        "",
        "RTT over time, each alone",
        "The first repetition of each congestion control alone: the socket's smoothed RTT "
        "(TCP_INFO) and, if the trial has a capture, the RTT of every ACK (TCP time stamps).",
        lambda: draw_rtt_alone(measures, setting),
    )


def _correlation_sketches(correlation: RunCorrelation, setting: Setting) -> Iterator[Sketch]:
    label = setting.label
    yield Sketch(
        "model_assumptions",
        label,
        "",
        "What each assumption of Mishra's model costs",
        "Left: the measured value divided by the assumed one (all CUBIC flows losing together). "
        "Right: the change of BBR's predicted share, in percentage points, when the measured value "
        "replaces the assumed one, one at a time, starting from either bound of the model. In "
        "brackets: the paper's equations. The table below gives the assumptions in words.",
        lambda: draw_model_assumptions(correlation, setting),
    )
    yield Sketch(
        "synchronisation",
        label,
        "",
        "CUBIC flows that lose together, and the resulting k",
        "An event is all drops of CUBIC packets within one round trip (base RTT, full queue, "
        "reordering window) of the first. k = 1 - 0.3 x (share of the flows that lose) lies "
        "between the model's bounds: all flows lose together, or one flow at a time.",
        lambda: draw_synchronisation(correlation, setting),
    )


def _throughput_caption(measures: RunMeasures) -> str:
    repeated = measures.run.scenario.trials > 1
    bars = (
        "Bars: 95 % interval (Student t) over repetitions."
        if repeated
        else "There is one trial per mix, so there is no interval. The bands reach from the "
        "slowest to the fastest flow of each congestion control."
    )
    changes = any(trial.mean_rate_bps != trial.rate_bps for trial in measures.trials)
    rate = "what the link carries on average" if changes else "the applied rate"
    return (
        "Goodput of one flow, averaged over the flows of each congestion control. The fair share "
        f"is {rate} divided by the number of flows. Goodput excludes headers and is a few "
        f"per cent below it. {bars}"
    )


def _trial_sketches(measures: RunMeasures, trial: TrialMeasures) -> Iterator[Sketch]:
    label = trial.trial.setting.label
    suffix = trial.trial.id.removeprefix(f"{label}-")
    mix = state_text(trial.state, measures.strategies, measures.group_names)
    sampled = trial.trial.has("postcards") and trial.trial.record.postcards != "all"
    exact = "estimated from sampled postcards" if sampled else "rebuilt exactly from postcards"
    source = exact if trial.trial.has("postcards") else "as counted by the data plane"
    yield Sketch(
        "queue_over_time",
        label,
        suffix,
        f"Queue occupancy by flow: {mix}",
        f"Bytes of each flow in the queue, stacked, {source}. Means over short bins. Dashed: the "
        "applied buffer. Below, for flows that report them, such as BBR's: the sum of their "
        "bandwidth estimates and their goodput (dashed: the applied rate), and each flow's minimum "
        "RTT of 10 s and the RTT through the queue. Grey: some BBR flow is in ProbeRTT.",
        lambda: draw_queue_over_time(measures, trial),
    )
    yield Sketch(
        "rtt_over_time",
        label,
        suffix,
        f"RTT over time: {mix}",
        "The senders' smoothed RTT (TCP_INFO). Thin lines: single flows. Thick lines: means of "
        "each congestion control.",
        lambda: draw_rtt_over_time(measures, trial),
    )


def references(measures: RunMeasures, setting: Setting) -> list[ReferenceSeries]:
    """The scenario's published per-flow throughputs by mix that belong to a setting."""
    return [
        series
        for series in measures.run.scenario.reference
        if series.axis == "mix" and series.quantity == "per_flow" and matches(series, setting)
    ]


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
