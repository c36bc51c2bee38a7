"""nashbed-probe over the loopback interface: exact sizes and order, echoes, bad input. No root."""

import itertools
import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.records import PROBE_ECHO, PROBE_SCHEDULE, PROBED, SEEN
from nashbed.controlplane.machine.paths import PROBE

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(not PROBE.is_file(), reason="needs the build: run `make build`"),
]

HOST = "127.0.0.1"
UNNUMBERED = 2**32 - 1


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


Start = Callable[[dict[str, Any]], subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def run(config: dict[str, Any]) -> subprocess.Popen[str]:
        path = tmp_path / f"{len(started)}.json"
        path.write_text(json.dumps(config))
        started.append(
            subprocess.Popen(
                [PROBE, "--config", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.communicate()


def event(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def order(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def schedule_of(rows: list[tuple[int, int, int, int]]) -> np.ndarray[Any, Any]:
    return np.array(rows, PROBE_SCHEDULE)


@pytest.fixture
def exchange(start: Start, tmp_path: Path) -> Callable[[np.ndarray[Any, Any]], tuple[Any, Any]]:
    """Sends a schedule on two sockets; returns what became of it and what was seen."""

    def run(schedule: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        sinks = [free_port(), free_port()]
        reflector = start(
            {"role": "reflector", "out": str(tmp_path),
             "sockets": [{"local": HOST, "local_port": port} for port in sinks]}
        )  # fmt: skip
        assert event(reflector) == {"event": "listening"}
        schedule.tofile(tmp_path / "schedule.bin")
        sockets = [
            {"local": HOST, "local_port": free_port(), "remote": HOST, "remote_port": port}
            for port in sinks
        ]
        prober = start(
            {"role": "prober", "out": str(tmp_path), "linger_ns": 200_000_000,
             "schedule": str(tmp_path / "schedule.bin"), "sockets": sockets}
        )  # fmt: skip
        assert event(prober) == {"event": "ready"}
        order(prober)
        told = event(prober)
        assert (told["event"], told["sent"]) == ("done", len(schedule))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as foreign:
            foreign.sendto(bytes(58), (HOST, sinks[0]))
        order(reflector)
        told = event(reflector)
        assert prober.wait(5) == reflector.wait(5) == 0
        seen = np.fromfile(tmp_path / "seen.bin", SEEN)
        assert told["received"] == len(seen)
        return np.fromfile(tmp_path / "probed.bin", PROBED), seen

    return run


def test_every_size_arrives_in_order_and_echoes_come_back(exchange: Any) -> None:
    sizes = [*range(60, 1515, 7), 1514, 60]
    rows = [(i * 20_000, i % 2, size, PROBE_ECHO if size >= 74 and i % 3 == 0 else 0)
            for i, size in enumerate(sizes)]  # fmt: skip
    began_ns = time.monotonic_ns()
    probed, seen = exchange(schedule_of(rows))
    ended_ns = time.monotonic_ns()

    ours = seen[seen["sequence"] != UNNUMBERED]
    for number in (0, 1):
        own = ours[ours["socket"] == number]
        assert own["sequence"].tolist() == list(range(number, len(sizes), 2))
        assert own["frame_bytes"].tolist() == sizes[number::2]
    # Another sender's datagram is told apart: 58 bytes of payload are a frame of 100.
    assert seen[seen["sequence"] == UNNUMBERED]["frame_bytes"].tolist() == [100]

    echoed = np.array([flags == PROBE_ECHO for *_, flags in rows])
    assert np.all(probed["received_ns"][echoed] > 0)
    assert np.all(probed["received_ns"][~echoed] == 0)
    times = [probed[name][echoed] for name in PROBED.names or ()]
    for earlier, later in itertools.pairwise(times):
        assert np.all(earlier <= later)
    assert began_ns < times[0].min()
    assert times[-1].max() < ended_ns


def test_no_frame_is_sent_before_its_time(exchange: Any) -> None:
    rows = [(i * 3_000_000, 0, 100, 0) for i in range(30)]
    probed, _ = exchange(schedule_of(rows))
    sent = probed["sent_ns"] - probed["sent_ns"][0]
    # The first one may be late itself, which makes the others look early; by less than a period.
    assert np.all(sent >= np.arange(30) * 3_000_000 - 3_000_000)
    assert np.all(np.diff(probed["sent_ns"]) > 0)


GOOD = {"role": "prober", "out": "/tmp", "schedule": "s.bin", "linger_ns": 0,
        "sockets": [{"local": HOST, "local_port": 10000, "remote": HOST,
                     "remote_port": 5001}]}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"role": "sender"}, 'role: bad value "sender"'),
        ({"more": 1}, "unknown key 'more'"),
        ({"linger_ns": -1}, "linger_ns: bad value -1"),
        ({"sockets": []}, "sockets: bad value []"),
        ({"sockets": [{"local": "here", "local_port": 1}]}, 'sockets[0].local: bad value "here"'),
        ({"sockets": [{"local": HOST, "local_port": 1}]}, "a prober's needs remote"),
        ({"role": "reflector"}, "a prober needs a schedule, a reflector has none"),
        ({"schedule": "/nowhere"}, "/nowhere: No such file"),
    ],
)
def test_a_bad_configuration_is_one_line(start: Start, changes: dict[str, Any], said: str) -> None:
    process = start(GOOD | changes)
    told = event(process)
    assert process.wait(5) == told["exit"] == 2
    assert said in told["error"]


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 0, 59, 0)],
        [(0, 0, 73, PROBE_ECHO)],
        [(0, 0, 1515, 0)],
        [(0, 1, 100, 0)],
        [(5, 0, 100, 0), (4, 0, 100, 0)],
        [(-1, 0, 100, 0)],
    ],
)
def test_a_bad_schedule_is_refused(
    start: Start, tmp_path: Path, rows: list[tuple[int, int, int, int]]
) -> None:
    schedule_of(rows).tofile(tmp_path / "s.bin")
    process = start(GOOD | {"schedule": str(tmp_path / "s.bin")})
    told = event(process)
    assert process.wait(5) == told["exit"] == 2
    assert "record" in told["error"]


def test_a_schedule_that_is_cut_off_is_refused(start: Start, tmp_path: Path) -> None:
    (tmp_path / "s.bin").write_bytes(bytes(17))
    process = start(GOOD | {"schedule": str(tmp_path / "s.bin")})
    assert "17 bytes are no schedule" in event(process)["error"]


def test_an_address_that_is_not_ours_is_a_host_error(start: Start, tmp_path: Path) -> None:
    sockets = [{"local": "192.0.2.1", "local_port": 5001}]
    process = start({"role": "reflector", "out": str(tmp_path), "sockets": sockets})
    told = event(process)
    assert process.wait(5) == told["exit"] == 4
    assert "192.0.2.1:5001: cannot bind" in told["error"]
