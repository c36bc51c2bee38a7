"""What `nashbed doctor` finds, and what is skipped without it."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from nashbed import doctor
from nashbed.controlplane.cli.doctor import doctor_text
from nashbed.controlplane.cli.main import with_administrators
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.c_files import kernel_support
from nashbed.controlplane.machine.c_files.objects import CObject
from nashbed.controlplane.machine.guest.scratch import open_scratch
from nashbed.controlplane.machine.host.facts import compiled_by
from nashbed.controlplane.machine.host.runs import RunState
from nashbed.controlplane.machine.kernels.cache import GuestKernel
from nashbed.controlplane.machine.paths import P4SRC
from nashbed.controlplane.targets.bmv2 import runtime
from nashbed.doctor import (
    DoctorCheck,
    NeededFor,
    compiler,
    ebpf_checks,
    examine,
    ready,
    simple_switch,
    virtual_time_checks,
)

SPEC = "dpdk/bottleneck.spec"
KERNELS = [
    GuestKernel("6.1.176", "linux-source-6.1", "d", Path("a"), "b"),
    GuestKernel("6.12.90", "linux-source-6.12", "e", Path("c"), "f"),
]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}")
    return tmp_path


def put(folder: Path, name: str, script: str) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program


def test_nothing_is_here_and_nothing_is_needed(path: Path) -> None:
    for check in (compiler("p4c-dpdk", SPEC), simple_switch()):
        assert not check.ok
        assert not check.needed
        assert check.detail == "not found"
    assert "its conformance tests are skipped" in simple_switch().remedy


def test_the_release_that_made_the_artefact(path: Path) -> None:
    made_by = compiled_by(P4SRC / SPEC)
    assert made_by
    program = put(path, "p4c-dpdk", f"echo 'p4c-dpdk\nVersion 1.2.5.16 (SHA: {made_by} BUILD: X)'")
    check = compiler("p4c-dpdk", SPEC)
    assert (check.ok, check.detail) == (True, f"{program}, release 1.2.5.16 ({made_by})")


def test_another_release(path: Path) -> None:
    put(path, "p4c-dpdk", "echo 'Version 1.2.4.1 (SHA: 0123456789 BUILD: RELEASE)'")
    check = compiler("p4c-dpdk", SPEC)
    assert not check.ok
    assert "release 1.2.4.1 (0123456789)" in check.detail
    assert check.remedy.startswith(
        f"p4src/{SPEC} was compiled by another release ({compiled_by(P4SRC / SPEC)})"
    )


@pytest.mark.parametrize(
    "script", ["exit 1", "true", "echo 'error: 1.2.3.4' >&2; exit 2", "echo ?"]
)
def test_a_compiler_that_does_not_say_what_it_is(path: Path, script: str) -> None:
    put(path, "p4c-dpdk", script)
    check = compiler("p4c-dpdk", SPEC)
    assert not check.ok
    assert "release unknown (no commit)" in check.detail


def test_simple_switch_without_its_client(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "MODULES", ("bm_runtime_that_is_nowhere",))
    put(path, "simple_switch", "echo 1.15.0-abcdef")
    check = simple_switch()
    assert not check.ok
    assert "bm_runtime" in check.remedy
    with pytest.raises(HostError, match="name its folder in PYTHONPATH"):
        runtime.load_bindings("simple_switch")


def test_the_client_is_found_beside_simple_switch(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `make install` of bmv2 has it, simple_switch being a link to it on PATH."""
    prefix = path / "prefix"
    packages = prefix / "lib" / "python3.99" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "bm_runtime_here.py").write_text("Client = 1\n")
    (prefix / "bin").mkdir()
    put(prefix / "bin", "simple_switch", "echo 1.15.0-abcdef")
    (path / "simple_switch").symlink_to(prefix / "bin" / "simple_switch")
    monkeypatch.setattr(runtime, "MODULES", ("bm_runtime_here",) * 4)
    assert runtime.load_bindings("simple_switch").standard.Client == 1
    assert simple_switch().detail == f"{path}/simple_switch, release 1.15.0-abcdef"


def test_an_artefact_without_a_stamp(tmp_path: Path) -> None:
    assert compiled_by(tmp_path / "none") == ""
    (tmp_path / "odd").write_bytes(b"\xff\xfe sources sha256:")
    assert compiled_by(tmp_path / "odd") == ""


def lacks() -> str:
    raise HostError("the BPF JIT is off; turn it on")


def by_name() -> dict[str, tuple[bool, str]]:
    prefix = "congestion controls of eBPF: "
    return {c.name.removeprefix(prefix): (c.ok, c.detail + c.remedy) for c in ebpf_checks()}


