# SPDX-License-Identifier: Apache-2.0
"""What a capture's time stamps are like, in one pass over it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .frames import Frames, Mark
from .source import TimestampSource
from .times import Times
from .trailer import Stamps

Exact = tuple[int, int, int]
"""Seconds, fraction, units per second."""


@dataclass
class Summary:
    """Counts, ends, and what is wrong.

    Attributes:
        capture: The file.
        container: pcap, pcapng or erf.
        form: The format whose times are used.
        new_fcs_bytes: Length of the FCS behind the trailer (0 without a trailer).
        packets: How many.
        first: Time of the first packet of the file.
        last: Time of the last one.
        backwards: Packets whose time is before that of the one in front.
        ports: (device, port) -> packets.
        marks: Name of a mark -> packets.
        listed: The first packets, one by one.
    """

    capture: Path
    container: str
    form: str
    new_fcs_bytes: int
    packets: int = 0
    first: Exact | None = None
    last: Exact | None = None
    backwards: int = 0
    ports: Counter[tuple[int, int]] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    listed: list[dict[str, Any]] = field(default_factory=list)

    def add(self, frames: Frames, stamps: Stamps, list_up_to: int) -> None:
        """Take a chunk."""
        times = stamps.times
        if len(times) == 0:
            return
        self._add_order(times)
        pairs = (stamps.device.astype(np.int64) << 32) | (stamps.port.astype(np.int64) & 0xFFFFFFFF)
        for pair, count in zip(*np.unique(pairs, return_counts=True), strict=True):
            port = int(pair) & 0xFFFFFFFF
            self.ports[int(pair) >> 32, port - (1 << 32) if port >> 31 else port] += int(count)
        if stamps.marks.any():
            for mark in Mark:
                self.marks[str(mark.name).lower()] += int(np.count_nonzero(stamps.marks & mark))
        for n in range(min(len(times), list_up_to - len(self.listed))):
            self.listed.append(_packet(frames, stamps, n))
        self.packets += len(times)

    def _add_order(self, times: Times) -> None:
        seconds, fraction = times.seconds, times.fraction
        earlier = (seconds[1:] < seconds[:-1]) | (
            (seconds[1:] == seconds[:-1]) & (fraction[1:] < fraction[:-1])
        )
        self.backwards += int(np.count_nonzero(earlier))
        first = times.exact(0)
        if self.first is None:
            self.first = first
        elif self.last is not None and _before(first, self.last):
            self.backwards += 1
        self.last = times.exact(len(times) - 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; every time as whole numbers."""
        ports = [{"device": d, "port": p, "packets": n} for (d, p), n in sorted(self.ports.items())]
        return {
            "capture": str(self.capture),
            "container": self.container,
            "format": self.form,
            "new_fcs_bytes": self.new_fcs_bytes,
            "packets": self.packets,
            "first": exact_dict(self.first),
            "last": exact_dict(self.last),
            "backwards": self.backwards,
            "ports": ports,
            "marks": {name: n for name, n in sorted(self.marks.items()) if n},
            "listed": self.listed,
        }


def summarise_timestamps(
    path: Path, form: str | None = None, fcs_bytes: int | None = None, list_up_to: int = 0
) -> Summary:
    """Read a whole capture.

    Args:
        path: The file.
        form: A trailer's name, `file`, or None: find it out.
        fcs_bytes: Length of a new FCS behind the trailer; None: find it out.
        list_up_to: How many packets are listed one by one.

    Raises:
        RunError: The capture cannot be read, or mixes formats.
    """
    source = TimestampSource(path, form, fcs_bytes)
    fcs = source.choice.fcs_bytes if source.choice else 0
    summary = Summary(path, source.container, source.name, fcs)
    for frames, stamps in source.chunks():
        summary.add(frames, stamps, list_up_to)
    return summary


def exact_dict(time: Exact | None) -> dict[str, int] | None:
    """A time for JSON."""
    return None if time is None else dict(zip(("s", "fraction", "per_second"), time, strict=True))


def exact_text(time: Exact | None) -> str:
    """A time with enough decimals to distinguish one unit of its fraction from the next."""
    if time is None:
        return "-"
    seconds, fraction, per_second = time
    digits = len(str(per_second)) + 1
    return f"{seconds}.{fraction * 10**digits // per_second:0{digits}d}"


def _before(one: Exact, other: Exact) -> bool:
    """Compare exactly, whatever the units."""
    return (one[0], one[1] * other[2]) < (other[0], other[1] * one[2])


def _packet(frames: Frames, stamps: Stamps, n: int) -> dict[str, Any]:
    mark = Mark(int(stamps.marks[n]))
    return {
        "time": exact_dict(stamps.times.exact(n)),
        "device": int(stamps.device[n]),
        "port": int(stamps.port[n]),
        "bytes": int(frames.captured[n] - stamps.trailer_bytes[n]),
        "original_fcs": int(stamps.original_fcs[n]),
        "marks": [str(each.name).lower() for each in Mark if each in mark],
    }
