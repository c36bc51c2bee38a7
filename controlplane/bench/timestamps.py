"""How fast the time stamps of captures are read: numbers, measured here."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from nashbed.analysis.captures import TimestampSource
from nashbed.analysis.captures.erf import HEADER as ERF_HEADER
from nashbed.analysis.captures.exablaze import TRAILER as EXABLAZE_TRAILER
from nashbed.analysis.captures.expcap import FOOTER as EXPCAP_FOOTER
from nashbed.analysis.captures.metamako import TAIL as METAMAKO_TAIL
from numpy.typing import NDArray

from ..contract.benchmark import Benchmark
from ..contract.errors import HostError
from ..store.staging import scratch_folder

FRAME_BYTES = 110
"""Bytes of the frame before its trailer: headers and a little more, as captures are cut."""
EPOCH = 1_700_000_000
CHUNK = 1 << 17
TARGET_MPPS = 1.0
PCAP_HEADER = np.array([(0xA1B23C4D, 2, 4, 0, 262144, 1)], "<u4,<u2,<u2,<u8,<u4,<u4")
RECORD = [("seconds", "<u4"), ("ns", "<u4"), ("kept", "<u4"), ("wire", "<u4")]
BODY: tuple[str, Any] = ("body", f"S{FRAME_BYTES}")
HEADERS = bytes(12) + b"\x08\x00\x45\x00" + (FRAME_BYTES - 14).to_bytes(2, "big")
"""Ethernet and the beginning of IPv4, which says where the packet ends and a trailer may begin."""


def bench_timestamps(
    packets: int, repetitions: int, folder: Path | None = None
) -> tuple[Benchmark, ...]:
    """Write a capture of each kind and read its stamps, on one core; the files are removed.

    Args:
        packets: In each capture.
        repetitions: How often each is read.
        folder: Where the files go (None: the system's folder for temporary files).

    Raises:
        HostError: The captures cannot be written.
    """
    with scratch_folder("bench", folder) as made:
        return tuple(
            _measure(form, made / form, packets, repetitions, fill) for form, fill in FILLS.items()
        )


def _measure(
    form: str, path: Path, packets: int, repetitions: int, fill: Callable[[int, int], bytes]
) -> Benchmark:
    try:
        with path.open("wb") as file:
            _write(file, form, packets, fill)
    except OSError as error:
        raise HostError(
            f"{path}: cannot be written ({error.strerror}); choose another folder with --dir"
        ) from error
    seconds = tuple(_read(path, form, packets) for _ in range(repetitions))
    size = path.stat().st_size
    path.unlink()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return Benchmark(
        name=f"timestamps_{form.replace('-', '_')}_mpps",
        unit="million packets per second",
        values=tuple(packets / each / 1e6 for each in seconds),
        wanted=TARGET_MPPS,
        detail=f"{packets} packets, a capture of {size / 1e6:.0f} MB, one core",
        data={"form": form, "packets": packets, "file_bytes": size, "peak_mib": peak / 1024},
    )


def _write(file: BinaryIO, form: str, packets: int, fill: Callable[[int, int], bytes]) -> None:
    if form not in ("erf", "pcapng"):
        file.write(PCAP_HEADER.tobytes())
    for first in range(0, packets, CHUNK):
        file.write(fill(first, min(CHUNK, packets - first)))


def _read(path: Path, form: str, packets: int) -> float:
    """Seconds from opening the file to the stamp of every packet."""
    started = time.perf_counter()
    source = TimestampSource(path)
    read = sum(len(stamps.times) for _, stamps in source.chunks())
    taken = time.perf_counter() - started
    if source.name != form or read != packets:
        raise AssertionError(f"{source.name}: {read} of {packets} packets of {form} were read")
    return taken


def _records(first: int, count: int, trailer: list[tuple[str, Any]]) -> NDArray[Any]:
    """Packets of a pcap, a microsecond apart, with room for a trailer."""
    layout = np.dtype([*RECORD, BODY, *trailer])
    made = np.zeros(count, layout)
    made["body"] = HEADERS
    micros = first + np.arange(count)
    made["seconds"] = EPOCH + micros // 10**6
    made["ns"] = micros % 10**6 * 1000
    made["kept"] = made["wire"] = layout.itemsize - 16
    return made


def _pcap(first: int, count: int) -> bytes:
    return _records(first, count, []).tobytes()


def _exablaze(first: int, count: int) -> bytes:
    made = _records(first, count, [("stamp", EXABLAZE_TRAILER)])
    made["stamp"]["seconds"], made["stamp"]["fraction_low"] = made["seconds"], made["ns"]
    return made.tobytes()


def _metamako(first: int, count: int) -> bytes:
    words = [("fcs", ">u4"), ("extension", ">u4"), ("stamp", METAMAKO_TAIL)]
    made = _records(first, count, words)
    made["extension"] = 12345 << 8 | 0x21
    made["stamp"]["seconds"], made["stamp"]["ns"] = made["seconds"], made["ns"]
    made["stamp"]["flags"] = 0x03
    return made.tobytes()


def _expcap(first: int, count: int) -> bytes:
    made = _records(first, count, [("stamp", EXPCAP_FOOTER)])
    made["stamp"]["seconds"], made["stamp"]["ps_low"] = made["seconds"], made["ns"]
    return made.tobytes()


def _erf(first: int, count: int) -> bytes:
    layout = np.dtype([("head", ERF_HEADER), ("pad", "V2"), BODY])
    made = np.zeros(count, layout)
    micros = first + np.arange(count)
    head = made["head"]
    head["seconds"], head["fraction"] = EPOCH + micros // 10**6, micros % 10**6 * 4295 % 2**32
    head["type"], head["length"], head["wire"] = 2, layout.itemsize, FRAME_BYTES
    return made.tobytes()


def _pcapng(first: int, count: int) -> bytes:
    words = [(n, "<u4") for n in ("kind", "length", "interface", "high", "low", "kept", "wire")]
    layout = np.dtype([*words, BODY, ("pad", "V2"), ("again", "<u4")])
    made = np.zeros(count, layout)
    made["kind"], made["length"] = 6, layout.itemsize
    made["again"], made["kept"], made["wire"] = layout.itemsize, FRAME_BYTES, FRAME_BYTES
    ticks = EPOCH * 10**6 + first + np.arange(count)
    made["high"], made["low"] = ticks >> 32, ticks & 0xFFFFFFFF
    head = b"" if first else PCAPNG_HEAD
    return head + made.tobytes()


PCAPNG_HEAD = np.array(
    [0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0xFFFFFFFF, 0xFFFFFFFF, 28, 1, 20, 1, 0, 20], "<u4"
).tobytes()
"""A section, and an interface in microseconds."""
FILLS: dict[str, Callable[[int, int], bytes]] = {
    "pcap-ns": _pcap,
    "exablaze": _exablaze,
    "metamako": _metamako,
    "expcap": _expcap,
    "erf": _erf,
    "pcapng": _pcapng,
}
