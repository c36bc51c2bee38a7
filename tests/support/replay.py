"""The data plane in virtual time, as tests use it: bytes in, postcards out."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import POSTCARD
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("NASHBED_BUILD", ROOT / "build"))
"""Another build to test, such as one with sanitizers: hosts/ lies in it."""

BINARY = BUILD / "hosts" / "dpdk" / "nashbed-dataplane"
REPLAY = BINARY.parent / "nashbed-replay"
SPEC = ROOT / "p4src" / "dpdk" / "bottleneck.spec"
NATIVE = BINARY.parent / "pipeline" / "native" / "bottleneck.so"
PIPELINES = ("native", "interpreted")
"""Both ways to run the P4 program; the native one where it is built."""


@dataclass(frozen=True)
class Bottleneck:
    """What is replayed through.

    Attributes:
        rate_bps: Bits per second.
        limit: Drop-tail limit in `unit`.
        unit: "bytes", "packets" or "cells".
        cell_bytes: Size of a cell.
        overhead: Bytes per packet that take time but no room.
        arrivals: "frames" or "trains".
        counts: "system" or "queue": until when a packet counts against the limit.
        discipline: As the data plane is told it, beside its name; None: drop-tail.
        queues: Several queues, as the data plane is told them; None: one.
    """

    rate_bps: int = 100_000_000
    limit: int = 100_000
    unit: str = "bytes"
    cell_bytes: int = 80
    overhead: int = 0
    arrivals: str = "frames"
    counts: str = "system"
    discipline: tuple[str, dict[str, Any]] | None = None
    queues: dict[str, Any] | None = None

    def config(self) -> dict[str, Any]:
        """The data plane's JSON."""
        limit: dict[str, Any] = {"unit": self.unit, "value": self.limit}
        if self.unit == "cells":
            limit["cell_bytes"] = self.cell_bytes
        config = {
            "rate_bps": self.rate_bps,
            "limit": limit,
            "overhead_bytes": self.overhead,
            "arrive_as": self.arrivals,
            "limit_counts": self.counts,
        }
        if self.discipline is not None:
            name, parameters = self.discipline
            config["discipline"] = {"name": name, **parameters}
        if self.queues is not None:
            config["queues"] = self.queues
        return config


@dataclass(frozen=True)
class Replayed:
    """What came out.

    Attributes:
        postcards: Shape (n,), dtype records.POSTCARD, as written.
        summary: replay.json.
    """

    postcards: NDArray[Any]
    departures: bytes
    summary: dict[str, Any]
    folder: Path


def need_dataplane() -> None:
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not built: run `make build`")


def need_pipeline(pipeline: str) -> None:
    """Skip, with the reason, where the P4 program cannot be run so."""
    need_dataplane()
    if pipeline == "native" and not NATIVE.exists():
        pytest.skip(f"{NATIVE} is not built: `make setup` says why")


def start_replay(
    folder: Path,
    capture: bytes,
    bottleneck: Bottleneck,
    pipeline: str = "auto",
    binary: Path = REPLAY,
    spec: Path = SPEC,
) -> subprocess.CompletedProcess[str]:
    """Run a replay whatever its end."""
    need_pipeline(pipeline)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "in.pcap").write_bytes(capture)
    config = {
        "spec": str(spec),
        "pipeline": pipeline,
        "memory_mb": 96,
        "queue_packets": 8192,
        "bottleneck": bottleneck.config(),
    }
    (folder / "config.json").write_text(json.dumps(config))
    command = [str(binary), "--config", str(folder / "config.json")]
    command += ["--capture", str(folder / "in.pcap"), "--out", str(folder / "out")]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def replay(
    folder: Path, capture: bytes, bottleneck: Bottleneck, pipeline: str = "auto"
) -> Replayed:
    """Run a replay that must succeed."""
    run = start_replay(folder, capture, bottleneck, pipeline)
    assert run.returncode == 0, run.stderr
    out = folder / "out"
    return Replayed(
        postcards=np.fromfile(out / "postcards.raw", dtype=POSTCARD),
        departures=(out / "departures.pcap").read_bytes(),
        summary=json.loads((out / "replay.json").read_text()),
        folder=out,
    )


def time_of(postcards: NDArray[Any], field: str) -> NDArray[np.int64]:
    """The 48-bit "enqueue" or "dequeue" time, shape (n,), nanoseconds."""
    high = postcards[f"{field}_high"].astype(np.int64)
    return (high << 32) | postcards[f"{field}_low"].astype(np.int64)
