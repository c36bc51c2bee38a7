"""`nashbed replay`, `rtt` and `timestamps`: what is done with captures."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from .api_command import Call, command
from .console import say
from .options import Answer, app

if TYPE_CHECKING:
    from nashbed.captures import CaptureSummary


@command(
    app,
    "captures.timestamps",
    "captures.align",
    examples="Example: nashbed timestamps behind.pcap --reference before.pcap --json",
    form=typer.Option("--format"),
    reference=typer.Option(None, help="Also align its clock with that of this capture."),
    other=None,
    packets=typer.Option(min=0),
)
def timestamps(read: Call, align: Call) -> Answer:
    """Show the hardware time stamps of a capture.

    Their format, first and last time, ports and marks.
    """
    summary = read()
    text = _text(summary)
    if "reference" in align.given:
        alignment = align(other=read.given["capture"])
        summary = summary.model_copy(update={"alignment": alignment})
        text += f"\n{alignment.text()}"
    return Answer(summary, text)


@command(
    app,
    "captures.rtt",
    examples="Example: nashbed rtt cubic.pcap bbr.pcap --out rtt.png --until 21",
    out=typer.Option(),
    until_s=typer.Option("--until", min=0.001),
)
def rtt(draw: Call) -> Answer:
    """Draw the RTT over time from captures, by TCP time stamps."""
    flows, out = draw(), draw.given["out"]
    for capture, line in dict.fromkeys((f.capture, f.passed_over) for f in flows):
        if line:
            sys.stderr.write(f"nashbed: {capture}: {line}\n")
    lines = [
        f"{flow.capture} port {flow.port}: n {flow.samples}, RTT {flow.min_ms:.1f} to "
        f"{flow.max_ms:.1f} ms, median {flow.median_ms:.1f} ms"
        for flow in flows
    ]
    data = {"ok": True, "figure": str(out), "flows": [each.model_dump() for each in flows]}
    return Answer(data, "\n".join([*lines, f"figure: {out}"]))


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


@command(
    app,
    "captures.replay",
    examples="Example: nashbed replay trace.pcap --scenario s.yaml --out replayed",
    scenario=typer.Option(),
    out=typer.Option(),
)
def replay(replay: Call) -> Answer:
    """Put a capture through the bottleneck in virtual time."""
    summary, capture, out = replay(), replay.given["capture"], replay.given["out"]
    text = f"{summary.packets} packets, {summary.departed} departed, "
    text += f"{summary.dropped} dropped, {summary.unshaped} passed unshaped: {out}"
    for remark in summary.remarks:
        say(f"{capture}: {remark}")
    return Answer({"ok": True, "out": str(out), **summary.model_dump()}, text)
