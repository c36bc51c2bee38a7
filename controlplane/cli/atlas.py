"""`nashbed atlas`: a map of the equilibrium that a model predicts."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from nashbed.files import quantity

from ..contract.errors import EXIT_OK, ConfigError
from ..contract.model import JsonObject
from ..contract.units import Buffer, Duration, Rate, Size
from ..machine.host import facts
from ..machine.process.clock import utc_now
from .console import duration_text, step_display
from .options import PUBLISHED_EQUILIBRIA, AsJson, answer, new_app

if TYPE_CHECKING:
    from nashbed.analysis.atlas.compute import EquilibriumMap
    from nashbed.analysis.atlas.plane import MapPlane
    from nashbed.analysis.atlas.settings import PlacedSetting

EXAMPLES = """Examples:

nashbed atlas (buffer by BDP per flow, 40 ms, 50 flows)

nashbed atlas --start iperf3 --window 2.7MB (as the published trials were run)

nashbed atlas --x flows=2..100 --y buffer=1..20bdp --rate 100mbit --rtt 20ms --out flows

nashbed atlas --x rate=10..1000mbit:60 --y rtt=5..100ms:linear:30 --buffer 2bdp --model closed-form

Ranges are `quantity=low..high`, of buffer (bdp), bdp-per-flow (pkt; it sets the rate), rate, rtt,
flows; behind a colon log (usual) or linear, and how many values."""

COLUMNS, ROWS = 40, 25
NONE = "none"

app = new_app()


@app.command(epilog=EXAMPLES)
def atlas(  # noqa: PLR0913, PLR0917 - one argument for each option
    x: Annotated[str, typer.Option("--x", help="To the right.")] = "buffer=0.4..60bdp",
    y: Annotated[str, typer.Option("--y", help="Upwards.")] = "bdp-per-flow=0.5..100pkt",
    rate: Annotated[
        str | None, typer.Option(help="Bottleneck, if not an axis.", show_default="100mbit")
    ] = None,
    rtt: Annotated[
        str | None, typer.Option(help="Base RTT, if not an axis.", show_default="40ms")
    ] = None,
    buffer: Annotated[
        str | None, typer.Option(help="Buffer in BDP, if not an axis.", show_default="5bdp")
    ] = None,
    flows: Annotated[
        int | None, typer.Option(help="CUBIC and BBR flows in all.", show_default="50")
    ] = None,
    duration: Annotated[str, typer.Option(help="How long they compete.")] = "120s",
    start: Annotated[
        str, typer.Option(help="How they start: together, or iperf3 as published trials.")
    ] = "together",
    window: Annotated[
        str | None,
        typer.Option(help="Most that a flow has in flight, e.g. 2.7MB.", show_default="no limit"),
    ] = None,
    model: Annotated[str, typer.Option(help="Whose equilibrium it shows.")] = "fluid",
    other: Annotated[
        str | None,
        typer.Option(
            help="Hatch where this model disagrees; none: do not.", show_default="closed-form"
        ),
    ] = None,
    settled: Annotated[
        bool,
        typer.Option("--settled", help="Dot where the mix does not settle in time; slow."),
    ] = False,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--runs", help="Also mark this run's equilibria; repeatable."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", help="Folder for atlas.png, csv, json...")] = Path(
        "atlas"
    ),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an atlas in that folder.")
    ] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes.", show_default="one for each core")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Map the equilibrium that a model predicts.

    Over any two of buffer, BDP per flow, rate, base RTT and flows: which share of the flows runs
    BBR where no flow gains by switching. Measured settings that belong on the map are marked in
    the colour of their own equilibrium. Hatched: chance alone moves it by more than 10 % of the
    flows, or the other model disagrees by more than 3 of 50 flows. With --settled dotted: the
    equilibrium's mix has not settled in the time that it has.

    It writes atlas.png, .pdf, .svg, atlas.csv (every point) and atlas.json (what was asked).
    """
    from nashbed.analysis.figures.atlas_map import (  # noqa: PLC0415 - slow to import
        check_folder,
        write_map,
    )

    given = {"rate": rate, "rtt": rtt, "buffer": buffer, "flows": flows}
    plane = replace(_plane((x, y), given), **_course(duration, start, window))
    names = _models(model, other)
    check_folder(out, overwrite)
    placed = _measured(plane, runs or [])
    began = time.monotonic()
    computed = _compute(plane, names, processes or os.cpu_count() or 1, settled)
    seconds = time.monotonic() - began
    made = {
        "utc": utc_now(),
        "seconds": round(seconds, 3),
        "software": facts.software(),
        "git": facts.git(),
    }
    today = datetime.now(UTC)
    written = write_map(computed, placed, out, f"{today.day} {today:%B %Y}", made)
    _say(computed, placed, written, seconds, as_json)
    return EXIT_OK


