"""Tables of measured speed: what they say, and that documents say what was measured."""

import json
import re
from pathlib import Path

import pytest
from nashbed.controlplane.bench.all_parts import read_machine
from nashbed.controlplane.cli.bench_text import SPEED, speed_table
from nashbed.controlplane.cli.documents import filled
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.benchmark import (
    Benchmark,
    MeasuredMachine,
    MeasuredPart,
    Yardstick,
)
from nashbed.controlplane.machine.paths import MEASURED

ROOT = Path(__file__).resolve().parents[4]


def part(name: str, day: str, commit: str, *figures: Benchmark) -> MeasuredPart:
    begun = f"2026-11-{day}T10:00:00+00:00"
    return MeasuredPart(
        part=name, words=(name,), begun_utc=begun, commit=commit, ok=True, figures=figures
    )


MEASURED_HERE = MeasuredMachine(
    machine="A virtual machine",
    cpu="AMD EPYC, 2 cores",
    memory_gb=25.1,
    kernel="6.18.44",
    parts=(
        part(
            "virtual",
            "23",
            "a" * 40,
            Benchmark(name="fast_1", unit="times", values=(16.8, 15.5, 17.04), detail="ten flows"),
            Benchmark(
                name="fast_2",
                unit="Gbit/s",
                values=(2.0,),
                wanted_ratio=0.1,
                detail="all",
                yardstick=Yardstick(name="kernel TCP", unit="Gbit/s per core", values=(9.0, 11.0)),
            ),
        ),
        part("replay", "24", "b" * 40 + "+", Benchmark(name="replay_mpps", unit="", values=(3.5,))),
    ),
)


def test_a_table_says_what_was_measured_when_and_on_what() -> None:
    assert speed_table(MEASURED_HERE, ["replay_mpps", "fast_*"]).splitlines() == [
        "| benchmark | median | lowest to highest | n | unit | ratio | wanted | how |",
        "| --- | ---: | ---: | ---: | --- | ---: | --- | --- |",
        "| `replay_mpps` | 3.5 |  | 1 |  |  |  |  |",
        "| `fast_1` | 16.8 | 15.5 to 17 | 3 | times |  |  | ten flows |",
        "| `fast_2` | 2 |  | 1 | Gbit/s | 0.2 | at least ratio 0.1 | all; yardstick: kernel TCP, "
        "10 (9 to 11) Gbit/s per core |",
        "",
        "*`nashbed bench` `replay` on 2026-11-24 at bbbbbbbb+; `virtual` on 2026-11-23 at "
        "aaaaaaaa. A virtual machine: AMD EPYC, 2 cores, 25.1 GB, Linux 6.18.44.*",
    ]


def test_what_was_not_measured_is_said() -> None:
    told = speed_table(MEASURED_HERE, ["fast_1", "slow_*"]).splitlines()
    assert told[2].startswith("| `fast_1` |")
    assert told[4] == "*Not measured on this machine: `slow_*`.*"
    assert speed_table(MEASURED_HERE, ["slow_*"]) == told[4]


def documents() -> list[Path]:
    tops = ("analysis", "configs", "controlplane", "docs", "hosts", "p4src", "tests")
    inside = (path for top in tops for path in (ROOT / top).rglob("*.md"))
    return [path for path in (*ROOT.glob("*.md"), *inside) if "<!-- speed: " in path.read_text()]


def test_documents_have_the_tables_of_what_is_committed() -> None:
    measured, told = read_machine(MEASURED), documents()
    assert ROOT / "docs" / "reference" / "speed.md" in told
    makefile = (ROOT / "Makefile").read_text()
    listed = makefile.partition("\nSPEED = ")[2].partition("\n")[0].split()
    assert {str(path.relative_to(ROOT)) for path in told} == set(listed)
    for path in told:
        text = path.read_text()
        made = filled(text, SPEED, lambda m: speed_table(measured, m["names"].split()))
        assert made == text, f"{path}: run `make speed`"
        assert text.count("<!-- speed: ") == len(re.findall(SPEED.begin, text))
        assert text.count("<!-- speed: ") == text.count(SPEED.end)


def test_what_is_committed_was_measured_at_commits() -> None:
    measured = read_machine(MEASURED)
    assert {"replay", "startup", "virtual"} <= {each.part for each in measured.parts}
    assert [each.part for each in measured.parts if each.error or len(each.commit) != 40] == []


def test_the_command_writes_into_documents(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured, path = tmp_path / "bench.json", tmp_path / "README.md"
    measured.write_text(json.dumps(MEASURED_HERE.model_dump(mode="json")))
    path.write_text(f"<!-- speed: fast_2; `make speed` writes this -->\n{SPEED.end}\n")
    assert cli(["bench", "table", "--from", str(measured), str(path)]) == 0
    assert "| `fast_2` | 2 | " in path.read_text()
    path.write_text("nothing")
    assert cli(["bench", "table", str(path)]) == 2
    assert "<!-- speed: " in capsys.readouterr().err
