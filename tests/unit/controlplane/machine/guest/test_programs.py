"""What guests run besides their kernel: our programs, and the libraries that they compute in."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.machine.guest import programs as module
from nashbed.controlplane.machine.guest.programs import changed_programs, guest_programs
from nashbed.controlplane.machine.process import command
from nashbed.controlplane.machine.process.command import Completed
from nashbed.controlplane.machine.process.flow_programs import loaded_by

LDD = """\
	linux-vdso.so.1 (0x00007fa06ddc5000)
	libjansson.so.4 => {folder}/libjansson.so.4 (0x00007fa06dd6a000)
	librte_eal.so.23 => {folder}/librte_eal.so.23 (0x00007fa06dd6a000)
	libc.so.6 => {folder}/libc.so.6 (0x00007fa06db2f000)
	libgone.so.1 => not found
	{folder}/ld-linux-x86-64.so.2 (0x00007fa06ddc7000)
"""
"""What ldd prints (Debian 12, glibc 2.36), but for folders."""


@pytest.fixture(autouse=True)
def computed_anew() -> Iterator[None]:
    guest_programs.cache_clear()
    yield
    guest_programs.cache_clear()


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_programs_and_the_libraries_they_compute_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text libraries, the kernel's own and what is not built are left out."""
    for name in ("nashbed-flows", "libjansson.so.4", "librte_eal.so.23", "libc.so.6"):
        (tmp_path / name).write_text(name)
    (tmp_path / "ld-linux-x86-64.so.2").write_text("ld")
    monkeypatch.setattr(module, "FLOWS", tmp_path / "nashbed-flows")
    for missing in ("GUEST_INIT", "VIRTUAL_LIBRARY", "NATIVE_P4"):
        monkeypatch.setattr(module, missing, tmp_path / missing)
    done = Completed(("ldd",), 0, LDD.format(folder=tmp_path), "")
    monkeypatch.setattr(command, "run", lambda args: done)
    assert guest_programs() == {
        "nashbed-flows": digest("nashbed-flows"),
        "librte_eal.so.23": digest("librte_eal.so.23"),
        "libc.so.6": digest("libc.so.6"),
        "ld-linux-x86-64.so.2": digest("ld"),
    }


def test_a_real_program_loads_a_c_library() -> None:
    assert any(Path(name).name.startswith(("libc.", "ld-")) for name in loaded_by(Path("/bin/sh")))


def test_what_differs_is_named() -> None:
    one = {"nashbed-flows": "a", "libc.so.6": "b", "bottleneck.so": "c"}
    assert changed_programs(one, dict(one)) == ""
    assert changed_programs(one, one | {"libc.so.6": "x"}) == "libc.so.6"
    assert changed_programs(one, one | {"libm.so.6": "x"}) == "libm.so.6"
    assert changed_programs(one, {}) == "nashbed-flows, libc.so.6"


def test_native_code_is_for_its_processor_and_not_compared() -> None:
    assert changed_programs({"bottleneck.so": "a"}, {"bottleneck.so": "b"}) == ""


def test_of_many_the_first_are_named() -> None:
    many = {f"librte_{letter}.so": "a" for letter in "abcde"}
    assert changed_programs(many, {}) == "librte_a.so, librte_b.so, librte_c.so and 2 more"
