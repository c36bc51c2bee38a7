"""What doctor says of virtual time, and what it cleans up without root."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from nashbed.controlplane.cli import doctor
from nashbed.controlplane.cli.doctor import examine, virtual_time_checks
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.guest.scratch import open_scratch
from nashbed.controlplane.machine.host.runs import RunState
from nashbed.controlplane.machine.kernels.cache import GuestKernel

KERNELS = [
    GuestKernel("6.1.176", "linux-source-6.1", "d", Path("a"), "b"),
    GuestKernel("6.12.90", "linux-source-6.12", "e", Path("c"), "f"),
]


def fails(message: str) -> Callable[..., None]:
    def check(*_: object) -> None:
        raise HostError(message)

    return check


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with everything that guests need."""
    monkeypatch.setattr(doctor, "built_kernels", lambda: KERNELS)
    monkeypatch.setattr(doctor, "built", lambda path: path)
    for name in ("find_kernel", "require_memory", "require_tracing"):
        monkeypatch.setattr(doctor, name, lambda _: None)
    return monkeypatch


def test_all_is_here(ready: pytest.MonkeyPatch) -> None:
    kernel, programs, memory, tracing = virtual_time_checks()
    assert all(check.ok for check in (kernel, programs, memory, tracing))
    assert kernel.detail == "6.1.176 (linux-source-6.1), 6.12.90 (linux-source-6.12)"
    assert "nashbed-virtual.so" in programs.detail
    assert "GB free in /dev/shm" in memory.detail


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "find_kernel"), (1, "built"), (2, "require_memory"), (3, "require_tracing")],
)
def test_what_is_missing_is_named_with_its_remedy(
    ready: pytest.MonkeyPatch, number: int, name: str
) -> None:
    ready.setattr(doctor, name, fails("x: odd; run y"))
    checks = virtual_time_checks()
    assert [check.ok for check in checks] == [at != number for at in range(4)]
    assert checks[number].remedy == "testbed virtual cannot be used: x: odd; run y"


def test_no_kernel_is_built(ready: pytest.MonkeyPatch) -> None:
    ready.setattr(doctor, "built_kernels", list)
    assert "run `make virtual`" in virtual_time_checks()[0].remedy


def test_root_is_needed_where_time_cannot_be_virtual(ready: pytest.MonkeyPatch) -> None:
    ready.setattr(os, "geteuid", lambda: 1000)

    def root_is_needed() -> bool:
        return next(check.needed for check in examine() if check.name == "root")

    assert not root_is_needed()
    ready.setattr(doctor, "built_kernels", list)
    assert root_is_needed()


def test_without_root_dead_sessions_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "guests_folder", lambda: tmp_path)
    monkeypatch.setattr(doctor, "read_states", list)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(os, "getpid", lambda: 2**22 + 1)  # of a process that is gone
    monkeypatch.setattr("nashbed.controlplane.machine.guest.scratch._require_own", lambda _: None)
    scratch = Path(open_scratch(tmp_path, "ab12", Path("/results/run")).state.scratch)
    assert scratch.is_dir()
    monkeypatch.undo()
    monkeypatch.setattr(doctor, "guests_folder", lambda: tmp_path)
    monkeypatch.setattr(doctor, "read_states", list)
    assert doctor.clean_up() == ["/results/run"]
    assert list(tmp_path.iterdir()) == []


def test_what_killed_processes_were_writing_is_told_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "guests_folder", lambda: tmp_path / "sessions")
    monkeypatch.setattr(doctor, "STATE_DIR", tmp_path / "run")
    monkeypatch.setattr(doctor, "read_states", lambda folder=None: [])
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    kernels = tmp_path / "cache" / "nashbed" / "kernels"
    places = (
        tmp_path / "sessions", tmp_path / "run", kernels, kernels / "6.1.7-d" / "modules",
        kernels.parent / "controls" / "k",
    )  # fmt: skip
    left = [place / ".ab12.json.0123abcd.tmp" for place in places]
    left.append(tmp_path / "tmp" / ".nashbed-work.0123abcd.tmp")
    for path in left:
        (path / "half").mkdir(parents=True)
    (tmp_path / "sessions").chmod(0o700)
    told = next(check for check in examine() if check.name == "left by killed runs")
    assert all(str(path) in told.detail for path in left)
    assert told.remedy == "run `nashbed doctor --clean`"
    assert doctor.clean_up() == sorted(map(str, left))
    assert not any(path.exists() for path in left)


def test_what_real_time_has_left_needs_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = RunState.model_construct(id="ab12", run_dir="/results/run")
    monkeypatch.setattr(doctor, "guests_folder", lambda: tmp_path / "none")
    monkeypatch.setattr(doctor, "read_states", lambda: [(tmp_path, left)])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostError, match="not root"):
        doctor.clean_up()
