"""The base of the distribution without its extras: what works, and what names the extra."""

import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.results.decision_tree import fit
from nashbed.controlplane.contract.errors import EXIT_HOST, PrerequisiteError, need_extra

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = """
name: short
title: A short run
bottleneck: {rate: 5mbit, buffer: 2bdp}
flows: [{name: main, count: 2, base_rtt: 20ms}]
strategies: [cubic, bbr]
duration: 3s
warmup: 1s
trials: 1
sweep: {mixes: [1]}
"""
EXTRAS = ("asyncssh", "dask", "dask_jobqueue", "distributed", "sklearn", "tornado")
DASK = "nashbed: distributed is not installed: run `pip install 'nashbed[cluster]'`"
BLOCKED = f"import sys; sys.modules.update(dict.fromkeys({EXTRAS}))\n"
COMMANDS = """
import contextlib, io, json
from nashbed.controlplane.cli.main import run
for args in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        code = run(args)
    print(json.dumps([code, said.getvalue().splitlines()]))
"""
IMPORTS = """
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
"""


def without_extras(code: str, *args: str) -> str:
    command = [sys.executable, "-c", BLOCKED + code, *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def commands(*lines: list[str]) -> list[tuple[int, list[str]]]:
    """Runs commands in one process without the extras: exit code and standard error of each."""
    told = without_extras(COMMANDS, json.dumps(lines)).splitlines()
    return [(code, said) for code, said in map(json.loads, told)]


def of_an_extra(module: str) -> bool:
    """Whether it is of the room of clusters, of whose modules only `where` needs no Dask."""
    words = module.split(".")
    if words[-1] == "where" or module == "nashbed.controlplane.cluster":
        return False
    return "cluster" in words


@pytest.mark.slow
def test_the_base_imports_nothing_of_the_extras() -> None:
    paths = [
        p.relative_to(ROOT) for f in ("controlplane", "analysis") for p in (ROOT / f).rglob("*.py")
    ]
    names = [".".join(("nashbed", *path.with_suffix("").parts)) for path in paths]
    names = [n.replace(".controlplane.api.", ".").removesuffix(".__init__") for n in names]
    base = [name for name in names if not of_an_extra(name)]
    assert len(base) > 300
    without_extras(IMPORTS, *base)


@pytest.mark.slow
def test_what_a_run_gave_is_read_without_extras(run_copy: Path, tmp_path: Path) -> None:
    run = str(run_copy)
    told = commands(
        ["equilibria", run],
        ["export", run, "--out", str(tmp_path / "tables")],
        ["report", run, "--format", "html"],
    )
    assert [code for code, _ in told] == [0, 0, 0], told
    page = run_copy / "report" / "index.html"
    assert "A synthetic run" in page.read_text()


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of its own for guests' sockets, whose paths must be short."""
    with tempfile.TemporaryDirectory(prefix="nb") as folder:
        monkeypatch.setenv("XDG_RUNTIME_DIR", folder)
        yield


@pytest.mark.slow
@pytest.mark.virtual
@pytest.mark.usefixtures("sockets")
def test_a_trial_runs_without_extras(tmp_path: Path) -> None:
    scenario = tmp_path / "short.yaml"
    scenario.write_text(SCENARIO)
    where = ["--testbed", "virtual", "--out", str(tmp_path), "--no-report"]
    ((code, said),) = commands(["run", str(scenario), *where])
    assert code == 0, said


@pytest.mark.slow
def test_who_wants_a_cluster_is_told_the_extra() -> None:
    quickstart = [str(ROOT / "configs" / "scenarios" / "quickstart.yaml"), "--testbed", "virtual"]
    told = commands(
        ["worker", "tcp://127.0.0.1:8786"],
        ["scheduler"],
        ["run", *quickstart, "--on", "local:1"],
        ["plan", *quickstart, "--on", "local:1"],
        ["bench", "cluster"],
    )
    assert told == [(EXIT_HOST, [DASK])] * 5


def test_a_missing_extra_is_no_reason_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    need_extra("tree", "sklearn")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(PrerequisiteError, match=r"'nashbed\[tree\]'") as error:
        need_extra("tree", "sklearn")
    assert not error.value.repeatable


def test_a_report_goes_on_without_its_tree(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rows, winners = np.arange(32.0).reshape(8, 4), ["cubic"] * 4 + ["bbr"] * 4
    assert fit(rows, winners) is not None
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with caplog.at_level(logging.WARNING):
        assert fit(rows, winners) is None
    assert [record.getMessage() for record in caplog.records] == [
        "scikit-learn is not installed, so no decision tree is drawn: "
        "run `pip install 'nashbed[tree]'`"
    ]
