"""What a capture's time stamps are like, in one pass over it."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.model import ContractModel
from pydantic import Field, SerializeAsAny

from .frames import Frames, Mark
from .source import TimestampSource
from .times import Times
from .trailer import Stamps

Exact = tuple[int, int, int]
"""Seconds, fraction, units per second."""


class ExactTime(ContractModel):
    """A time in whole numbers.

    Attributes:
        fraction: Units of the fraction.
    """

    s: int
    fraction: int
    per_second: int


class ListedPacket(ContractModel):
    """One packet.

    Attributes:
        device: The device that stamped it; -1: not known.
        port: The device's port; -1: not known.
        bytes: Length of the frame without the trailer.
        original_fcs: As on the wire, read big-endian; 0: the format keeps none.
    """

    time: ExactTime
    device: int
    port: int
    bytes: int
    original_fcs: int
    marks: tuple[str, ...]


class PortCount(ContractModel):
    """Packets that a port stamped.

    Attributes:
        device: The device; -1: not known.
        port: Its port; -1: not known.
    """

    device: int
    port: int
    packets: int


class CaptureSummary(ContractModel):
    """A capture's time stamps, as `nashbed timestamps --json` answers them.

    Attributes:
        format: The format whose times are used, of interfaces that differ each; this answer has no
            number of its layout.
        container: pcap, pcapng or erf.
        new_fcs_bytes: Length of the FCS behind the trailer (0 without a trailer).
        first: Time of the first packet of the file; null without any.
        last: Time of the last one.
        backwards: Packets whose time is before that of the one in front.
        marks: Name of a mark -> packets.
        listed: The first packets, one by one.
        notes: What else could have been thought of the times, and which interface has which.
        alignment: How the clock stands to another capture's; left out where none was named.
    """

    format: str
    ok: bool = True
    capture: str
    container: str
    new_fcs_bytes: int
    packets: int
    first: ExactTime | None
    last: ExactTime | None
    backwards: int
    ports: tuple[PortCount, ...]
    marks: dict[str, int]
    listed: tuple[ListedPacket, ...]
    notes: tuple[str, ...] = ()
    alignment: SerializeAsAny[ContractModel] | None = Field(
        default=None, exclude_if=lambda alignment: alignment is None
    )


@dataclass
class _Counts:
    """Counts and ends of the chunks read so far."""

    packets: int = 0
    first: Exact | None = None
    last: Exact | None = None
    backwards: int = 0
    ports: Counter[tuple[int, int]] = field(default_factory=Counter)
    marks: Counter[str] = field(default_factory=Counter)
    listed: list[ListedPacket] = field(default_factory=list)

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


def summarise_timestamps(
    path: Path, form: str | None = None, fcs_bytes: int | None = None, list_up_to: int = 0
) -> CaptureSummary:
    """Read a whole capture.

    Args:
        form: A trailer's name, `file`, or None: find it out.
        fcs_bytes: Length of a new FCS behind the trailer; None: find it out.
        list_up_to: How many packets are listed one by one.

    Raises:
        RunError: The capture cannot be read, or mixes formats.
    """
    source = TimestampSource(path, form, fcs_bytes)
    found = _Counts()
    for frames, stamps in source.chunks():
        found.add(frames, stamps, list_up_to)
    choice = source.choice
    return CaptureSummary(
        format=source.name,
        capture=str(path),
        container=source.container,
        new_fcs_bytes=choice.fcs_bytes if choice else 0,
        packets=found.packets,
        first=None if found.first is None else _exact(found.first),
        last=None if found.last is None else _exact(found.last),
        backwards=found.backwards,
        ports=tuple(
            PortCount(device=device, port=port, packets=packets)
            for (device, port), packets in sorted(found.ports.items())
        ),
        marks={name: count for name, count in sorted(found.marks.items()) if count},
        listed=tuple(found.listed),
        notes=source.notes,
    )


def exact_text(time: ExactTime | None) -> str:
    """A time with enough decimals to distinguish one unit of its fraction from the next."""
    if time is None:
        return "-"
    digits = len(str(time.per_second)) + 1
    return f"{time.s}.{time.fraction * 10**digits // time.per_second:0{digits}d}"


def _exact(time: Exact) -> ExactTime:
    seconds, fraction, per_second = time
    return ExactTime(s=seconds, fraction=fraction, per_second=per_second)


def _before(one: Exact, other: Exact) -> bool:
    """Compare exactly, whatever the units."""
    return (one[0], one[1] * other[2]) < (other[0], other[1] * one[2])


def _packet(frames: Frames, stamps: Stamps, n: int) -> ListedPacket:
    mark = Mark(int(stamps.marks[n]))
    return ListedPacket(
        time=_exact(stamps.times.exact(n)),
        device=int(stamps.device[n]),
        port=int(stamps.port[n]),
        bytes=int(frames.captured[n] - stamps.trailer_bytes[n]),
        original_fcs=int(stamps.original_fcs[n]),
        marks=tuple(str(each.name).lower() for each in Mark if each in mark),
    )
