"""Two commits in turns: the other one's own code runs, and nothing of it stays."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from nashbed.controlplane.bench import against, all_parts
from nashbed.controlplane.bench.all_parts import PartAnswer
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.contract.benchmark import Benchmark
from nashbed.controlplane.contract.errors import ConfigError, HostError

MAKEFILE = """\
build: ; test -L build/dpdk-internal -a -z "$(WERROR)"
build/pylinks/nashbed:
	mkdir -p $@/controlplane
	touch $@/__init__.py
	cp cli.py $@/controlplane/
"""
OLD = """\
import os, sys
def main():
    assert "NASHBED_BUILD" not in os.environ
    print('{"ok": false, "figures": [{"name": "%s", "unit": "s", "values": [4]}]}' % sys.argv[2])
"""


def answers(values: dict[str, float]) -> PartAnswer:
    figures = tuple(Benchmark(name=n, unit="s", values=(v,)) for n, v in values.items())
    return PartAnswer(ok=True, figures=figures)


def test_new_and_old_are_measured_in_turns() -> None:
    asked: list[tuple[str, Sequence[str]]] = []
    speeds = {"new": iter([3.0, 5.0, 4.0]), "old": iter([2.0, 2.0, 4.0])}

    def measuring(who: str, **others: float) -> all_parts.Call:
        def call(part: Sequence[str]) -> PartAnswer:
            asked.append((who, part))
            return answers({"speed": next(speeds[who]), **others})

        return call

    new = measuring("new", added=1.0, losses=0.0)
    answer = against.in_turns(3, new, measuring("old", losses=1.0), ["replay"])
    assert asked == [("new", ["replay"]), ("old", ["replay"])] * 3
    (found,) = answer.figures  # what one of them does not measure, or as 0, has no ratio
    assert (found.name, found.values) == ("speed_new_over_old", (1.5, 2.5, 1.0))
    assert (found.median, found.low, found.high) == (1.5, 1.0, 2.5)
    assert found.detail == "turn by turn; 4 to 2 s"
    assert found.data == {"new": [3.0, 5.0, 4.0], "old": [2.0, 2.0, 4.0]}


def test_a_part_that_fails_says_whose() -> None:
    def failing(part: Sequence[str]) -> PartAnswer:
        return PartAnswer(ok=False, error="not root")

    answer = against.in_turns(1, lambda part: answers({"speed": 1.0}), failing, ["lanes"])
    assert (answer.ok, answer.error) == (False, "old: not root")


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the other commit is unpacked; the checkout is a small one of its own."""
    repository, scratch = tmp_path / "repository", tmp_path / "scratch"
    for folder in (repository, scratch, tmp_path / "build"):
        folder.mkdir()
    (repository / "Makefile").write_text(MAKEFILE)
    (repository / "cli.py").write_text(OLD)
    who = ("-c", "user.name=x", "-c", "user.email=x")
    for words in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "old")):
        subprocess.run(["git", *words], cwd=repository, check=True)
    monkeypatch.setattr(against, "ROOT", repository)
    monkeypatch.setattr(against, "BUILD", tmp_path / "build")
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setenv("NASHBED_BUILD", str(tmp_path / "build"))
    monkeypatch.setenv("WERROR", "1")
    return scratch


def test_the_other_commits_own_code_runs(scratch: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def new(part: Sequence[str], before: Sequence[str] = ()) -> PartAnswer:
        return all_parts.call(part, before) if before else answers({part[0]: 6.0})

    monkeypatch.setattr(against, "call", new)
    with against.beside("HEAD", 2) as run:
        assert len(list(scratch.iterdir())) == 1
        answer = run(["replay"])
    assert [(each.name, each.values) for each in answer.figures] == [
        ("replay_new_over_old", (1.5, 1.5))
    ]
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, HostError("full")])
def test_nothing_of_it_stays_after_an_error(scratch: Path, error: BaseException) -> None:
    kind = type(error) if isinstance(error, Exception) else error
    with pytest.raises(kind), against.beside("HEAD", 1):
        raise error
    assert list(scratch.iterdir()) == []


def test_what_is_no_commit_or_does_not_build_is_told(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = r"^--against nowhere: fatal: not a valid object name"
    with pytest.raises(ConfigError, match=told), against.beside("nowhere", 1):
        pass
    monkeypatch.setattr(against, "LINKS", Path("build", "other"))
    told = r"^make failed: make(\[\d+\])?: \*\*\* No rule to make target 'build/other/nashbed'"
    with pytest.raises(HostError, match=told), against.beside("HEAD", 1):
        pass
    assert list(scratch.iterdir()) == []


def test_on_the_command_line(
    scratch: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(against, "call", lambda part, before=(): answers({"x": 2.0}))
    out = scratch.parent / "ratios.json"
    words = ["bench", "all", "--part", "lanes", "--out", str(out), "--against", "HEAD"]
    assert cli([*words, "--turns", "2"]) == 0
    told = capsys.readouterr()
    assert told.out.splitlines()[1].split() == ["x_new_over_old", "1", "1", "1", "2"]
    (part,) = all_parts.read_machine(out).parts
    assert part.figures[0].values == (1.0, 1.0)
    assert list(scratch.iterdir()) == []
