"""`nashbed model`: what models say of CUBIC against BBR, and how far they are from measurements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from ..contract.errors import ConfigError
from ..contract.units import counted
from .api_command import Call, command
from .console import as_text, new_table
from .options import Answer, app

if TYPE_CHECKING:
    from nashbed.analysis.models.accuracy import Accuracy, BandAccuracy
    from nashbed.analysis.models.answers import (
        ErrorsAnswer,
        MixAnswer,
        PredictionAnswer,
        PredictionsAnswer,
    )
    from nashbed.analysis.models.crossing import CrossingAnswer


EXAMPLES = """Examples:

nashbed model --rate 100mbit --base-rtt 40ms --buffer 5bdp --flows 50 --cc-flows 10

nashbed model --rate 100mbit --base-rtt 40ms --buffer 20bdp --flows 50 (every mix)

nashbed model --rate 50mbit --base-rtt 40ms --buffer 20bdp --flows 2 --cc-flows 1 --duration 600s
--cubic-start 5s (BBR first)

nashbed model --rate 50mbit --base-rtt 40ms --buffer 4bdp --flows 10 --cc bbr3

nashbed model --measured results/20260101T120000Z-quickstart --model fluid --json

nashbed model --measured configs/scenarios/srivastava2023/published/fabric_mixes.csv"""
NONE = "-"
WIDE = 120
"""Width of tables that have a column for each model."""
INNER = (
    (("queueing_delay_s",), "queue\nms", 1e3),
    (("rtt_plus_s",), "RTT+\nms", 1e3),
    (("loss_bbr", "loss_cubic"), "loss %\nBBR/CUBIC", 100.0),
)
"""Quantities inside a model, shown where any model says them: names, heading, factor."""


@command(
    app,
    "models.competition",
    "models.predictions",
    "models.errors",
    examples=EXAMPLES,
    rate=typer.Option(None),
    base_rtt=typer.Option(None),
    buffer=typer.Option(None),
    flows=typer.Option(None),
    second=typer.Option("--cc"),
    second_flows=typer.Option(None, "--cc-flows", help="How many run it; left out: all mixes."),
    second_start=typer.Option("0s", "--cc-start"),
    names=typer.Option("--model", help="Ask this model alone."),
    measured=typer.Option(None),
    game=None,
    every_mix=None,
)
def model(competition: Call, predictions: Call, errors: Call) -> Answer:
    """Predict throughputs and equilibria by all models, or test the models.

    With --measured, their predictions are compared with measurements.

    The fluid model simulates the competition, with starts, duration and windows. The others are
    formulas: published ones (Ware 2019, Mishra 2022) are of the long run, and refuse what they are
    not valid for. A range is over the fluid model's seeds.
    """
    if "measured" in errors.given:
        if given := [
            *competition.typed,
            *(each for each in predictions.typed if each != "--model"),
        ]:
            raise ConfigError(
                f"{', '.join(given)}: --measured takes its settings from what it reads"
            )
        held = errors()
        return Answer(held, lambda: errors_text(held))
    needed = ("rate", "base_rtt", "buffer", "flows")
    missing = [competition.written[each] for each in needed if each not in competition.given]
    if missing:
        raise ConfigError(f"{', '.join(missing)}: missing; give the whole setting, or --measured")
    every_mix = "second_flows" not in competition.given
    answers = predictions(competition(), every_mix=every_mix)
    return Answer(answers, lambda: (mixes_text if every_mix else mix_text)(answers))


def mix_text(answers: PredictionsAnswer) -> str:
    """One mix: a row for each model, its reasons, and where the mix settles."""
    (mix,) = answers.mixes
    said = [q for q in INNER if any(q[0][0] in p.inner for p in mix.predictions)]
    second = _second(answers)
    columns = ["|model", f">|{second}'s share\n% (range)", f">Mbit/s of\na {second} flow"]
    columns += [">of a\nCUBIC flow", *(f">|{h.replace('BBR', second)}" for _, h, _ in said)]
    title = f"{mix.cubic} CUBIC + {mix.bbr} {second}, {_setting(answers)}"
    table = new_table(title, *columns)
    for about, prediction in zip(answers.models, mix.predictions, strict=True):
        each = prediction.per_flow_bps
        cells = [_share(prediction), _mbit(each.bbr), _mbit(each.cubic)]
        cells += [_inner(prediction, names, factor) for names, _, factor in said]
        table.add_row(about.title, *cells)
    return as_text(table) + _reasons(answers, [mix]) + "\n" + _equilibria(answers)


def mixes_text(answers: PredictionsAnswer) -> str:
    """Every mix: per-flow throughputs by each model that answers, and where the mix settles."""
    second = _second(answers)
    columns = [f">{second}\nflows"]
    answering = [i for i in range(len(answers.models)) if _answers(answers, i)]
    for i in answering:
        title = answers.models[i].title.replace("Mishra, ", "Mishra,\n")
        title = title.replace("synchronised", "sync.")
        columns += [f">|{title}\n{second}", ">\n\nCUBIC" if "\n" in title else ">\nCUBIC"]
    table = new_table(
        f"Mbit/s per flow, {_setting(answers)}\n"
        "(±: half of the range over the fluid model's seeds)",
        *columns,
    )
    for mix in answers.mixes:
        said = [mix.predictions[i] for i in answering]
        cells = ((_bbr_each(each), _mbit(each.per_flow_bps.cubic)) for each in said)
        table.add_row(str(mix.bbr), *(cell for pair in cells for cell in pair))
    shown = as_text(table, WIDE) if answering else f"no model answers: {_setting(answers)}\n"
    return shown + _reasons(answers, answers.mixes) + "\n" + _equilibria(answers)


def errors_text(answers: ErrorsAnswer) -> str:
    """The errors: a row for each buffer, a column for each model; then those of equilibria."""
    everything, has_band = answers.buffers[-1].models, answers.buffers[-1].band is not None
    shown = [i for i, each in enumerate(everything) if each.answered]
    table = new_table(
        "Error of BBR's aggregate share, in points of 100:\nmedian of the absolutes (median, "
        "+: BBR too high); --json has the 90th percentiles",
        ">|buffer\nBDP",
        ">|mixes",
        *(f">|{answers.models[i].title}".replace(", ", ",\n") for i in shown),
        *([">|Mishra, outside\nband (width; holds)"] if has_band else []),
    )
    for row in answers.buffers:
        last = row.buffer_bdp is None
        label = "all" if last else f"{row.buffer_bdp:g}"
        if last:
            table.add_section()
        errors = [_error(row.models[i]) for i in shown]
        if has_band:
            errors.append(_outside_band(row.band))
        table.add_row(label, str(row.mixes), *errors)
    text = as_text(table, WIDE) + _refusals(answers)
    for why, count in answers.left_out.items():
        text += f"{counted(count, 'mix')} left out: {why}\n"
    return text + _equilibrium_errors(answers)


def _second(answers: PredictionsAnswer) -> str:
    """The CCA beside CUBIC, as a heading."""
    return "BBR" if answers.second == "bbr" else answers.second


def _setting(answers: PredictionsAnswer) -> str:
    asked = answers.question
    begin = (("cubic", asked.cubic_start_s), (answers.second, asked.bbr_start_s))
    starts = [f"{name} starts at {at_s:g} s" for name, at_s in begin if at_s]
    text = (
        f"{asked.rate_bps / 1e6:g} Mbit/s, {asked.base_rtt_s * 1e3:g} ms, "
        f"{asked.buffer_bdp:.4g} BDP, {asked.duration_s:g} s, "
        f"fair share {asked.fair_share_bps / 1e6:.4g} Mbit/s"
    )
    return ", ".join([text, *starts])


def _answers(answers: PredictionsAnswer, model: int) -> bool:
    """Whether a model has a number for a mix of both CCAs."""
    mixed = (mix for mix in answers.mixes if mix.bbr and mix.cubic)
    return any(mix.predictions[model].bbr_share is not None for mix in mixed)


def _reasons(answers: PredictionsAnswer, mixes: Sequence[MixAnswer]) -> str:
    """Each model's first caveat or refusal, and how many mixes have one."""
    text = ""
    for i, about in enumerate(answers.models):
        limited = [mix.predictions[i] for mix in mixes if mix.bbr and mix.cubic]
        limited = [each for each in (limited or [mixes[0].predictions[i]]) if each.reasons]
        if limited:
            count = f" ({len(limited)} of {len(mixes)} mixes)" if len(mixes) > 1 else ""
            text += f"{about.title} {limited[0].status}{count}: {limited[0].reasons[0]}\n"
    return text


