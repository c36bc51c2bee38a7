"""`nashbed atlas`: a map of the equilibrium that a model predicts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..contract.errors import EXIT_OK
from .console import duration_text, step_display
from .options import AsJson, answer, new_app

if TYPE_CHECKING:
    from nashbed.atlas import Atlas

EXAMPLES = """Examples:

nashbed atlas (buffer by BDP per flow, 40 ms, 50 flows)

nashbed atlas --start iperf3 --window 2.7MB (as the published trials were run)

nashbed atlas --x flows=2..100 --y buffer=1..20bdp --rate 100mbit --rtt 20ms --out flows

nashbed atlas --x rate=10..1000mbit:60 --y rtt=5..100ms:linear:30 --buffer 2bdp --model closed-form

Ranges are `quantity=low..high`, of buffer (bdp), bdp-per-flow (pkt; it sets the rate), rate, rtt,
flows; behind a colon log (usual) or linear, and how many values."""

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
    from nashbed import atlas as maps  # noqa: PLC0415 - slow to import

    with step_display() as show_step:
        made = maps.draw(
            out,
            x=x,
            y=y,
            rate=rate,
            rtt=rtt,
            buffer=buffer,
            flows=flows,
            duration=duration,
            start=start,
            window=window,
            model=model,
            other=other,
            settled=settled,
            runs=runs or (),
            overwrite=overwrite,
            processes=processes,
            on_step=show_step,
        )
    answer(made.answer, as_json, _text(made))
    return EXIT_OK


def _text(made: Atlas) -> str:
    computed, asked = made.map, made.answer
    text = (
        f"{asked.points} points by {computed.model}, {asked.questions} questions, "
        f"{duration_text(asked.seconds)}\n"
    )
    if asked.refused:
        why = computed.refused[0].crossing.refusals[0]
        text += f"refused: {asked.refused} points: {why}\n"
    text += f"uncertain: {asked.uncertain.seeds} points by chance"
    if computed.other is not None:
        text += f", {asked.uncertain.models} where {computed.other} disagrees"
    if asked.uncertain.transient:
        text += f", {asked.uncertain.transient} that have not settled"
    return f"{text}\nmeasured settings on it: {asked.settings}\n" + "\n".join(asked.files)
