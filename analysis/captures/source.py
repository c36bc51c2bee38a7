"""A capture as a stream of frames and their time stamps, whatever its format."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from nashbed.controlplane.store.errors import RunError

from . import erf, pcap, pcapng
from .detect import (
    FORMATS,
    WHICH,
    Choice,
    Decision,
    credible,
    detect,
    forced,
    in_era,
    sample,
)
from .frames import CHUNK, NOWHERE, Capture, Frames, map_capture
from .trailer import Stamps, joined

FILE = "file"
"""The override that takes the file's own times."""
SCANNED = 4
"""Chunks that decide: 131,072 frames."""
PADDED = "expcap"
"""The format whose records without wire length are padding."""


class TimestampSource:
    """Opens a capture and finds its format out, for each interface by itself.

    The first SCANNED chunks decide, all frames of most captures; what follows is held to it. An
    interface that only comes later is decided by the chunk that it comes in.

    Args:
        path: pcap, pcapng or ERF.
        form: A trailer's name, or `file` for the file's own times; None: find it out.
        fcs_bytes: Length of a new FCS behind the trailer; None: find it out.

    Raises:
        RunError: No such file, no capture, no such trailer in it.
    """

    def __init__(self, path: Path, form: str | None = None, fcs_bytes: int | None = None) -> None:
        if form not in (None, FILE, *FORMATS):
            names = ", ".join((FILE, *FORMATS))
            raise RunError(f"form: {form!r} is not one of {names}")
        self._capture = map_capture(path)
        self._form, self._fcs_bytes = form, fcs_bytes
        self.container = _container(self._capture)
        self._decisions: dict[int, Decision] = {}
        self._names: dict[int, str] = {}
        self._per_second = self._scan()

    @property
    def path(self) -> Path:
        """The capture file."""
        return self._capture.path

    @property
    def choice(self) -> Choice | None:
        """The trailer whose times are used, of the first interface that has one."""
        return next((d.choice for d in self._decisions.values() if d.choice), None)

    @property
    def name(self) -> str:
        """The format whose times are used; of interfaces that differ, each."""
        return " and ".join(dict.fromkeys(self._format(d) for d in self._decisions.values()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided where it is not plain: by which interface, and what was thought of."""
        notes = []
        if len({self._format(d) for d in self._decisions.values()}) > 1:
            each = (f"{self._names[n]} {self._format(d)}" for n, d in self._decisions.items())
            notes.append(f"times by interface: {', '.join(each)}")
        for n, decision in self._decisions.items():
            if decision.doubt:
                where = f"{self._names[n]}: " if len(self._decisions) > 1 else ""
                notes.append(where + decision.doubt)
        return tuple(dict.fromkeys(notes))

    def chunks(self) -> Iterator[tuple[Frames, Stamps]]:
        """Stream the frames, each with its stamp, in the order of the file.

        Raises:
            RunError: The file is damaged, or an interface mixes formats.
        """
        for frames in read_frames(self._capture):
            packets = self._without_padding(frames)
            used = packets.used()
            if len(used) == 1:
                yield packets, self._stamps(packets, used[0])
            elif used:
                yield packets, self._of_interfaces(packets, used)

    def _scan(self) -> int:
        """Decide of each interface in the first chunks; returns the file's units per second."""
        samples: dict[int, list[Frames]] = {}
        per_second = 0
        for frames in itertools.islice(read_frames(self._capture), SCANNED):
            per_second = per_second or frames.times.per_second
            for n in frames.used():
                samples.setdefault(n, []).append(sample(frames.take(frames.interface == n)))
                self._names[n] = frames.interfaces[n].name
        if not samples:
            raise self._capture.damaged("holds no packets")
        self._decisions = {n: self._decide(parts) for n, parts in sorted(samples.items())}
        return per_second

    def _decide(self, parts: list[Frames]) -> Decision:
        if self._form == FILE:
            return Decision()
        if self._form:
            return Decision(forced(parts, self._form, self._fcs_bytes))
        return detect(parts)

    def _decision(self, frames: Frames, n: int) -> Decision:
        """What was found out of an interface; all these frames are its."""
        if n not in self._decisions:
            self._names[n] = frames.interfaces[n].name
            self._decisions[n] = self._decide([sample(frames)])
        return self._decisions[n]

    def _format(self, decision: Decision) -> str:
        if decision.choice is not None:
            return decision.choice.form.name
        return pcap.name(self._per_second) if self.container == "pcap" else self.container

    def _without_padding(self, frames: Frames) -> Frames:
        if np.all(frames.wire > 0) or PADDED not in self.name.split():
            return frames
        return frames.take(frames.wire > 0)

    def _of_interfaces(self, frames: Frames, used: list[int]) -> Stamps:
        """Stamps of frames of several interfaces, in one unit of time."""
        groups: dict[Choice | None, list[int]] = {}
        for n in used:
            mine = frames.take(frames.interface == n)
            groups.setdefault(self._decision(mine, n).choice, []).append(n)
        parts = []
        for group in groups.values():
            where = np.flatnonzero(np.isin(frames.interface, group))
            mine = frames.take(where)
            parts.append((where, self._stamps(mine, group[0])))
        whole = joined(parts, len(frames))
        if whole is None:
            raise self._capture.damaged(
                "has interfaces whose times have no common unit",
                "write each interface to a file of its own (tshark -Y 'frame.interface_id==0')",
            )
        return whole

    def _stamps(self, frames: Frames, n: int) -> Stamps:
        """Stamps of frames whose interfaces have the same choice as the n-th."""
        choice = self._decision(frames, n).choice
        if choice is None:
            self._check_no_trailer(frames)
            return _own_times(frames)
        stamps = choice.decode(frames)
        self._check(frames, stamps, choice)
        return stamps if self._form else in_era(frames, stamps)

    def _check(self, frames: Frames, stamps: Stamps, choice: Choice) -> None:
        """Every frame must carry the trailer; if it was found out, with a credible time."""
        good = stamps.sound if self._form else credible(frames, stamps)
        bad = np.flatnonzero(~good)
        if len(bad):
            raise self._capture.damaged(
                f"mixes formats: packet {frames.number[bad[0]] + 1} has no {choice.form.title} as "
                "the others have",
                WHICH,
            )

    def _check_no_trailer(self, frames: Frames) -> None:
        """No interface begins to carry trailers behind the frames that decided."""
        if self._form is not None or frames.number[-1] < SCANNED * CHUNK:
            return
        for n in frames.used():
            choice = detect([sample(frames.take(frames.interface == n))]).choice
            if choice is not None:
                raise self._capture.damaged(
                    f"mixes formats: no trailers before packet {frames.number[0] + 1}, then the "
                    f"{choice.form.title}",
                    WHICH,
                )


def read_frames(capture: Capture) -> Iterator[Frames]:
    """Stream the frames of a capture with the file's own times, in chunks that are not empty.

    Raises:
        RunError: The file is damaged, or not a capture.
    """
    container = _container(capture)
    if container == "pcap":
        chunks = pcap.read(capture, pcap.byte_order(capture.file[:4]) or "<")
    elif container == "pcapng":
        chunks = pcapng.Reader(capture).read()
    else:
        chunks = erf.read(capture)
    return (frames for frames in chunks if len(frames))


def _container(capture: Capture) -> str:
    head = capture.file[:4]
    if pcap.byte_order(head) is not None:
        return "pcap"
    if head == pcapng.SECTION.to_bytes(4, "big"):
        return "pcapng"
    if erf.looks_like(capture):
        return "erf"
    raise capture.damaged("is not a capture: not pcap, pcapng or Ethernet ERF")


def _own_times(frames: Frames) -> Stamps:
    """The file's own times as stamps."""
    count = len(frames)
    return Stamps(
        times=frames.times,
        device=np.full(count, NOWHERE, np.int32),
        port=frames.port,
        marks=frames.marks,
        original_fcs=np.zeros(count, np.uint32),
        trailer_bytes=np.zeros(count, np.int64),
        sound=np.ones(count, np.bool_),
    )
