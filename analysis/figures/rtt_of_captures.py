"""RTT over time from captures: the figure and its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from nashbed.controlplane.store.errors import RunError

from ..captures.tcp_headers import read_segments
from ..metrics.capture_rtt import capture_rtt
from .rtt_alone import draw_captures
from .style import house_style, save

FORMATS = ("png", "pdf", "svg")


def draw_rtt(captures: Sequence[Path], out: Path, until_s: float | None) -> list[dict[str, Any]]:
    """Draw captures into a file.

    Args:
        captures: pcap files made beside the senders.
        out: The figure; its suffix says the format.
        until_s: Only the first seconds.

    Returns:
        For each flow: capture, port, number of samples, smallest, median and largest RTT in ms.

    Raises:
        RunError: A capture is missing, damaged or has no sample, or the figure cannot be
            written.
    """
    suffix = out.suffix[1:]
    if suffix not in FORMATS:
        raise RunError(f"{out}: figures are {', '.join(FORMATS)}")
    with house_style():
        figure = draw_captures(captures, until_s)
        if figure is None:
            names = ", ".join(str(c) for c in captures)
            raise RunError(
                f"{names}: no ACK echoes a time stamp of a data segment; capture both directions "
                "beside the senders, with TCP time stamps on"
            )
        try:
            save(figure, out.with_suffix(""), (suffix,))
        except OSError as error:
            raise RunError(f"{out}: cannot be written ({error.strerror or error})") from error
    return [row for path in captures for row in _numbers(path)]


def _numbers(path: Path) -> list[dict[str, Any]]:
    rows = []
    for series in capture_rtt(read_segments(path)):
        low, middle, high = np.percentile(series.rtt_ns, (0, 50, 100)) / 1e6
        rows.append(
            {
                "capture": str(path),
                "port": series.flow[0][1],
                "samples": len(series.rtt_ns),
                "min_ms": float(low),
                "median_ms": float(middle),
                "max_ms": float(high),
            }
        )
    return rows
