"""Figures of one setting and of one trial, and what captions say of settings."""

from collections.abc import Iterable, Iterator

from nashbed.controlplane.contract.harm import HarmMixes
from nashbed.controlplane.contract.scenario_keys import ReferenceSeries
from nashbed.controlplane.contract.trial import Setting

from ..correlation import correlate_run
from ..measures import RunMeasures, TrialMeasures
from ..models.asked import problem_of_queue
from ..models.measured import question_of_mix, questions_of_setting
from ..nash.of_run import SettingEquilibria
from ..results.bounds import matches
from ..state import State, state_text
from .by_mix import delay_by_mix_plot, throughput_by_mix_plot
from .correlation import draw_model_assumptions, share_against_share_plot, synchronisation_plot
from .delay_and_goodput import delay_and_goodput_plot
from .delay_over_time import rtt_alone_plot, rtt_over_time_plot
from .dynamics import draw_dynamics
from .pairs import pair_lines_plot, tournament_plot
from .queue_over_time import queue_over_time_plot
from .sketch import Sketch

MODELS_SAY = (
    " Models: predicted shares of the link, as goodput. Shaded: the range over the seeds of a "
    "stochastic model. Hatched: the range between Mishra's two bounds, with CUBIC losses "
    "synchronised and de-synchronised."
)
"""In captions of runs whose mixes models speak of."""


def setting_sketches(
    measures: RunMeasures, setting: Setting, equilibria: SettingEquilibria
) -> Iterator[Sketch]:
    """Every figure of one setting, whose equilibria are given."""
    label = setting.label
    if equilibria.table.pairs:
        yield from _pair_sketches(measures, setting, equilibria)
    elif _over_mixes(measures, setting):
        yield from _by_mix_sketches(measures, setting, equilibria)
    yield Sketch(
        "delay_and_goodput", label, "Delay against goodput",
        "Mean queueing delay and goodput of a flow, averaged over the flows of each congestion "
        "control; a point is one trial. Better is above and to the right; axes do not begin at "
        "zero. Ellipses: one sigma of the normal distribution that the trials most likely are of, "
        "where there are at least three; open marks: their median. In a slanted ellipse delay and "
        "goodput vary together. Source: RFC 7928, section 2.7; Winstein and Balakrishnan 2013.",
        lambda: delay_and_goodput_plot(measures, setting),
    )  # fmt: skip
    yield Sketch(
        "share_against_share", label, "Share of the queue against share of the throughput",
        "One point per flow and trial. If all packets waited equally long in the first-in "
        "first-out queue, every flow would lie on the dashed line (Little's law; equation (5) of "
        "Mishra et al. 2022). A flow to the right of the line meets a longer queue than average.",
        lambda: share_against_share_plot(measures, setting),
    )  # fmt: skip
    yield from _alone_sketches(measures, setting)
    yield from _correlation_sketches(measures, setting)


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
        "pair_lines", setting.label, f"Each against {first}: per-flow throughput by mix",
        f"Above: goodput of a flow that runs the other congestion control, against the number of "
        f"flows that run it; below: that of a {first} flow in the same mix. Dashed: the fair "
        "share. Where the two are equal, no flow gains by switching. Bars: 95 % interval over "
        "repetitions, if there are any.",
        lambda: pair_lines_plot(measures, setting),
    )  # fmt: skip
    yield Sketch(
        "tournament", setting.label, "Each against each: share of the flows at the equilibrium",
        "Share of the flows that run the congestion control of the row, at the equilibrium of "
        "mixes with that of the column; small: its 95 % interval. 100 %: every flow switches to "
        "it; 'or': several equilibria. Right: the mean over the opponents. A high share means that "
        "a congestion control would be adopted, not that it is fair." + condition([equilibria]),
        lambda: tournament_plot(equilibria.pairs),
    )  # fmt: skip


def _by_mix_sketches(
    measures: RunMeasures, setting: Setting, equilibria: SettingEquilibria
) -> Iterator[Sketch]:
    """What is drawn over the mixes: nothing to see where there is one."""
    label = setting.label
    series = references(measures, setting)
    yield Sketch(
        "throughput_by_mix", label, "Per-flow throughput by mix",
        _throughput_caption(measures)
        + condition([equilibria])
        + if_modelled(measures, setting, MODELS_SAY),
        lambda: throughput_by_mix_plot(measures, setting, equilibria, series),
    )  # fmt: skip
    yield Sketch(
        "delay_by_mix", label, "Queueing delay by mix",
        "Sojourn time of the packets that left in the measured window, including their own "
        "serialisation. Bars: 95 % interval of the mean over repetitions, if there are any."
        + if_modelled(measures, setting, " Thin: the mean by models that predict it."),
        lambda: delay_by_mix_plot(measures, setting),
    )  # fmt: skip
    yield Sketch(
        "dynamics", label, "Where the mix would move",
        "How the mix would move if flows could choose. Bars: the gain of one flow that switches. "
        "Arrows: the direction in which that switch moves the mix. Lines: replicator dynamics from "
        "nine starts, in which a congestion control spreads in proportion to its advantage over "
        "the mean. With several groups or three congestion controls: the plane of mixes, with "
        "best-response paths (one flow at a time) and replicator dynamics. Utilities between "
        "measured mixes are interpolated.",
        lambda: draw_dynamics(equilibria),
    )  # fmt: skip