def _equilibria(answers: PredictionsAnswer) -> str:
    """Where each model expects the mix to settle, and Mishra's band in words."""
    second = f">{_second(answers)} flows (range)"
    table = new_table("Where the mix settles", "model", ">CUBIC flows", second)
    found = list(zip(answers.models, answers.crossings, strict=True))
    known = [(about, each) for about, each in found if each.bbr is not None]
    for about, each in known:
        table.add_row(about.title, f"{each.cubic:.1f}", _flows(each))
    return (as_text(table) if known else "") + _band(answers)


def _band(answers: PredictionsAnswer) -> str:
    band = answers.equilibrium
    if band is None:
        return ""
    if band.reasons:
        return f"equilibrium band: none: {band.reasons[0]}\n"
    low, high = band.synchronised_bbr, band.desynchronised_bbr
    mixes = ", ".join(str(k) for k in band.equilibrium_mixes_bbr)
    return (
        f"equilibrium band: {low:.1f} to {high:.1f} of {band.flows} flows run BBR "
        f"(Mishra 2022, CUBIC losses synchronised to de-synchronised); whole mixes at the bounds: "
        f"{mixes}\n"
    )


def _refusals(answers: ErrorsAnswer) -> str:
    """One line for each model that refused something: how much, and why."""
    text, everything = "", answers.buffers[-1].models
    for about, each in zip(answers.models, everything, strict=True):
        if each.refused:
            count = f"{each.refused} of {answers.mixes} mixes"
            text += f"{about.title} refused {count}: {each.reason}\n"
    return text


