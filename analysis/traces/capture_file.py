"""The blocks of a pcapng file (draft-ietf-opsawg-pcapng), written one after the other."""

import struct
from typing import BinaryIO

SECTION, INTERFACE, PACKET = 0x0A0D0D0A, 1, 6
MAGIC = 0x1A2B3C4D
LINK_ETHERNET = 1
COMMENT, NAME, DESCRIPTION, SPEED, RESOLUTION, APPLICATION = 1, 2, 3, 8, 9, 4
NANOSECONDS = b"\x09"
_PACKET = struct.Struct("<IIIIIII")
_END = b"\0\0\0\0"


class CaptureFile:
    """Writes a section with interfaces of Ethernet and nanoseconds.

    Args:
        comment: What a reader must know of the whole file.
        application: What wrote it.
    """

    def __init__(self, file: BinaryIO, comment: str, application: str) -> None:
        self._file = file
        head = struct.pack("<IHHq", MAGIC, 1, 0, -1)
        self._write(
            SECTION,
            head + option(COMMENT, comment.encode()) + option(APPLICATION, application.encode()),
        )

    def interface(self, name: str, description: str, speed_bps: int, snap_bytes: int) -> None:
        """Describe the next interface; the first one has number 0."""
        self._write(
            INTERFACE,
            struct.pack("<HHI", LINK_ETHERNET, 0, snap_bytes)
            + option(NAME, name.encode())
            + option(DESCRIPTION, description.encode())
            + option(SPEED, struct.pack("<Q", speed_bps))
            + option(RESOLUTION, NANOSECONDS),
        )

    def packet(
        self, interface: int, t_ns: int, frame: bytes, wire_bytes: int, comment: bytes = b""
    ) -> None:
        """Write a packet.

        Args:
            t_ns: When it was seen, nanoseconds since 1970.
            frame: What is captured of it.
            wire_bytes: Its length on the wire.
            comment: UTF-8; empty: none.
        """
        body = frame + bytes(-len(frame) % 4)
        if comment:
            body += option(COMMENT, comment) + _END
        length = 32 + len(body)
        self._file.write(
            _PACKET.pack(PACKET, length, interface, t_ns >> 32, t_ns & 0xFFFFFFFF,
                         len(frame), wire_bytes)
            + body + struct.pack("<I", length)
        )  # fmt: skip

    def _write(self, kind: int, body: bytes) -> None:
        length = 12 + len(body) + len(_END)
        self._file.write(struct.pack("<II", kind, length) + body + _END + struct.pack("<I", length))


def option(code: int, value: bytes) -> bytes:
    """An option with its padding."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)
