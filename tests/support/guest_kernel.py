"""A process that has the data plane's library loaded and calls it as a guest's kernel does.

    python -m tests.support.guest_kernel LIBRARY CONFIGURATION

`tests/support/virtual.py` starts it: DPDK starts only once in a process. It reads commands, one
JSON object per line, and answers each but `answer` with one line.
"""

import ctypes
import json
import sys
from array import array
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_int, c_uint, c_ulonglong, c_void_p
from pathlib import Path
from typing import Any

ABI = 2
UNWRITTEN = 0xA5
"""What lies in a buffer where a frame's zeros are not written: it must not get out."""
END = 2**64 - 2
"""The last time before "never"."""


class Functions(ctypes.Structure):
    """struct nashbed_virtual of hosts/uml/nashbed_virtual.h."""

    _fields_ = (
        ("abi", c_uint),
        ("alloc", CFUNCTYPE(c_void_p, c_uint, POINTER(c_void_p))),
        ("receive", CFUNCTYPE(None, c_int, c_void_p, c_uint, c_ulonglong)),
        ("next_event", CFUNCTYPE(c_ulonglong)),
        ("advance", CFUNCTYPE(None, c_ulonglong)),
        (
            "take",
            CFUNCTYPE(
                c_void_p, POINTER(c_int), POINTER(c_void_p), POINTER(c_uint), POINTER(c_uint)
            ),
        ),
        ("release", CFUNCTYPE(None, c_void_p)),
        ("request", CFUNCTYPE(c_uint, c_char_p, c_uint, c_ulonglong)),
        ("answer", CFUNCTYPE(None, c_char_p, c_uint)),
        ("close", CFUNCTYPE(None)),
    )


class Kernel:
    """What a guest's kernel is to the library: a clock, frames and requests."""

    def __init__(self, library: str, configuration: str) -> None:
        opened = ctypes.CDLL(library).nashbed_virtual_open
        opened.argtypes, opened.restype = [c_char_p], POINTER(Functions)
        self._library = opened(configuration.encode()).contents
        assert self._library.abi == ABI
        self._now_ns = 0
        self._left: list[tuple[int, int, int, bytes]] = []
        self._snap = 0

    def request(self, room: int) -> str:
        """The next request to the guest, in parts of `room` bytes; empty when it is to end."""
        text = b""
        buffer = ctypes.create_string_buffer(room)
        while not text.endswith(b"\n"):
            n = self._library.request(buffer, room, self._now_ns)
            if n == 0:
                assert not text, "the guest ends in the middle of a request"
                return ""
            text += buffer.raw[:n]
        return text.decode()

    def answer(self, parts: list[str]) -> None:
        """Answer it in parts; the last one ends with the newline."""
        for part in parts:
            self._library.answer(part.encode(), len(part.encode()))

    def play(self, packets: Path, departures: Path, count: int, snap: int) -> tuple[int, int]:
        """Put packets through at their times until nothing is left to do.

        Both files are columns of 64-bit integers and then the frames' bytes. Times, wires, lengths
        and captured bytes are the columns; plain arrays, for NumPy would take as long to import as
        all that a short test does.

        Returns:
            The time then, and how many frames have left.
        """
        self._left, self._snap = [], snap
        content = packets.read_bytes()
        numbers = array("q", content[: 32 * count])
        columns = [numbers[at * count : (at + 1) * count] for at in range(4)]
        start = 32 * count
        for time_ns, wire, length, captured in zip(*columns, strict=True):
            # Frames of one instant come together, as from a host.
            self._advance_to(time_ns - 1)
            self._receive(time_ns, wire, content[start : start + captured], length)
            start += captured
        self._advance_to(END)
        frames = [frame for *_, frame in self._left]
        times, wires, lengths, _ = zip(*self._left, strict=True) if self._left else [()] * 4
        left = array("q", [*times, *wires, *lengths, *map(len, frames)])
        departures.write_bytes(b"".join([left.tobytes(), *frames]))
        return self._now_ns, len(frames)

    def close(self) -> None:
        """End the library."""
        self._library.close()

    def _receive(self, time_ns: int, wire: int, start: bytes, length: int) -> None:
        data = c_void_p()
        frame = self._library.alloc(length, byref(data))
        assert frame is not None, "out of packet buffers"
        ctypes.memset(data, UNWRITTEN, length)
        ctypes.memmove(data, start, len(start))
        self._library.receive(wire, frame, length - len(start), time_ns)

    def _advance_to(self, end_ns: int) -> None:
        library = self._library
        while (event_ns := library.next_event()) <= end_ns:
            assert event_ns >= self._now_ns, "time goes backwards"
            self._now_ns = event_ns
            library.advance(event_ns)
            self._left.extend(self._take())

    def _take(self) -> Iterator[tuple[int, int, int, bytes]]:
        wire, data, length, zeros = c_int(), c_void_p(), c_uint(), c_uint()
        while frame := self._library.take(byref(wire), byref(data), byref(length), byref(zeros)):
            written = ctypes.string_at(data, length.value - zeros.value)
            start = written.ljust(length.value, b"\0")[: self._snap]
            yield self._now_ns, wire.value, length.value, start
            self._library.release(frame)


def serve(kernel: Kernel, command: dict[str, Any]) -> dict[str, Any] | None:
    """Do one command; what to answer."""
    what = command.pop("do")
    if what == "request":
        return {"request": kernel.request(command["room"])}
    if what == "play":
        paths = (Path(command["packets"]), Path(command["departures"]))
        now_ns, left = kernel.play(*paths, command["count"], command["snap"])
        return {"now_ns": now_ns, "left": left}
    assert what == "answer"
    kernel.answer(command["parts"])
    return None


def main() -> None:
    kernel = Kernel(*sys.argv[1:])
    print(json.dumps({"open": True}), flush=True)
    for line in sys.stdin:
        answer = serve(kernel, json.loads(line))
        if answer is not None:
            print(json.dumps(answer), flush=True)
    kernel.close()


if __name__ == "__main__":
    main()
