"""`nashbed atlas`: a map of the equilibrium that a model predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from .api_command import Call, command
from .console import duration_text
from .options import Answer, app

if TYPE_CHECKING:
    from nashbed.atlas import Atlas

EXAMPLES = """Examples:

nashbed atlas (buffer by BDP per flow, 40 ms, 50 flows)

nashbed atlas --start iperf3 --window 2.7MB (as the published trials were run)

nashbed atlas --x flows=2..100 --y buffer=1..20bdp --rate 100mbit --base-rtt 20ms --out flows

nashbed atlas --x rate=10..1000mbit:60 --y base_rtt=5..100ms:linear:30 --buffer 2bdp
--model closed-form"""


@command(
    app,
    "atlas.draw",
    examples=EXAMPLES,
    out=typer.Option("atlas", help="Folder for atlas.png, csv, json..."),
    processes=typer.Option(min=1),
)
def atlas(draw: Call) -> Answer:
    """Map the equilibrium that a model predicts."""
    made = draw()
    return Answer(made.answer, lambda: _text(made))


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
