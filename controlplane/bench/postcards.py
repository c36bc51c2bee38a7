"""How fast and in how much memory postcards become per-flow occupancy: numbers, measured here."""

from __future__ import annotations

import resource
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from nashbed.analysis.metrics.queue_occupancy import COLUMNS, TimeBins, occupancy_bins
from numpy.typing import NDArray

from ..contract.benchmark import Figure
from ..contract.errors import HostError
from ..store.sealed_trial import BATCH_ROWS
from ..store.tables import POSTCARDS

FLOWS = 50
FRAME_BYTES = 1514
RATE_BPS = 10**9
BIN_NS = 10_000_000
CHUNK = 1 << 20
INCREASING = ("enqueue_ns", "dequeue_ns", "seq", "tcp_seq", "queue_bytes")
DISK_BYTES_EACH = 30
"""Upper estimate of a postcard's bytes on disk."""
TARGET_MPOSTCARDS_PER_S = 5.0
TARGET_PEAK_MIB = 1024.0


def bench_analysis(
    postcards: int, repetitions: int, folder: Path | None = None
) -> tuple[Figure, ...]:
    """Write postcards to disk, rebuild per-flow occupancy in 10 ms bins, and remove them.

    The time is from opening the Parquet file to the array of shape (flows, bins), on one
    core (no threads are used). The file was just written, so it is read from the page cache
    as far as memory reaches.

    Args:
        postcards: How many.
        repetitions: How often the same file is read.
        folder: Where the file goes (None: the system's folder for temporary files).

    Raises:
        HostError: There is not enough disk.
    """
    with tempfile.TemporaryDirectory(prefix="nashbed-bench-", dir=folder) as made:
        _check_disk(Path(made), postcards)
        path = Path(made) / "postcards.parquet"
        _write(path, postcards)
        bins = TimeBins.cover(0, _duration_ns(postcards), BIN_NS)
        seconds = tuple(_read(path, bins) for _ in range(repetitions))
        size = path.stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    speed = Figure(
        name="analysis_mpostcards_per_s",
        unit="million postcards per second",
        values=tuple(postcards / s / 1e6 for s in seconds),
        wanted=TARGET_MPOSTCARDS_PER_S,
        detail=f"{postcards} postcards of {FLOWS} flows to {bins.count} bins of 10 ms, one core",
        data={"postcards": postcards, "flows": FLOWS, "bins": bins.count, "file_bytes": size},
    )
    memory = Figure(
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


def _write(path: Path, postcards: int) -> None:
    """Encoded as the control plane writes it: differences for what increases."""
    delta = dict.fromkeys(INCREASING, "DELTA_BINARY_PACKED")
    plain = [name for name in POSTCARDS.names if name not in delta]
    with pq.ParquetWriter(
        path, POSTCARDS, compression="zstd", use_dictionary=plain, column_encoding=delta
    ) as writer:
        for batch in _batches(postcards):
            writer.write_batch(batch)


def _batches(postcards: int) -> Iterator[pa.RecordBatch]:
    """Postcards of flows in random order, in a queue that swings; one in 200 is a drop."""
    rng = np.random.default_rng(1)
    for first in range(0, postcards, CHUNK):
        n = np.arange(first, min(first + CHUNK, postcards), dtype=np.int64)
        yield pa.record_batch(_columns(n, rng), schema=POSTCARDS)


def _columns(n: NDArray[np.int64], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    dequeue = (n + 1) * (FRAME_BYTES * 8 * 10**9 // RATE_BPS)
    dropped = rng.random(len(n)) < 0.005
    stay = 20e6 + 15e6 * np.sin(dequeue / 2e9) + rng.integers(0, 100_000, len(n))
    enqueue = np.where(dropped, dequeue, np.maximum(dequeue - stay.astype(np.int64), 0))
    size = np.full(len(n), FRAME_BYTES)
    columns: dict[str, NDArray[Any]] = {
        "kind": dropped,
        "flow": rng.integers(0, FLOWS, len(n)),
        "packet_bytes": size,
        "payload_bytes": size - 66,
        "tcp_seq": n * (FRAME_BYTES - 66) % 2**32,
        "tcp_flags": np.full(len(n), 16),
        "queue_bytes": stay.astype(np.int64) // 8,
        "enqueue_ns": enqueue,
        "dequeue_ns": dequeue,
        "seq": n % 2**32,
    }
    return {f.name: columns[f.name].astype(f.type.to_pandas_dtype()) for f in POSTCARDS}


def _read(path: Path, bins: TimeBins) -> float:
    """Seconds from the file to the occupancy of every flow and bin."""
    started = time.perf_counter()
    with pq.ParquetFile(path) as file:
        batches = file.iter_batches(BATCH_ROWS, columns=list(COLUMNS), use_threads=False)
        chunks = ({c: b.column(c).to_numpy(zero_copy_only=False) for c in COLUMNS} for b in batches)
        occupancy_bins(chunks, FLOWS, bins)
    return time.perf_counter() - started
