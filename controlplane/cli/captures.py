"""`nashbed replay`, `rtt` and `timestamps`: what is done with captures."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..contract.errors import EXIT_OK
from ..contract.messages.replay import ReplaySummary
from ..contract.model import JsonAnswer
from .options import AsJson, answer, new_app
from .where import say

if TYPE_CHECKING:
    from nashbed.captures import CaptureSummary

app = new_app()


@app.command(epilog="Example: nashbed timestamps behind.pcap --against before.pcap --json")
def timestamps(
    capture: Annotated[Path, typer.Argument(help="Capture: pcap, pcapng or ERF.")],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="exablaze, metamako, expcap, or file (its own times).",
            show_default="detected",
        ),
    ] = None,
    fcs: Annotated[
        int | None,
        typer.Option(
            help="Bytes of a new FCS behind the trailer: 0 or 4.", show_default="detected"
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option("--against", help="Also align its clock with that of this capture."),
    ] = None,
    packets: Annotated[int, typer.Option(min=0, help="List the first so many packets.")] = 0,
    as_json: AsJson = False,
) -> int:
    """Show the hardware time stamps of a capture.

    Their format, first and last time, ports and marks.
    """
    from nashbed import captures  # noqa: PLC0415 - slow to import

    summary = captures.timestamps(capture, form, fcs, packets=packets)
    text = _text(summary)
    if against is not None:
        alignment = captures.align(against, capture, form)
        summary = summary.model_copy(update={"alignment": alignment})
        text += f"\n{alignment.text()}"
    answer(summary, as_json, text)
    return EXIT_OK


@app.command(epilog="Example: nashbed rtt cubic.pcap bbr.pcap --out rtt.png --until 21")
def rtt(
    captures: Annotated[
        list[Path], typer.Argument(help="Captures made beside the senders (pcap).")
    ],
    out: Annotated[Path, typer.Option("--out", help="Figure: png, pdf or svg.")],
    until: Annotated[
        float | None, typer.Option("--until", help="Only the first seconds.", min=0.001)
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Draw the RTT over time from captures, by TCP time stamps."""
    from nashbed.captures import rtt as draw_rtt  # noqa: PLC0415 - slow to import

    flows = draw_rtt(captures, out, until)
    for capture, line in dict.fromkeys((f.capture, f.passed_over) for f in flows):
        if line:
            sys.stderr.write(f"nashbed: {capture}: {line}\n")
    lines = [
        f"{flow.capture} port {flow.port}: n {flow.samples}, RTT {flow.min_ms:.1f} to "
        f"{flow.max_ms:.1f} ms, median {flow.median_ms:.1f} ms"
        for flow in flows
    ]
    data = {"ok": True, "figure": str(out), "flows": [each.model_dump() for each in flows]}
    answer(data, as_json, "\n".join([*lines, f"figure: {out}"]))
    return EXIT_OK


def _text(summary: CaptureSummary) -> str:
    from nashbed.captures import exact_text  # noqa: PLC0415

    lines = [
        f"{summary.capture}: {summary.packets} packets, times by {summary.format}"
        + (f" in {summary.container}" if summary.format != summary.container else ""),
        *summary.notes,
        f"first {exact_text(summary.first)} s",
        f"last  {exact_text(summary.last)} s",
        f"time steps back {summary.backwards} times",
    ]
    for port in summary.ports:
        if port.port >= 0:
            device = f"device {port.device}, " if port.device >= 0 else ""
            lines.append(f"{device}port {port.port}: {port.packets} packets")
    lines += [f"{name.replace('_', ' ')}: {count} packets" for name, count in summary.marks.items()]
    for n, packet in enumerate(summary.listed, 1):
        time = exact_text(packet.time)
        lines.append(f"{n}: {time} s, {packet.bytes} bytes {' '.join(packet.marks)}".rstrip())
    return "\n".join(lines)


class _ReplayedTo(JsonAnswer):
    """The beginning of what `nashbed replay` answers.

    Attributes:
        ok: True.
        out: The folder with departures and postcards.
    """

    ok: bool = True
    out: str


class ReplayAnswer(ReplaySummary, _ReplayedTo):
    """What `nashbed replay` answers: where it is, and what became of the packets."""


@app.command(epilog="Example: nashbed replay trace.pcap --scenario s.yaml --out replayed")
def replay(
    capture: Annotated[Path, typer.Argument(help="Capture: pcap or pcapng, Ethernet.")],
    scenario: Annotated[Path, typer.Option("--scenario", help="Gives rate and buffer.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for departures and postcards.")],
    as_json: AsJson = False,
) -> int:
    """Put a capture through the bottleneck in virtual time.

    It needs no root and reads no clock: the same capture gives the same result, to the bit.
    """
    from nashbed import captures  # noqa: PLC0415 - slow to import

    summary = captures.replay(capture, scenario, out)
    text = f"{summary.packets} packets, {summary.departed} departed, "
    text += f"{summary.dropped} dropped, {summary.unshaped} passed unshaped: {out}"
    for remark in summary.remarks:
        say(f"{capture}: {remark}")
    said = ReplayAnswer(out=str(out), **summary.model_dump())
    answer(said, as_json, text)
    return EXIT_OK
