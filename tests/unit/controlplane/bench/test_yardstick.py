"""Yardsticks: taken before and after a part, and kept with what is a speed."""

import json
import time
from pathlib import Path

import pytest
from nashbed.controlplane.bench import yardstick
from nashbed.controlplane.bench.all_parts import PARTS
from nashbed.controlplane.bench.yardstick import KINDS, MEMORY, OF_PART, TCP, Kind, with_yardstick
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.benchmark import RATES, TIMES, Benchmark, Yardstick
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.paths import MEASURED

SPEED = Benchmark(name="speed", unit="Gbit/s", values=(6.0, 3.0))
SIZE = Benchmark(name="size", unit="MiB", values=(6.0,))


def test_it_is_taken_before_and_after() -> None:
    order: list[str] = []

    def take(kind: Kind) -> Yardstick:
        order.append(kind.name)
        return Yardstick(name=kind.name, unit=kind.unit, values=(float(len(order)), 5.0))

    def measure() -> list[Benchmark]:
        order.append("part")
        return [SPEED, SIZE]

    speed, size = with_yardstick("analysis", measure, take)
    assert order == [MEMORY.name, "part", MEMORY.name]
    assert speed.yardstick == Yardstick(name=MEMORY.name, unit="GB/s", values=(1.0, 5.0, 3.0, 5.0))
    assert speed.ratio == 4.5 / 3.5
    assert (size.yardstick, size.ratio) == (None, None)


def test_what_cannot_be_taken_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(kind: Kind) -> Yardstick:
        return Yardstick(name=kind.name, unit=kind.unit, missing="needs root")

    (speed,) = with_yardstick("virtual", lambda: [SPEED], missing)
    assert speed.yardstick == missing(TCP)
    assert speed.ratio is None

    monkeypatch.setattr(yardstick, "__name__", "nashbed.none")
    told = yardstick.take_yardstick(TCP)
    assert told.values == ()
    assert told.missing.endswith("No module named nashbed.none")

    def late(program: list[str]) -> None:
        raise HostError("no end within 20 s")

    monkeypatch.setattr(yardstick.command, "attempt", late)
    assert yardstick.take_yardstick(TCP).missing == "no end within 20 s"


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if kind != TCP])
def test_each_does_work(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yardstick, "COPIED_BYTES", 1000)
    with kind.work() as work:
        assert work() == {"memory copied": 1e-6, "Python's additions": 0.1}[kind.name]


@pytest.mark.root
def test_kernel_tcp_leaves_no_namespace() -> None:
    def namespaces() -> set[Path]:
        return {path.readlink() for path in Path("/proc/self/task").glob("*/ns/net")}

    before = namespaces()
    with TCP.work() as work:
        assert len(namespaces()) == 3
        # At least a byte, and at most a buffer.
        assert 8e-9 <= work() <= 2**20 * 8e-9
    # The kernel takes a thread away a little after it was joined.
    deadline = time.monotonic() + 10
    while namespaces() != before:
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_every_part_has_one() -> None:
    assert set(OF_PART) == set(PARTS)


def test_units_of_what_was_measured_are_known() -> None:
    no_speeds = {"MiB", "MB per trial"}
    figures = [
        each for part in json.loads(MEASURED.read_text())["parts"] for each in part["figures"]
    ]
    others = {each["unit"] for each in figures} - {*RATES, *TIMES} - no_speeds
    assert others == {"% of a 10 s trial", "times local_1"}


def test_a_part_answers_with_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "analysis", "--postcards", "2000", "--repetitions", "1"]
    assert cli([*words, "--json"]) in {0, 20}
    speed, size = json.loads(capsys.readouterr().out)["figures"]
    assert speed["yardstick"]["values"] == [0.5, 1.5, 0.5, 1.5]
    assert speed["ratio"] == speed["median"]
    assert size["yardstick"] is None
    cli(words)
    assert "; yardstick: memory copied, 1 (0.5 to 1.5) GB/s\n" in capsys.readouterr().out
