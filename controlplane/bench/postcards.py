"""How fast and in how much memory postcards become per-flow occupancy: numbers, measured here."""

import resource
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from nashbed.analysis.metrics.queue import COLUMNS, TimeBins, occupancy_bins
from numpy.typing import NDArray

from ..contract.benchmark import Benchmark
from ..contract.errors import HostError
from ..store.parquet import stream_columns
from ..store.postcards import POSTCARDS, PostcardBatch, write_postcards
from ..store.staging import scratch_folder

FLOWS = 50
FRAME_BYTES = 1514
RATE_BPS = 10**9
BIN_NS = 10_000_000
CHUNK = 1 << 20
DISK_BYTES_EACH = 30
"""Upper estimate of a postcard's bytes on disk."""
TARGET_MPOSTCARDS_PER_S = 5.0
TARGET_PEAK_MIB = 1024.0


def bench_analysis(
    postcards: int, repetitions: int, folder: Path | None = None
) -> tuple[Benchmark, ...]:
    """Write postcards to disk, rebuild per-flow occupancy in 10 ms bins, and remove them.

    The time is from opening the Parquet file to the array of shape (flows, bins), on one
    core (no threads are used). The file was just written, so it is read from the page cache
    as far as memory reaches.

    Args:
        repetitions: How often the same file is read.
        folder: Where the file goes (None: the system's folder for temporary files).

    Raises:
        HostError: There is not enough disk.
    """
    with scratch_folder("bench", folder) as made:
        _check_disk(made, postcards)
        path = POSTCARDS.path(made)
        write_postcards(path.parent, _batches(postcards), marks=False)
        bins = TimeBins.cover(0, _duration_ns(postcards), BIN_NS)
        seconds = tuple(_read(path, bins) for _ in range(repetitions))
        size = path.stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    speed = Benchmark(
        name="analysis_mpostcards_per_s",
        unit="million postcards per second",
        values=tuple(postcards / s / 1e6 for s in seconds),
        wanted=TARGET_MPOSTCARDS_PER_S,
        detail=f"{postcards} postcards of {FLOWS} flows to {bins.count} bins of 10 ms, one core",
        data={"postcards": postcards, "flows": FLOWS, "bins": bins.count, "file_bytes": size},
    )
    memory = Benchmark(
        name="analysis_peak_mib",
        unit="MiB",
        values=(peak / 2**20,),
        wanted=TARGET_PEAK_MIB,
        sense="at most",
        detail="largest resident memory, libraries and making the data included",
    )
    return speed, memory


def _check_disk(folder: Path, postcards: int) -> None:
    free, needed = shutil.disk_usage(folder).free, postcards * DISK_BYTES_EACH
    if free < needed:
        raise HostError(
            f"{folder}: {free / 1e9:.1f} GB free, {postcards} postcards need up to "
            f"{needed / 1e9:.1f} GB; name another place with --dir"
        )


def _duration_ns(postcards: int) -> int:
    """A link that never rests: one full frame after the other."""
    return postcards * FRAME_BYTES * 8 * 10**9 // RATE_BPS


def _batches(postcards: int) -> Iterator[PostcardBatch]:
    """Postcards of flows in random order, in a queue that swings; one in 200 is a drop."""
    rng = np.random.default_rng(1)
    for first in range(0, postcards, CHUNK):
        yield _batch(np.arange(first, min(first + CHUNK, postcards), dtype=np.int64), rng)


def _batch(n: NDArray[np.int64], rng: np.random.Generator) -> PostcardBatch:
    dequeue = (n + 1) * (FRAME_BYTES * 8 * 10**9 // RATE_BPS)
    dropped = rng.random(len(n)) < 0.005
    swing = 20e6 + 15e6 * np.sin(dequeue / 2e9) + rng.integers(0, 100_000, len(n))
    sojourn = swing.astype(np.int64)
    size = np.full(len(n), FRAME_BYTES)
    return PostcardBatch(
        dropped=dropped,
        flow=rng.integers(0, FLOWS, len(n)),
        packet_bytes=size,
        payload_bytes=size - 66,
        tcp_seq=n * (FRAME_BYTES - 66) % 2**32,
        tcp_flags=np.full(len(n), 16, np.uint8),
        queue_bytes=sojourn // 8,
        enqueue_ns=np.where(dropped, dequeue, np.maximum(dequeue - sojourn, 0)),
        dequeue_ns=dequeue,
        seq=n % 2**32,
        marks=np.zeros(len(n), np.uint8),
    )


def _read(path: Path, bins: TimeBins) -> float:
    """Seconds from the file to the occupancy of every flow and bin."""
    started = time.perf_counter()
    occupancy_bins(stream_columns(path, COLUMNS), FLOWS, bins)
    return time.perf_counter() - started
