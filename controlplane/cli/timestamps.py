"""`nashbed timestamps`: what the time stamps of a capture are, to the last digit."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..contract.errors import EXIT_OK

if TYPE_CHECKING:
    from nashbed.analysis.captures import Summary


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: nashbed timestamps behind.pcap --against before.pcap --json")(
        timestamps
    )


def timestamps(
    capture: Annotated[Path, typer.Argument(help="Capture: pcap, pcapng or ERF.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="exablaze, metamako, expcap, or file (its own times).",
            show_default="found out",
        ),
    ] = None,
    fcs: Annotated[
        int | None,
        typer.Option(
            help="Bytes of a new FCS behind the trailer: 0 or 4.", show_default="found out"
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", help="Align its clock to that of this capture, too."),
    ] = None,
    packets: Annotated[int, typer.Option(min=0, help="Tell this many one by one.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Answer in JSON on standard output.")
    ] = False,
) -> int:
    """Show the hardware time stamps of a capture: format, ends, ports, marks."""
    from nashbed.analysis.captures import summarise_timestamps  # noqa: PLC0415 - slow to import

    found = summarise_timestamps(capture, form, fcs, packets)
    answer, text = {"ok": True, **found.to_dict()}, _text(found)
    if against is not None:
        from nashbed.analysis.clock.pair import align_captures  # noqa: PLC0415

        alignment = align_captures(against, capture, form)
        answer["alignment"] = alignment.to_dict()
        text += f"\n{alignment.text()}"
    sys.stdout.write((json.dumps(answer, indent=1) if as_json else text) + "\n")
    return EXIT_OK


def _text(found: Summary) -> str:
    from nashbed.analysis.captures import exact_text  # noqa: PLC0415

    told = found.to_dict()
    lines = [
        f"{found.capture}: {found.packets} packets, times by {found.form}"
        + (f" in {found.container}" if found.form != found.container else ""),
        f"first {exact_text(found.first)} s",
        f"last  {exact_text(found.last)} s",
        f"time steps back {found.backwards} times",
    ]
    for port in told["ports"]:
        if port["port"] >= 0:
            device = f"device {port['device']}, " if port["device"] >= 0 else ""
            lines.append(f"{device}port {port['port']}: {port['packets']} packets")
    lines += [f"{name.replace('_', ' ')}: {count} packets" for name, count in told["marks"].items()]
    for n, packet in enumerate(told["listed"], 1):
        time = exact_text(tuple(packet["time"].values()))
        lines.append(f"{n}: {time} s, {packet['bytes']} bytes {' '.join(packet['marks'])}".rstrip())
    return "\n".join(lines)
