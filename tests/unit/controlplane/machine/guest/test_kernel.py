"""What guests need of a machine: each thing that is missing is one clear line."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.guest import kernel as guest_kernel
from nashbed.controlplane.machine.host import preflight
from nashbed.controlplane.machine.sessions import check_host
from tests.support import guests


def test_a_missing_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if name == "choom" else name)
    with pytest.raises(HostError, match="not installed: choom; `apt install util-linux"):
        guest_kernel.require_wrappers()


def test_too_little_shared_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guest_kernel.require_memory(tmp_path)
    small = SimpleNamespace(f_flag=0, f_bavail=64 * 10**3, f_frsize=1000)
    with pytest.raises(HostError, match="guests keep their memory there"):
        guest_kernel.require_memory(tmp_path / "none")
    monkeypatch.setattr(os, "statvfs", lambda _: small)
    with pytest.raises(HostError, match="64 MB free, a guest needs about 300 MB"):
        guest_kernel.require_memory(tmp_path)


def test_memory_that_cannot_be_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_NOEXEC))
    with pytest.raises(HostError, match="mounted noexec"):
        guest_kernel.require_memory(tmp_path)


def test_no_ptrace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scope = tmp_path / "ptrace_scope"
    scope.write_text("1\n")
    guest_kernel.require_tracing(scope)
    guest_kernel.require_tracing(tmp_path / "none")
    scope.write_text("3\n")
    with pytest.raises(HostError, match="ptrace_scope is 3: no process may be traced"):
        guest_kernel.require_tracing(scope)
    refused = guest_kernel.TRACE_ME.replace("libc.ptrace(0, 0, 0, 0)", "libc.ptrace(-1, 0, 0, 0)")
    monkeypatch.setattr(guest_kernel, "TRACE_ME", refused)
    with pytest.raises(HostError, match=r"ptrace: .*; guests need it: start the container"):
        guest_kernel.require_tracing(tmp_path / "none")


def test_a_processor_and_a_kernel_that_cannot_be_pinned(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("flags\t\t: fpu rdrand cpuid_fault ssbd\n")
    guest_kernel.require_pinning("6.12.117", cpuinfo)
    with pytest.raises(HostError, match=r"^kernel 7\.3\.4: .* choose 6\.12 or an earlier one"):
        guest_kernel.require_pinning("7.3.4", cpuinfo)
    cpuinfo.write_text("flags\t\t: fpu rdrand ssbd\nbugs\t: cpuid_fault\n")
    with pytest.raises(HostError, match=r"cpuinfo has no cpuid_fault: .*RDRAND"):
        guest_kernel.require_pinning("6.1.192", cpuinfo)


def test_virtual_time_needs_neither_root_nor_huge_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = guests.fake_kernel(tmp_path)
    guests.use_kernel(monkeypatch.setattr, kernel)
    for name in ("require_root", "require_tools", "require_cores", "require_huge_pages"):
        monkeypatch.setattr(preflight, name, lambda *_: pytest.fail("not needed"))
    check_host(Testbed(name="v", target="virtual"), tmp_path, 1000)


def test_without_a_kernel_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_built(wanted: str) -> None:
        raise HostError("no kernel for virtual time is built: run `make virtual`")

    monkeypatch.setattr(guest_kernel, "find_kernel", none_built)
    with pytest.raises(HostError, match="run `make virtual`"):
        check_host(Testbed(name="v", target="virtual"), tmp_path, 1000)