def _course(duration: str, start: str, window: str | None) -> JsonObject:
    """How long flows compete, how they start, and what limits their windows, in base units."""
    from nashbed.analysis.atlas.plane import STARTS  # noqa: PLC0415 - slow to import

    if start not in STARTS:
        raise ConfigError(f"--start: {start!r} is no start; write {' or '.join(STARTS)}")
    limit = None if window is None else quantity(Size, "--window", window).bytes
    return {
        "duration_s": _positive("duration", quantity(Duration, "--duration", duration).seconds),
        "start": start,
        "window_bytes": None if limit is None else _positive("window", limit),
    }


def _plane(axes: tuple[str, str], given: JsonObject) -> MapPlane:
    """What the map is over, in base units; a ConfigError says which option is wrong."""
    from nashbed.analysis.atlas.plane import plane_of, read_axis  # noqa: PLC0415 - slow to import

    fixed: dict[str, float | None] = dict.fromkeys(given)
    if given["rate"] is not None:
        fixed["rate"] = _positive("rate", quantity(Rate, "--rate", given["rate"]).bps)
    if given["rtt"] is not None:
        fixed["rtt"] = _positive("rtt", quantity(Duration, "--rtt", given["rtt"]).seconds)
    if given["buffer"] is not None:
        size = quantity(Buffer, "--buffer", given["buffer"])
        if size.unit != "bdp":
            raise ConfigError(f"--buffer: {size}: a map has it in BDP; write e.g. 5bdp")
        fixed["buffer"] = _positive("buffer", float(size.amount))
    if given["flows"] is not None:
        if given["flows"] < 2:
            raise ConfigError(f"--flows: {given['flows']}; write 2 or more, who can compete")
        fixed["flows"] = float(given["flows"])
    x, y = read_axis("--x", axes[0], COLUMNS), read_axis("--y", axes[1], ROWS)
    return plane_of(x, y, fixed)


def _positive(option: str, value: float) -> float:
    if value <= 0:
        raise ConfigError(f"--{option}: 0; write more than that")
    return float(value)


def _models(model: str, other: str | None) -> tuple[str, str | None]:
    """The model of the map, and the one that it is held against."""
    from nashbed.analysis.models import MODELS  # noqa: PLC0415 - slow to import

    if other is None:
        other = "closed-form" if model != "closed-form" else NONE
    for option, name in (("--model", model), ("--other", other)):
        if name not in MODELS and not (option == "--other" and name == NONE):
            raise ConfigError(f"{option}: there is no model {name!r}; write {', '.join(MODELS)}")
    return model, None if other in {NONE, model} else other


def _measured(plane: MapPlane, runs: list[Path]) -> list[PlacedSetting]:
    """The published settings and those of runs that belong on the map."""
    from nashbed.analysis.atlas.settings import (  # noqa: PLC0415 - slow to import
        place_settings,
        published_settings,
        run_settings,
    )

    known = published_settings(PUBLISHED_EQUILIBRIA)
    for run_dir in runs:
        known += run_settings(run_dir)
    return place_settings(plane, known)


def _compute(
    plane: MapPlane, names: tuple[str, str | None], processes: int, settled: bool
) -> EquilibriumMap:
    from nashbed.analysis.atlas.compute import compute_map  # noqa: PLC0415 - slow to import

    with step_display() as show_step:
        title = f"rows of {len(plane.x.values)} points"
        return compute_map(
            plane, *names, processes, lambda done, rows: show_step(title, done, rows), settled
        )


def _say(
    computed: EquilibriumMap,
    placed: list[PlacedSetting],
    written: list[Path],
    seconds: float,
    as_json: bool,
) -> None:
    from nashbed.analysis.atlas.tables import AtlasAnswer, asked_for  # noqa: PLC0415 - slow to import

    asked = asked_for(computed)
    files = [str(path) for path in written]
    said = AtlasAnswer(**vars(asked), settings=len(placed), seconds=seconds, files=tuple(files))
    text = (
        f"{asked.points} points by {computed.model}, {asked.questions} questions, "
        f"{duration_text(seconds)}\n"
    )
    if asked.refused:
        why = computed.refused[0].crossing.refusals[0]
        text += f"refused: {asked.refused} points: {why}\n"
    text += f"uncertain: {asked.uncertain.seeds} points by chance"
    if computed.other is not None:
        text += f", {asked.uncertain.models} where {computed.other} disagrees"
    if asked.uncertain.transient:
        text += f", {asked.uncertain.transient} that have not settled"
    text += f"\nmeasured settings on it: {len(placed)}\n" + "\n".join(files)
    answer(said, as_json, text)