def _alone_sketches(measures: RunMeasures, setting: Setting) -> Iterator[Sketch]:
    yield Sketch(
        "rtt_alone", setting.label, "RTT over time, each alone",
        "The first repetition of each congestion control alone: the socket's smoothed RTT "
        "(TCP_INFO) and, if the trial has a capture, the RTT of every ACK (TCP time stamps).",
        lambda: rtt_alone_plot(measures, setting),
    )  # fmt: skip


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
        f"is {rate} divided by the number of flows, without headers, as goodput is. {bars}"
    )


def _correlation_sketches(measures: RunMeasures, setting: Setting) -> Iterator[Sketch]:
    label = setting.label
    yield Sketch(
        "model_assumptions", label, "What each assumption of Mishra's model costs",
        "Left: the measured value divided by the assumed one (all CUBIC flows losing together). "
        "Right: the change of BBR's predicted share, in percentage points, when the measured value "
        "replaces the assumed one, one at a time, starting from either bound of the model. In "
        "brackets: the paper's equations. The table below gives the assumptions in words.",
        lambda: draw_model_assumptions(correlate_run(measures), setting),
    )  # fmt: skip
    yield Sketch(
        "synchronisation", label, "CUBIC flows that lose together, and the resulting k",
        "An event is all drops of CUBIC packets within one round trip (base RTT, full queue, "
        "reordering window) of the first. k = 1 - 0.3 x (share of the flows that lose) lies "
        "between the model's bounds: all flows lose together, or one flow at a time.",
        lambda: synchronisation_plot(correlate_run(measures), setting),
    )  # fmt: skip


def trial_sketches(measures: RunMeasures, trial: TrialMeasures) -> Iterator[Sketch]:
    """What is drawn over the time of one trial."""
    label = trial.trial.setting.label
    suffix = trial.trial.id.removeprefix(f"{label}-")
    mix = state_text(trial.state, measures.strategies, measures.group_names)
    exact = trial.trial.has("postcards")
    source = "rebuilt exactly from postcards" if exact else "as counted by the data plane"
    yield Sketch(
        "queue_over_time", label, f"Queue occupancy by flow: {mix}",
        f"Bytes of each flow in the queue, stacked, {source}. Means over short bins. Dashed: the "
        "applied buffer. Below, for flows that report them, such as BBR's: the sum of their "
        "bandwidth estimates and their goodput (dashed: the applied rate), and each flow's minimum "
        "RTT of 10 s and the RTT through the queue. Grey: some BBR flow is in ProbeRTT.",
        lambda: queue_over_time_plot(measures, trial), suffix=suffix,
    )  # fmt: skip
    yield Sketch(
        "rtt_over_time", label, f"RTT over time: {mix}",
        "The senders' smoothed RTT (TCP_INFO). Thin lines: single flows. Thick lines: means of "
        "each congestion control.",
        lambda: rtt_over_time_plot(measures, trial), suffix=suffix,
    )  # fmt: skip


def references(measures: RunMeasures, setting: Setting) -> list[ReferenceSeries]:
    """The scenario's published per-flow throughputs by mix that belong to a setting."""
    return [
        series
        for series in measures.run.scenario.reference
        if series.axis == "mix" and series.quantity == "per_flow" and matches(series, setting)
    ]


def condition(equilibria: Iterable[SettingEquilibria]) -> str:
    """What those equilibria hold for whose mixes had not settled; empty: all had."""
    conditions = dict.fromkeys(each.condition for each in equilibria if each.condition)
    if not conditions:
        return ""
    return (
        " Equilibria whose deciding mixes are not known to have settled hold for such trials: "
        f"{'; '.join(conditions)}."
    )


def if_modelled(
    measures: RunMeasures, setting: Setting, text: str, state: State | None = None
) -> str:
    """A part of a caption about models, where these speak of the mix, or of every mix."""
    if (problem := problem_of_queue(setting)) is not None:
        return f" No model is drawn: {problem}."
    if state is None:
        return text if questions_of_setting(measures, setting) is not None else ""
    return text if question_of_mix(measures, setting, state) is not None else ""
