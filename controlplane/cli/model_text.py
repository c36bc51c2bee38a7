"""The models' answers as a person reads them."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from .console import as_text

Json = dict[str, Any]
NONE = "-"


def mix_text(answers: Json) -> str:
    """One mix: a row for each model, its reasons, and the equilibrium band."""
    (mix,) = answers["mixes"]
    table = Table(title=f"{mix['cubic']} CUBIC + {mix['bbr']} BBR, {_setting(answers)}")
    table.add_column("model")
    for name in ("BBR share", "BBR\nMbit/s", "CUBIC\nMbit/s"):
        table.add_column(name, justify="right")
    for name in ("BBR\nper flow", "CUBIC\nper flow"):
        table.add_column(name, justify="right")
    table.add_column("answer")
    for about, prediction in zip(answers["models"], mix["predictions"], strict=True):
        total, each = prediction["aggregate_bps"], prediction["per_flow_bps"]
        cells = (total["bbr"], total["cubic"], each["bbr"], each["cubic"])
        shown = [_percent(prediction["bbr_share"]), *(_mbit(value) for value in cells)]
        table.add_row(about["title"], *shown, prediction["status"])
    return as_text(table) + _reasons(answers, [mix]) + _band(answers)


def mixes_text(answers: Json) -> str:
    """Every mix: per-flow throughputs by each model that answers, and the band."""
    table = Table(title=f"Mbit/s per flow, {_setting(answers)}")
    table.add_column("BBR\nflows", justify="right")
    answering = [i for i in range(len(answers["models"])) if _answers(answers, i)]
    for i in answering:
        title = answers["models"][i]["title"].replace("Mishra, ", "Mishra,\n")
        table.add_column(f"{title}\nBBR", justify="right")
        table.add_column("\n\nCUBIC" if "\n" in title else "\nCUBIC", justify="right")
    for mix in answers["mixes"]:
        rates = [mix["predictions"][i]["per_flow_bps"] for i in answering]
        cells = (_mbit(each[name]) for each in rates for name in ("bbr", "cubic"))
        table.add_row(str(mix["bbr"]), *cells)
    shown = as_text(table) if answering else f"no model answers: {_setting(answers)}\n"
    return shown + _reasons(answers, answers["mixes"]) + _band(answers)


def errors_text(answers: Json) -> str:
    """The median errors: a row for each buffer, a column for each model that answers."""
    titles = [about["title"] for about in answers["models"]]
    table = Table(
        title="Median absolute error of BBR's aggregate share, in points of 100 "
        "(median error, +: BBR too high)"
    )
    table.add_column("buffer")
    table.add_column("mixes", justify="right")
    for title in titles:
        table.add_column(title, justify="right")
    for row in answers["buffers"]:
        last = row["buffer_bdp"] is None
        label = "all" if last else f"{row['buffer_bdp']:g} BDP"
        if last:
            table.add_section()
        table.add_row(label, str(row["mixes"]), *(_error(each) for each in row["models"]))
    text = as_text(table) + _refusals(answers)
    for why, count in answers["left_out"].items():
        text += f"{count} mixes left out: {why}\n"
    return text


def _setting(answers: Json) -> str:
    asked = answers["question"]
    return (
        f"{asked['rate_bps'] / 1e6:g} Mbit/s, {asked['base_rtt_s'] * 1e3:g} ms, "
        f"{asked['buffer_bdp']:.4g} BDP, fair share {asked['fair_share_bps'] / 1e6:.4g} Mbit/s"
    )


def _answers(answers: Json, model: int) -> bool:
    """Whether a model has a number for a mix of both congestion controls."""
    mixed = (mix for mix in answers["mixes"] if mix["bbr"] and mix["cubic"])
    return any(mix["predictions"][model]["bbr_share"] is not None for mix in mixed)


def _reasons(answers: Json, mixes: list[Json]) -> str:
    """Each model's first caveat or refusal, and how many mixes have one."""
    text = ""
    for i, about in enumerate(answers["models"]):
        limited = [mix["predictions"][i] for mix in mixes if mix["bbr"] and mix["cubic"]]
        limited = [each for each in (limited or [mixes[0]["predictions"][i]]) if each["reasons"]]
        if limited:
            count = f" ({len(limited)} of {len(mixes)} mixes)" if len(mixes) > 1 else ""
            text += f"{about['title']} {limited[0]['status']}{count}: {limited[0]['reasons'][0]}\n"
    return text


def _band(answers: Json) -> str:
    band = answers["equilibrium"]
    if band["reasons"]:
        return f"equilibrium band: none: {band['reasons'][0]}\n"
    low, high = band["synchronised_bbr"], band["desynchronised_bbr"]
    mixes = ", ".join(str(k) for k in band["equilibrium_mixes_bbr"])
    return (
        f"equilibrium band: {low:.1f} to {high:.1f} of {band['flows']} flows run BBR "
        f"(CUBIC losses synchronised to de-synchronised); whole mixes at the bounds: {mixes}\n"
    )


def _refusals(answers: Json) -> str:
    """One line for each model that refused something: how much, and why."""
    text, everything = "", answers["buffers"][-1]["models"]
    for about, each in zip(answers["models"], everything, strict=True):
        if each["refused"]:
            count = f"{each['refused']} of {answers['mixes']} mixes"
            text += f"{about['title']} refused {count}: {each['reason']}\n"
    return text


def _error(each: Json) -> str:
    if each["median_abs"] is None:
        return "refused"
    off = round(100 * each["median"], 1) + 0.0  # never -0.0
    return f"{100 * each['median_abs']:.1f} ({off:+.1f})"


def _mbit(bps: float | None) -> str:
    return NONE if bps is None else f"{bps / 1e6:.2f}"


def _percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f} %"
