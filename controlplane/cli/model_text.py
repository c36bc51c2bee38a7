"""The models' answers as a person reads them."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from .overview import as_text

Json = dict[str, Any]
NONE = "-"


def mix_text(found: Json) -> str:
    """One mix: a row for each model, its reasons, and the equilibrium band."""
    (mix,) = found["mixes"]
    table = Table(title=f"{mix['cubic']} CUBIC + {mix['bbr']} BBR, {_setting(found)}")
    table.add_column("model")
    for name in ("BBR share", "BBR\nMbit/s", "CUBIC\nMbit/s"):
        table.add_column(name, justify="right")
    for name in ("BBR\nper flow", "CUBIC\nper flow"):
        table.add_column(name, justify="right")
    table.add_column("answer")
    for about, said in zip(found["models"], mix["predictions"], strict=True):
        total, each = said["aggregate_bps"], said["per_flow_bps"]
        cells = (total["bbr"], total["cubic"], each["bbr"], each["cubic"])
        shown = [_percent(said["bbr_share"]), *(_mbit(value) for value in cells)]
        table.add_row(about["title"], *shown, said["status"])
    return as_text(table) + _reasons(found, [mix]) + _band(found)


def mixes_text(found: Json) -> str:
    """Every mix: per-flow throughputs by each model that answers, and the band."""
    table = Table(title=f"Mbit/s per flow, {_setting(found)}")
    table.add_column("BBR\nflows", justify="right")
    answering = [i for i in range(len(found["models"])) if _answers(found, i)]
    for i in answering:
        title = found["models"][i]["title"].replace("Mishra, ", "Mishra,\n")
        table.add_column(f"{title}\nBBR", justify="right")
        table.add_column("\n\nCUBIC" if "\n" in title else "\nCUBIC", justify="right")
    for mix in found["mixes"]:
        said = [mix["predictions"][i]["per_flow_bps"] for i in answering]
        cells = (_mbit(each[name]) for each in said for name in ("bbr", "cubic"))
        table.add_row(str(mix["bbr"]), *cells)
    shown = as_text(table) if answering else f"no model answers: {_setting(found)}\n"
    return shown + _reasons(found, found["mixes"]) + _band(found)


def errors_text(found: Json) -> str:
    """The median errors: a row for each buffer, a column for each model that answers."""
    titles = [about["title"] for about in found["models"]]
    table = Table(
        title="Median absolute error of BBR's aggregate share, in points of 100 "
        "(median error, +: BBR too high)"
    )
    table.add_column("buffer")
    table.add_column("mixes", justify="right")
    for title in titles:
        table.add_column(title, justify="right")
    for row in found["buffers"]:
        last = row["buffer_bdp"] is None
        label = "all" if last else f"{row['buffer_bdp']:g} BDP"
        if last:
            table.add_section()
        table.add_row(label, str(row["mixes"]), *(_error(each) for each in row["models"]))
    text = as_text(table) + _refusals(found)
    for why, count in found["left_out"].items():
        text += f"{count} mixes left out: {why}\n"
    return text


def _setting(found: Json) -> str:
    asked = found["question"]
    return (
        f"{asked['rate_bps'] / 1e6:g} Mbit/s, {asked['base_rtt_s'] * 1e3:g} ms, "
        f"{asked['buffer_bdp']:.4g} BDP, fair share {asked['fair_share_bps'] / 1e6:.4g} Mbit/s"
    )


def _answers(found: Json, model: int) -> bool:
    """Whether a model has a number for a mix of both congestion controls."""
    mixed = (mix for mix in found["mixes"] if mix["bbr"] and mix["cubic"])
    return any(mix["predictions"][model]["bbr_share"] is not None for mix in mixed)


def _reasons(found: Json, mixes: list[Json]) -> str:
    """Each model's first reservation or refusal, and for how many mixes it has one."""
    text = ""
    for i, about in enumerate(found["models"]):
        said = [mix["predictions"][i] for mix in mixes if mix["bbr"] and mix["cubic"]]
        said = [each for each in (said or [mixes[0]["predictions"][i]]) if each["reasons"]]
        if said:
            count = f" ({len(said)} of {len(mixes)} mixes)" if len(mixes) > 1 else ""
            text += f"{about['title']} {said[0]['status']}{count}: {said[0]['reasons'][0]}\n"
    return text


def _band(found: Json) -> str:
    band = found["equilibrium"]
    if band["reasons"]:
        return f"equilibrium band: none: {band['reasons'][0]}\n"
    low, high = band["synchronised_bbr"], band["desynchronised_bbr"]
    mixes = ", ".join(str(k) for k in band["equilibrium_mixes_bbr"])
    return (
        f"equilibrium band: {low:.1f} to {high:.1f} of {band['flows']} flows run BBR "
        f"(CUBIC losses synchronised to de-synchronised); whole mixes at the bounds: {mixes}\n"
    )


def _refusals(found: Json) -> str:
    """One line for each model that refused something: how much, and why."""
    text, everything = "", found["buffers"][-1]["models"]
    for about, each in zip(found["models"], everything, strict=True):
        if each["refused"]:
            count = f"{each['refused']} of {found['mixes']} mixes"
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
