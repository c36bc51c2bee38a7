"""`nashbed timestamps` and its benchmark on the command line."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run as cli
from tests.support import timestamps as made

S = made.EPOCH
FRAME = made.ethernet(b"x" * 40)


def capture(path: Path) -> Path:
    """Three packets by two ports; the clock steps back once and was degraded once."""
    times = [(S, 2**40 - 1, 1, 0x01), (S + 1, 0, 2, 0x01), (S, 5, 2, 0x11)]
    packets = [
        (S, 0, FRAME + made.metamako(s, f >> 11, b"", flags, 7, port, made.fcs(FRAME)))
        for s, f, port, flags in times
    ]
    path.write_bytes(made.pcap(packets))
    return path


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["timestamps", str(capture(tmp_path / "c")), "--json", "--packets", "2"]) == 0
    told = json.loads(capsys.readouterr().out)
    unit = 10**9 << 24
    assert (told["format"], told["container"], told["new_fcs_bytes"]) == ("metamako", "pcap", 0)
    assert (told["packets"], told["backwards"]) == (3, 1)
    assert told["first"] == {"s": S, "fraction": (2**29 - 1) << 24, "per_second": unit}
    assert told["last"] == {"s": S, "fraction": 0, "per_second": unit}
    assert told["marks"] == {"degraded": 1}
    assert [(p["device"], p["port"], p["packets"]) for p in told["ports"]] == [(7, 1, 1), (7, 2, 2)]
    assert [p["bytes"] for p in told["listed"]] == [len(FRAME)] * 2


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["timestamps", str(capture(tmp_path / "c")), "--format", "file"]) == 0
    said = capsys.readouterr().out
    assert "3 packets, times by pcap-ns in pcap" in said
    assert f"first {S}.00000000000 s" in said


def test_one_line_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.pcap"
    path.write_bytes(made.pcap([(S, 0, FRAME)]))
    assert cli(["timestamps", str(path), "--format", "expcap", "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"nashbed: {path}: has no expcap footer")
    assert len(captured.err.splitlines()) == 1
    assert json.loads(captured.out)["ok"] is False


@pytest.mark.slow
def test_a_capture_is_streamed(tmp_path: Path) -> None:
    """Reading 170 MB makes a process of its own grow by far less: chunks, and their arrays."""
    path = tmp_path / "large.pcap"
    with path.open("wb") as file:
        file.write(made.pcap([]))
        frame = made.ethernet(bytes(1400)) + made.exablaze(S, 1)
        one = made.pcap([(S, 1, frame)])[24:]
        for _ in range(115):
            file.write(one * 1000)
    script = (
        "import resource, sys; from pathlib import Path\n"
        "from nashbed.analysis.captures import summarise_timestamps as read\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "before = peak(); found = read(Path(sys.argv[1])); print(found.packets, peak() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    packets, grown_kib = map(int, done.stdout.split())
    assert packets == 115_000
    assert path.stat().st_size > 165e6
    assert grown_kib * 1024 < 100e6