@pytest.fixture(autouse=True)
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A kernel that has everything and takes whatever it is given."""
    names: list[str] = []

    def take(made: CObject) -> None:
        names.append(made.name)

    for name in ("release", "btf", "jit", "capabilities", "optmem"):
        monkeypatch.setattr(kernel_support, name, lambda: "fine")
    monkeypatch.setattr(doctor, "try_loading", take)
    return names


def test_a_machine_that_can_loads_one(loaded: list[str]) -> None:
    checks = by_name()
    assert list(checks) == [
        "kernel", "BTF", "BPF JIT", "capabilities", "optmem_max", "clang", "simulator",
        "trial load",
    ]  # fmt: skip
    assert all(checks[name][0] for name in ("kernel", "optmem_max", "trial load"))
    assert loaded == ["mine"]
    assert not any(check.needed for check in ebpf_checks())


def test_what_is_missing_says_what_is_skipped(
    monkeypatch: pytest.MonkeyPatch, loaded: list[str]
) -> None:
    monkeypatch.setattr(kernel_support, "jit", lacks)
    monkeypatch.setattr(doctor, "find_clang", lambda: None)
    checks = by_name()
    said = "strategies such as bbr3 are refused in real time: the BPF JIT is off; turn it on"
    assert checks["BPF JIT"] == (False, f"not usable{said}")
    assert checks["trial load"] == (False, f"not usable{said}")
    assert loaded == []
    assert not checks["clang"][0]
    assert "congestion controls of your own are refused in real time" in checks["clang"][1]


def test_a_kernel_that_refuses_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(made: CObject) -> None:
        raise HostError(f"{made.name}: the verifier refuses it: too large")

    monkeypatch.setattr(doctor, "try_loading", refuse)
    ok, said = by_name()["trial load"]
    assert not ok
    assert "mine: the verifier refuses it: too large" in said


def fails(message: str) -> Callable[..., None]:
    def check(*_: object) -> None:
        raise HostError(message)

    return check


@pytest.fixture
def ready_machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with everything that guests need."""
    monkeypatch.setattr(doctor, "built_kernels", lambda: KERNELS)
    monkeypatch.setattr(doctor, "built", lambda path: path)
    for name in ("find_kernel", "require_memory", "require_tracing"):
        monkeypatch.setattr(doctor, name, lambda _: None)
    return monkeypatch


def test_all_is_here(ready_machine: pytest.MonkeyPatch) -> None:
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
    ready_machine: pytest.MonkeyPatch, number: int, name: str
) -> None:
    ready_machine.setattr(doctor, name, fails("x: odd; run y"))
    checks = virtual_time_checks()
    assert [check.ok for check in checks] == [at != number for at in range(4)]
    assert checks[number].remedy == "x: odd; run y"


def test_no_kernel_is_built(ready_machine: pytest.MonkeyPatch) -> None:
    ready_machine.setattr(doctor, "built_kernels", list)
    assert "run `make virtual`" in virtual_time_checks()[0].remedy


def test_virtual_and_real_time_are_judged_apart(ready_machine: pytest.MonkeyPatch) -> None:
    ready_machine.setattr(os, "geteuid", lambda: 1000)
    checks = examine()
    assert "real time" in {check.needed for check in checks if not check.ok}
    assert ready(checks) == {"virtual time": True, "real time": False}
    ready_machine.setattr(doctor, "built_kernels", list)
    assert ready(examine()) == {"virtual time": False, "real time": False}


def test_what_every_run_needs_both_need() -> None:
    needs: tuple[NeededFor, ...] = ("every run", "virtual time", "real time", "")
    checks = [DoctorCheck("it", needed != "every run", "", needed, "") for needed in needs]
    assert ready(checks) == {"virtual time": False, "real time": False}
    assert ready(checks[1:]) == {"virtual time": True, "real time": True}


def test_the_text_has_a_verdict_for_each() -> None:
    checks = [
        DoctorCheck("P4 program", True, "here", "every run", ""),
        DoctorCheck("kernel of guests", True, "6.1", "virtual time", ""),
        DoctorCheck("root", False, "user 1000", "real time", "use sudo"),
        DoctorCheck("perf", False, "not found", "", "install it"),
    ]
    assert doctor_text(checks, ["a run"]).splitlines() == [
        "cleaned up after a run",
        "every run",
        "  ok      P4 program: here",
        "virtual time: ready",
        "  ok      kernel of guests: 6.1",
        "real time: not ready",
        "  MISSING root: user 1000",
        "          use sudo",
        "not needed by every run",
        "  skipped perf: not found",
        "          install it",
    ]


def test_administrators_programs_are_found_without_their_folders_on_path() -> None:
    assert with_administrators("/usr/bin:/sbin") == "/usr/bin:/sbin:/usr/local/sbin:/usr/sbin"


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
        kernels.parent / "disciplines" / "k",
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
