"""Captures in every format, put together byte by byte: what the decoders are held against."""

import struct
import zlib
from collections.abc import Iterable

EPOCH = 1_700_000_000
"""A time of day that other people's decoders find credible."""


def ethernet(payload: bytes) -> bytes:
    """A frame with an IPv4 packet of UDP, so that its length is known without its end."""
    udp = struct.pack(">HHHH", 4000, 5001, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0)
    addresses = bytes([10, 64, 0, 1, 10, 65, 0, 1])
    macs = b"\x02\x00\x00\x00\x00\x02" + b"\x02\x00\x00\x00\x00\x01"
    return macs + b"\x08\x00" + ip + addresses + udp


def fcs(frame: bytes) -> int:
    """A frame's FCS as trailers keep it: in the order of the wire, read big-endian."""
    return int.from_bytes(zlib.crc32(frame).to_bytes(4, "little"), "big")


def exablaze(
    seconds: int, fraction: int, device: int = 1, port: int = 2, fcs: int = 0, reserved: int = 0
) -> bytes:
    """The 16 bytes without a new FCS; fraction in 2^-40 s."""
    head = struct.pack(">IBBI", fcs, device, port, seconds)
    return head + fraction.to_bytes(5, "big") + bytes([reserved])


def sub_ns_extension(sub_ns: int, last: bool = True) -> bytes:
    """Sub-nanoseconds, 2^-24 ns."""
    return struct.pack(">I", sub_ns << 8 | (0x20 if last else 0) | 1)


def sequence_extension(number: int, last: bool) -> bytes:
    """A sequence number of 16 bits."""
    return struct.pack(">I", number << 8 | (0x20 if last else 0))


def crc_extension(crc: int, last: bool) -> bytes:
    """Two words of data: one further word besides 3 bytes of the tag word itself."""
    return struct.pack(">QI", crc, 2 << 6 | (0x20 if last else 0) | 2)


def secondary_extension(data: bytes, last: bool) -> bytes:
    """A secondary tag header with as many further words as there is data."""
    words = len(data) // 4
    return data + struct.pack(">I", 7 << 16 | (words - 1) << 6 | (0x20 if last else 0) | 31)


def metamako(
    seconds: int,
    ns: int,
    extensions: bytes = b"",
    flags: int = 0x01,
    device: int = 1,
    port: int = 2,
    fcs: int = 0,
) -> bytes:
    """The trailer without a new FCS; extensions in the order of the bytes, the first one last."""
    flags |= 0x02 if extensions else 0
    tail = struct.pack(">IIBHB", seconds, ns, flags, device, port)
    return struct.pack(">I", fcs) + extensions + tail


def expcap(
    seconds: int, ps: int, flags: int = 0, device: int = 1, port: int = 2, last: int = 0
) -> bytes:
    """The 16-byte footer; `last` is drops, or the new FCS."""
    head = struct.pack("<I", seconds) + ps.to_bytes(5, "little")
    return head + struct.pack("<BBBI", flags, device, port, last)


Packet = tuple[int, int, bytes]
"""Seconds, fraction in the file's units, bytes."""


def pcap(packets: Iterable[Packet], magic: int = 0xA1B23C4D, order: str = "<") -> bytes:
    """Classic pcap; the magic number says what the fraction is in."""
    out = struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 262144, 1)
    for seconds, fraction, data in packets:
        out += struct.pack(f"{order}IIII", seconds, fraction, len(data), len(data)) + data
    return out


def _block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(f"{order}I", len(body) + 12)
    return struct.pack(f"{order}I", kind) + length + body + length


def _option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(f"{order}HH", code, len(value)) + value + bytes(-len(value) % 4)


def pcapng_section(order: str = "<") -> bytes:
    """A section header block."""
    return _block(order, 0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))


def pcapng_interface(
    tsresol: int | None = None,
    offset_s: int | None = None,
    order: str = "<",
    fcs: int | None = None,
) -> bytes:
    """An interface description block; tsresol is the option's byte."""
    body = struct.pack(f"{order}HHI", 1, 0, 0)
    if tsresol is not None:
        body += _option(order, 9, bytes([tsresol]))
    if fcs is not None:
        body += _option(order, 13, bytes([fcs]))
    if offset_s is not None:
        body += _option(order, 14, struct.pack(f"{order}q", offset_s))
    return _block(order, 1, body + _option(order, 0, b""))


def pcapng_packet(ticks: int, data: bytes, interface: int = 0, order: str = "<") -> bytes:
    """An enhanced packet block."""
    head = struct.pack(
        f"{order}IIIII", interface, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data)
    )
    return _block(order, 6, head + data)


def erf(
    seconds: int,
    fraction: int,
    frame: bytes,
    flags: int = 4,
    extensions: int = 0,
    lost: int = 0,
    kind: int = 2,
) -> bytes:
    """One record of ERF; fraction in 2^-32 s, the frame as it was on the wire."""
    body = b"".join(
        bytes([0x80 if n < extensions - 1 else 0, *range(7)]) for n in range(extensions)
    )
    body += b"\x00\x00" + frame
    body += bytes(-len(body) % 8)
    kind |= 0x80 if extensions else 0
    return (
        struct.pack("<II", fraction, seconds)
        + struct.pack(">BBHHH", kind, flags, 16 + len(body), lost, len(frame))
        + body
    )
