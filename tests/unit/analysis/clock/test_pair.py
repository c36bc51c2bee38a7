"""Two captures on the command line: aligned by either direction, or refused in one line."""

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from nashbed.controlplane.cli.main import run as cli
from tests.support import timestamps as made

S = made.EPOCH


def segment(number: int, back: bool) -> bytes:
    """A TCP segment of either direction."""
    ends = [bytes([10, 64, 0, 1]), bytes([10, 65, 0, 1])]
    ports = [10000, 5001]
    tcp = struct.pack(">HHIIBBHHH", *ports[:: -1 if back else 1], number, 7, 0x50, 0x10, 9, 0, 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40, number % 65536, 0x4000, 64, 6, 0)
    return bytes(12) + b"\x08\x00" + ip + b"".join(ends[:: -1 if back else 1]) + tcp


def captures(folder: Path, step_back: bool = False, foreign: bool = False) -> list[str]:
    """Before and behind a queue that is never empty; ACKs come back unhindered.

    The clock behind is 40 ppm fast and 3 s ahead.
    """
    rng, each = np.random.default_rng(5), 4000
    data = np.sort(rng.integers(0, 10 * 10**9, each))
    acks = np.sort(rng.integers(0, 10 * 10**9, each))
    queue = rng.integers(10_000_000, 30_000_000, each)
    late = rng.exponential(2_000, each).astype(int)
    before = [(int(t), segment(n, False)) for n, t in enumerate(data)]
    before += [
        (int(t + d), segment(n, True)) for n, (t, d) in enumerate(zip(acks, late, strict=True))
    ]
    gone = np.sort(data + queue)
    behind = [(int(t), segment(n + 50_000 * foreign, False)) for n, t in enumerate(gone)]
    behind += [(int(t), segment(n + 50_000 * foreign, True)) for n, t in enumerate(acks)]
    behind = [(t + 3 * 10**9 + t * 40 // 10**6, f) for t, f in behind]
    paths = []
    for name, packets in (("before", before), ("behind", behind)):
        packets.sort(key=lambda packet: packet[0])
        if step_back:
            packets[1000] = (packets[1000][0] - 10**9, packets[1000][1])
        paths.append(folder / f"{name}.pcap")
        paths[-1].write_bytes(made.pcap((S + t // 10**9, t % 10**9, f) for t, f in packets))
    return [str(path) for path in paths]


def test_aligned_by_what_no_queue_held_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, behind = captures(tmp_path)
    assert cli(["timestamps", behind, "--reference", before, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["alignment"]
    offset_ns = (told["other_origin_s"] - told["origin_s"]) * 10**9 + told["offset_ps"] / 1e3
    assert told["drift"] == pytest.approx(40e-6, abs=0.01e-6)
    assert offset_ns == pytest.approx(3 * 10**9, abs=500)
    assert cli(["timestamps", behind, "--reference", before]) == 0
    said = re.search(r"behind\.pcap is \+([0-9.]+) s", capsys.readouterr().out)
    assert said is not None
    assert float(said[1]) == pytest.approx(3, abs=500e-9)


@pytest.mark.parametrize(
    ("fault", "words"),
    [("foreign", "have no packets in common"), ("step_back", "its clock ran backwards by")],
)
def test_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], fault: str, words: str
) -> None:
    before, behind = captures(tmp_path, **{fault: True})
    assert cli(["timestamps", behind, "--reference", before]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
