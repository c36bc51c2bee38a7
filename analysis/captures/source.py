# SPDX-License-Identifier: Apache-2.0
"""A capture as a stream of frames and their time stamps, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from nashbed.controlplane.store.errors import RunError

from . import erf, pcap, pcapng
from .detect import FORMATS, WHICH, Choice, credible, detect, forced
from .frames import NOWHERE, Capture, Frames, map_capture
from .trailer import Stamps

FILE = "file"
"""The override that takes the file's own times."""
PADDED = "expcap"
"""The format whose records without wire length are padding."""


class TimestampSource:
    """Opens a capture and finds its format out.

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
            raise RunError(f"--format: {form!r} is not one of {names}")
        self._capture = map_capture(path)
        self._form, self._fcs_bytes = form, fcs_bytes
        self.container = _container(self._capture)
        first = next(read_frames(self._capture), None)
        if first is None:
            raise self._capture.damaged("holds no packets")
        self._per_second = first.times.per_second
        self.choice = self._choose(first)

    @property
    def path(self) -> Path:
        """The capture file."""
        return self._capture.path

    @property
    def name(self) -> str:
        """The format whose times are used."""
        if self.choice is not None:
            return self.choice.form.name
        return pcap.name(self._per_second) if self.container == "pcap" else self.container

    def chunks(self) -> Iterator[tuple[Frames, Stamps]]:
        """Stream the frames, each with its stamp, in the order of the file.

        Raises:
            RunError: The file is damaged, or mixes formats.
        """
        for frames in read_frames(self._capture):
            if self.choice is None:
                self._check_no_trailer(frames)
                yield frames, _own_times(frames)
                continue
            packets = frames.take(frames.wire > 0) if self.name == PADDED else frames
            stamps = self.choice.decode(packets)
            self._check(packets, stamps, self.choice)
            yield packets, stamps

    def _choose(self, frames: Frames) -> Choice | None:
        if self._form == FILE:
            return None
        return forced(frames, self._form, self._fcs_bytes) if self._form else detect(frames)

    def _check(self, frames: Frames, stamps: Stamps, choice: Choice) -> None:
        """Every frame must carry the trailer; if it was found out, with a credible time."""
        good = stamps.sound if self._form else credible(frames, stamps)
        bad = np.flatnonzero(~good)
        if len(bad):
            raise self._capture.damaged(
                f"mixes formats: packet {frames.first + bad[0] + 1} has no {choice.form.title} as "
                "the others have",
                WHICH,
            )

    def _check_no_trailer(self, frames: Frames) -> None:
        choice = detect(frames) if self._form is None else None
        if choice is not None:
            raise self._capture.damaged(
                f"mixes formats: no trailers before packet {frames.first + 1}, then the "
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
