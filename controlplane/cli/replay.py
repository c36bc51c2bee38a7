"""`nashbed replay`: a capture through the bottleneck in virtual time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..config import load_scenario
from ..contract.errors import EXIT_OK
from ..run.replay import replay as run_replay
from .options import AsJson, answer, new_app

app = new_app()


@app.command(epilog="Example: nashbed replay trace.pcap --scenario s.yaml --out replayed")
def replay(
    capture: Annotated[Path, typer.Argument(help="Capture file (pcap, Ethernet).")],
    scenario: Annotated[Path, typer.Option("--scenario", help="Gives rate and buffer.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for departures and postcards.")],
    as_json: AsJson = False,
) -> int:
    """Put a capture through the bottleneck in virtual time.

    It needs no root and reads no clock: the same capture gives the same result, to the bit.
    """
    summary = run_replay(capture, load_scenario(scenario), out)
    text = f"{summary.packets} packets, {summary.departed} departed, "
    text += f"{summary.dropped} dropped: {out}"
    answer({"ok": True, "out": str(out), **summary.model_dump(mode="json")}, as_json, text)
    return EXIT_OK
