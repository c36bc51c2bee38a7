"""What a kernel must have: each thing that may be missing is a line with its remedy."""

from collections.abc import Callable
from pathlib import Path

import pytest
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.c_files import kernel_support
from nashbed.controlplane.machine.c_files.kernel_support import (
    btf,
    capabilities,
    jit,
    kernel_problems,
    kernels_own_ccas,
    optmem,
    release,
    require_ccas,
    require_free_names,
)


def written(folder: Path, text: str) -> Path:
    path = folder / "file"
    path.write_text(text)
    return path


@pytest.mark.parametrize("text", ["6.10.0-amd64", "6.12", "7.0.1", "10.2-rc1"])
def test_releases_that_will_do(text: str) -> None:
    assert release(text) == text


@pytest.mark.parametrize("text", ["6.1.0-18-amd64", "6.9.12", "5.15.0"])
def test_releases_that_are_too_old(text: str) -> None:
    with pytest.raises(
        HostError, match=rf"kernel {text} takes no such congestion control .* 6\.10 or later"
    ):
        release(text)


def test_each_thing_there(tmp_path: Path) -> None:
    assert btf(written(tmp_path, "")) == str(tmp_path / "file")
    assert jit(written(tmp_path, "1\n")) == "on"
    assert optmem(written(tmp_path, "131072\n")) == "131072 B"
    assert "CAP_BPF" in capabilities(written(tmp_path, "Name:\tx\nCapEff:\t000001ffffffffff\n"))


@pytest.mark.parametrize(
    ("check", "text", "said"),
    [
        (jit, "0\n", "BPF JIT is off.*sysctl net.core.bpf_jit_enable=1"),
        (optmem, "8192\n", "optmem_max is 8192: .*sysctl"),
        (capabilities, "CapEff:\t0000000000000000\n", "CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF: run"),
        # all but CAP_BPF
        (capabilities, "CapEff:\t0000017fffffffff\n", "takes CAP_BPF: run it as root"),
    ],
)
def test_each_thing_missing(
    tmp_path: Path, check: Callable[[Path], str], text: str, said: str
) -> None:
    with pytest.raises(HostError, match=said):
        check(written(tmp_path, text))


def test_no_file_at_all(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="none is missing: the kernel does not describe its types"):
        btf(tmp_path / "none")
    with pytest.raises(HostError, match="BPF JIT is off"):
        jit(tmp_path / "none")


def test_all_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def lacks() -> str:
        raise HostError("no BTF")

    def no_object(cca: CFile) -> None:
        raise HostError(f"{cca.name}: has no object")

    for name in ("release", "btf", "jit", "capabilities"):
        monkeypatch.setattr(kernel_support, name, lambda: "")
    assert kernel_problems() == []
    monkeypatch.setattr(kernel_support, "btf", lacks)
    monkeypatch.setattr(kernel_support, "require_object_at_hand", no_object)
    require_ccas([])
    names = ("bbr3", "mycc")
    with pytest.raises(HostError) as caught:
        require_ccas([CFile(name, tmp_path / f"{name}.c", "") for name in names])
    assert caught.value.message.splitlines() == [
        "bbr3, mycc: no BTF", "bbr3: has no object", "mycc: has no object",
    ]  # fmt: skip


def test_what_a_loader_holds_is_not_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    running = {
        7: ["/x/build/hosts/cc/nashbed-cc", "/x/bbr3.bpf.o", "/y/mycc.bpf.o"],
        8: ["vi", "/x/cubic.bpf.o"],
        9: [],
    }
    there = ("reno", "cubic", "mycc", "bbr3")
    monkeypatch.setattr(kernel_support, "available_ccas", lambda: there)
    monkeypatch.setattr(kernel_support, "command_lines", lambda: running)
    assert kernels_own_ccas() == ("reno", "cubic")
    require_free_names([CFile("other", Path("other.c"), "")])
    with pytest.raises(HostError, match=r"^bbr3: is registered by nashbed-cc \(pid 7\)"):
        require_free_names([CFile("bbr3", Path("bbr3.c"), "")])
