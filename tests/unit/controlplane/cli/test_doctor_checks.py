# SPDX-License-Identifier: Apache-2.0
"""What doctor says of P4 tools that are here, that are of another release, or that are odd."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.cli.doctor import compiler, simple_switch
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.host.facts import compiled_by
from nashbed.controlplane.machine.paths import P4SRC
from nashbed.controlplane.targets.bmv2 import runtime

SPEC = "dpdk/bottleneck.spec"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    monkeypatch.setenv("PATH", f"{tmp_path}")
    return tmp_path


def put(folder: Path, name: str, script: str) -> Path:
    """A program."""
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
