"""Flows that an application limits, and paced datagrams: real ones between two namespaces."""

import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import ARRIVED_DATAGRAM, SEGMENT, SENT_DATAGRAM

Config = dict[str, Any]
MS = 1_000_000
LATE_NS = 100 * MS

RATE = {"group": 1, "kind": "rate", "rate_bps": 2_000_000}
ON_OFF = {"group": 2, "kind": "on_off", "on_ns": 200 * MS, "off_ns": 300 * MS}
VIDEO = {
    "group": 3,
    "kind": "video",
    "segment_ns": 100 * MS,
    "buffer_ns": 400 * MS,
    "ladder": [500_000, 1_000_000, 2_000_000],
}
UDP = {
    "group": 4,
    "kind": "udp",
    "rate_bps": 1_000_000,
    "packet_bytes": 200,
    "every_ns": 20 * MS,
}
KINDS = [RATE, ON_OFF, VIDEO, UDP]


@pytest.mark.live
@pytest.mark.root
def test_each_application_does_what_it_says(network: Any, config: Config, helpers: Any) -> None:
    network.shape(50, 200_000)
    config.update(duration_ns=1000 * MS, span_ns=1000 * MS, applications=KINDS)
    config["flows"] = [{**helpers.flow(n), "group": n + 1} for n in range(4)]
    config["flows"][3]["cc"] = "udp"
    outcome = network.trial(config)
    out = Path(config["out"])
    got = [outcome.sink_flow(n)["bytes"] for n in range(4)]

    # 2 Mbit/s for 1 s, the last write at 990 ms: all of it is there, and nothing more.
    assert got[0] == 250_000

    # Two times on: what was read in 200 to 500 ms had been written before (64 KiB and a segment
    # of the kernel's wait at most), and 50 Mbit/s bound the rest.
    read = outcome.goodput_of(1)
    silent = (read["t_ns"] > outcome.t0_ns + 300 * MS + LATE_NS) & (
        read["t_ns"] <= outcome.t0_ns + 500 * MS
    )
    assert read["bytes"][silent].sum() <= 2**17
    assert 100_000 < got[1] <= 50e6 / 8 * 0.4 + 2 * (2**17 + 200_000)

    # The buffer holds four segments and one plays meanwhile: 4 to 14 are asked for, in order.
    segments = np.fromfile(out / "segments.bin", SEGMENT)
    assert np.all(segments["segment"] == np.arange(len(segments)))
    assert 4 <= len(segments) <= 14
    assert np.all(segments["size_bytes"] == segments["bitrate_bps"] * 100 * MS // (8 * 10**9))
    there = segments[segments["completed_ns"] > 0]
    assert got[2] >= there["size_bytes"].sum()
    assert np.all(there["completed_ns"] > there["requested_ns"])
    assert np.all(there["buffer_ns"] <= 400 * MS)

    # Frames of 2,500 bytes every 20 ms, 50 of them: twelve packets of 200 and one of 100 each.
    sent = np.fromfile(out / "sent.bin", SENT_DATAGRAM)
    arrived = np.fromfile(out / "arrived.bin", ARRIVED_DATAGRAM)
    assert np.array_equal(sent["seq"], np.arange(len(sent)))
    assert len(sent) in (50 * 13, 51 * 13)  # the end may fall behind the frame of its instant
    assert np.array_equal(sent["bytes"].reshape(-1, 13)[0], [200] * 12 + [100])
    due = outcome.t0_ns + np.arange(len(sent) // 13).repeat(13) * 20 * MS
    assert np.all(sent["sent_ns"] >= due)
    at = np.searchsorted(sent["seq"], arrived["seq"])
    assert np.all(arrived["arrived_ns"] >= sent["sent_ns"][at])
    assert got[3] == sent["bytes"][at].sum()
    assert outcome.sender_flow(3)["bytes_sent"] == sent["bytes"].sum()
    assert outcome.sender_flow(3)["cc_applied"] == "udp"
    assert outcome.sink["strangers"] == 0
    assert 3 not in outcome.samples["flow"]
    assert set(outcome.samples["flow"]) == {0, 1, 2}


BAD: list[tuple[Config, Config, str]] = [
    (RATE, {"rate_bps": 0}, "applications[0]: bad value {"),
    (ON_OFF, {"on_ns": 0}, "applications[0]: bad value {"),
    (VIDEO, {"ladder": []}, "applications[0]: bad value {"),
    (VIDEO, {"ladder": [0]}, "applications[0].ladder[0]: bad value 0"),
    (VIDEO, {"buffer_ns": 199 * MS}, "applications[0]: bad value {"),
    (UDP, {"packet_bytes": 11}, "applications[0]: bad value {"),
    (UDP, {"packet_bytes": 1473}, "applications[0].packet_bytes: bad value 1473"),
    (UDP, {"rate_bps": 0, "every_ns": 0}, "applications[0]: bad value {"),
    (UDP, {"kind": "tcp"}, 'applications[0].kind: bad value "tcp"'),
    (UDP, {"jitter": 1}, "applications[0]: unknown key 'jitter'"),
]


@pytest.mark.parametrize(("kind", "change", "message"), BAD)
def test_a_bad_application_is_one_line(
    flows_binary: Path, config: Config, tmp_path: Path, kind: Config, change: Config, message: str
) -> None:
    result = _checked(flows_binary, {**config, "applications": [{**kind, **change}]}, tmp_path)
    assert result.returncode == 2
    [line] = result.stderr.splitlines()
    assert message in line


def _checked(binary: Path, config: Config, folder: Path) -> subprocess.CompletedProcess[str]:
    path = folder / "flows.json"
    path.write_text(json.dumps(config))
    return subprocess.run([binary, "--config", path], capture_output=True, text=True, check=False)