def _equilibrium_errors(answers: ErrorsAnswer) -> str:
    """How far each model's equilibria are from the nearest measured ones."""
    errors = [(about, each) for about, each in zip(answers.models, answers.equilibria,
              strict=bool(answers.equilibria)) if each.answered]  # fmt: skip
    if not errors:
        return ""
    title = f"Equilibria of {len(answers.games)} settings:\nCUBIC flows between a model's and "
    near = f">within {errors[0][1].within_flows}"
    table = new_table(f"{title}the measured one", "model", ">settings", ">median", near)
    for about, each in errors:
        within = f"{100 * (each.within or 0.0):.0f} %"
        table.add_row(about.title, str(each.answered), f"{each.median_abs:.1f}", within)
    return "\n" + as_text(table)


def _error(each: Accuracy) -> str:
    if each.median_abs is None or each.median is None:
        return "refused"
    off = round(100 * each.median, 1) + 0.0  # never -0.0
    return f"{100 * each.median_abs:.1f} ({off:+.1f})"


def _outside_band(band: BandAccuracy | None) -> str:
    if band is None:
        return "refused"
    width, holds = f"{100 * band.width:.1f}", f"{100 * band.holds:.0f} %"
    return f"{100 * band.outside:.1f} ({width}; {holds})"


def _bbr_each(prediction: PredictionAnswer) -> str:
    """Mbit/s of a BBR flow, with half of its range over the seeds."""
    bps, within = prediction.per_flow_bps.bbr, prediction.share_range
    share = prediction.bbr_share
    if bps is None or within is None or not share:
        return _mbit(bps)
    half = bps * (within[1] - within[0]) / share / 2
    return f"{_mbit(bps)} ± {_mbit(half)}"


def _share(prediction: PredictionAnswer) -> str:
    """BBR's share in per cent, with its range over the seeds."""
    share, within = prediction.bbr_share, prediction.share_range
    if share is None:
        return NONE
    return f"{100 * share:.1f}" + _range(within, 100.0)


def _flows(each: CrossingAnswer) -> str:
    """Flows of the second CCA, with their range, where it has one."""
    within = each.bbr_range
    spread = within if within is not None and within[0] < within[1] else None
    return f"{each.bbr:.1f}{_range(spread, 1.0)}"


def _range(within: Sequence[float] | None, factor: float) -> str:
    if within is None:
        return ""
    low, high = within
    return f" ({factor * low:.1f} to {factor * high:.1f})"


def _inner(prediction: PredictionAnswer, names: Sequence[str], factor: float) -> str:
    """Quantities inside a model; a dash for what it does not say."""
    values = [prediction.inner.get(name) for name in names]
    if all(value is None for value in values):
        return NONE
    return "/".join(NONE if value is None else f"{factor * value:.3g}" for value in values)


def _mbit(bps: float | None) -> str:
    return NONE if bps is None else f"{bps / 1e6:.2f}"
