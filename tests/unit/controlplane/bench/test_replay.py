"""The benchmark of the packet path puts every packet through, and says so."""

import json
import os

import pytest
from nashbed.controlplane.bench import replay
from nashbed.controlplane.bench.replay import (
    Packets,
    Pipeline,
    bench_disciplines,
    bench_loops,
    bench_replay,
)
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.disciplines import DISCIPLINES
from nashbed.controlplane.contract.errors import ConfigError, TargetError
from nashbed.controlplane.machine.process.command import Completed
from tests.support.replay import need_dataplane

ONE = Packets(1000, 1, 1)
BRIEF = ["bench", "replay", "--packets", "10000", "--repetitions", "1"]


@pytest.fixture(autouse=True)
def _built() -> None:
    need_dataplane()


@pytest.mark.slow
@pytest.mark.dataplane
@pytest.mark.parametrize(
    ("flows", "burst"),
    [pytest.param(1, 1, marks=pytest.mark.long), (50, 32),
     pytest.param(5000, 64, marks=pytest.mark.long)],
)  # fmt: skip
def test_every_packet_has_its_postcard(flows: int, burst: int) -> None:
    (found,) = bench_replay(Packets(20_000, flows, burst), 2)
    assert found.name == "replay_mpps"
    assert len(found.values) == 2
    assert found.low > 0
    assert found.data["pipeline"] in ("native", "interpreted")
    del found.data["pipeline"]
    assert found.data == {"packets": 20_000, "flows": flows, "burst": burst}


@pytest.mark.slow
@pytest.mark.dataplane
def test_two_loops_are_compared_with_one() -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a machine with one core has no two loops")
    speed, ratio = bench_loops(Packets(20_000, 50, 32, Pipeline.INTERPRETED), 1, 2, lambda *_: None)
    assert (speed.name, ratio.name) == ("replay_loops_mpps", "replay_loops_ratio")
    assert len(speed.values) == len(ratio.values) == 1
    assert ratio.wanted == 1.8


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.dataplane
def test_each_discipline_is_compared_with_droptail() -> None:
    found = bench_disciplines(Packets(5_000, 50, 32, Pipeline.INTERPRETED), 1, lambda *_: None)
    others = [name for name in DISCIPLINES if name != "droptail"]
    assert [each.name for each in found] == [f"replay_{name}_over_droptail" for name in others]
    assert all(each.sense == "at most" and len(each.values) == 1 for each in found)
    wanted = dict(zip(others, (each.wanted for each in found), strict=True))
    assert wanted == {
        "step": None,
        "red": 1.1,
        "codel": 1.1,
        "pie": None,
        "fq_codel": 1.3,
        "dualpi2": 1.3,
    }


def test_more_loops_than_cores_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^--loops 17000: a core for each is needed, and \d+"):
        bench_loops(ONE, 1, 17_000, lambda *_: None)


@pytest.mark.slow
@pytest.mark.dataplane
def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli([*BRIEF, "--json"]) in (0, 20)
    told = json.loads(capsys.readouterr().out)
    assert told["part"] == "replay"
    assert told["figures"][0]["data"]["packets"] == 10_000


@pytest.mark.parametrize(
    ("out", "line"),
    [
        (
            '{"pipeline": "native", "loops": 1, "departed": 9, "dropped": 0, "postcards": 8, '
            '"mpps": 5.0}\n',
            "lost postcards",
        ),
        ("?", r"^nashbed-replay: --bench: the message is '\?', expected JSON$"),
    ],
)
def test_an_answer_that_is_no_result(out: str, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "run_dataplane", lambda args: Completed(("x",), 0, out, ""))
    with pytest.raises(TargetError, match=line):
        bench_replay(ONE, 1)
