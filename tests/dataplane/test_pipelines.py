"""The P4 program as native code and interpreted: the same bytes, and it is said which one runs."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.support.capture import tcp_capture
from tests.support.replay import (
    BINARY,
    NATIVE,
    PIPELINES,
    REPLAY,
    SPEC,
    Bottleneck,
    need_dataplane,
    need_pipeline,
    replay,
    start_replay,
)

pytestmark = pytest.mark.dataplane

LIBRARY = NATIVE.relative_to(BINARY.parent)
CAPTURE = tcp_capture(np.arange(400) * 60_000, np.full(400, 1514), np.arange(400) % 7)
"""Twice the rate of the default bottleneck: some are dropped."""


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A replay without its library of native code."""
    need_dataplane()
    return Path(shutil.copy2(REPLAY, tmp_path / REPLAY.name))


def test_both_make_the_same_bytes(tmp_path: Path) -> None:
    need_pipeline("native")
    native, interpreted = (replay(tmp_path / p, CAPTURE, Bottleneck(), p) for p in PIPELINES)
    assert set(native.postcards["kind"]) == {0, 1}
    for name in ("postcards.raw", "departures.pcap", "replay.json"):
        same = (native.folder / name).read_bytes() == (interpreted.folder / name).read_bytes()
        assert same, name


def test_auto_is_native_where_that_is_built(tmp_path: Path) -> None:
    need_pipeline("native")
    run = start_replay(tmp_path, CAPTURE, Bottleneck())
    assert (run.returncode, run.stderr) == (0, "")


def test_a_program_of_another_digest_is_interpreted(tmp_path: Path) -> None:
    need_pipeline("native")
    spec = tmp_path / "other.spec"
    spec.write_text(SPEC.read_text().replace("sha256:", "sha256:00", 1))
    run = start_replay(tmp_path, CAPTURE, Bottleneck(), spec=spec)
    assert run.returncode == 0
    assert run.stderr.count("\n") == 1
    assert "P4 is interpreted: " in run.stderr
    assert f"built from a different .spec than {spec}" in run.stderr


def test_the_same_digest_over_other_code_is_interpreted_too(tmp_path: Path) -> None:
    need_pipeline("native")
    spec = tmp_path / "edited.spec"
    spec.write_text(SPEC.read_text() + "\n")
    run = start_replay(tmp_path, CAPTURE, Bottleneck(), spec=spec)
    assert run.returncode == 0
    assert "built from a different .spec" in run.stderr


def test_native_is_refused_where_it_would_be_another_program(tmp_path: Path) -> None:
    need_pipeline("native")
    spec = tmp_path / "edited.spec"
    spec.write_text(SPEC.read_text() + "\n")
    run = start_replay(tmp_path, CAPTURE, Bottleneck(), "native", spec=spec)
    assert run.returncode == 3
    assert "pipeline native: " in run.stderr
    assert "built from a different .spec" in run.stderr


@pytest.mark.parametrize("pipeline", ["auto", "interpreted"])
def test_without_the_library_it_is_interpreted(tmp_path: Path, alone: Path, pipeline: str) -> None:
    """And nothing is said: the build has said it, and `nashbed doctor` does."""
    run = start_replay(tmp_path, CAPTURE, Bottleneck(), pipeline, binary=alone)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("content", [None, b"", b"no library at all"])
def test_native_is_refused_without_the_library(
    tmp_path: Path, alone: Path, content: bytes | None
) -> None:
    if content is not None:
        library = tmp_path / LIBRARY
        library.parent.mkdir(parents=True)
        library.write_bytes(content)
    config = {"spec": str(SPEC), "pipeline": "native", "bottleneck": Bottleneck().config()}
    (tmp_path / "config.json").write_text(json.dumps(config))
    command = [alone, "--config", tmp_path / "config.json", "--capture", "x", "--out", "y"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 3
    assert run.stdout == ""
    assert run.stderr.count("\n") == 1
    assert run.stderr.startswith("nashbed-replay: pipeline native: ")
    assert "bottleneck.so" in run.stderr


def test_a_library_of_something_else_is_refused(tmp_path: Path, alone: Path) -> None:
    library = tmp_path / LIBRARY
    library.parent.mkdir(parents=True)
    shutil.copy2(BINARY.parent / "test" / "libnashbed-core.so", library)
    run = start_replay(tmp_path, CAPTURE, Bottleneck(), binary=alone)
    assert run.returncode == 0
    assert "not a library of nashbed" in run.stderr


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_check_says_which_one_runs(tmp_path: Path, pipeline: str) -> None:
    need_pipeline(pipeline)
    port = {"driver": "af_packet", "iface": "none"}
    config = {
        "spec": str(SPEC),
        "pipeline": pipeline,
        "control_socket": "/unused",
        "ports": {"senders": port, "receivers": port},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    command = [BINARY, "--config", tmp_path / "config.json", "--check"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(run.stdout)["pipeline"] == pipeline
