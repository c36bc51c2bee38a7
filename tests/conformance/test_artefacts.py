# SPDX-License-Identifier: Apache-2.0
"""The committed P4 artefacts are what their sources compile to."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest
from tests.support.replay import ROOT

BUILD_SCRIPT = ROOT / "p4src" / "build.py"


def load_build_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("p4src_build", BUILD_SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # for dataclass, which looks its module up
    spec.loader.exec_module(module)
    return module


build = load_build_script()


def test_no_artefact_is_stale() -> None:
    command = [sys.executable, BUILD_SCRIPT, "--check"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "")


@pytest.mark.parametrize("artefact", build.ARTEFACTS, ids=lambda artefact: artefact.output)
def test_a_fresh_compilation_gives_the_committed_artefact(artefact: Any) -> None:
    compiler = shutil.which(artefact.compiler)
    if compiler is None:
        pytest.skip(f"{artefact.compiler} is not on PATH")
    committed = artefact.path.read_text()
    fresh = build.compiled(artefact, compiler)
    if stamp(committed) != stamp(fresh):
        pytest.skip(f"{compiler} is another release than the artefact's")
    assert fresh == committed


@pytest.mark.parametrize(
    ("version", "complaint"),
    [
        ("p4c\nVersion 1.2.4.2 (SHA: abc BUILD: X)", "is of p4c 1.2.4.2; the programs need 1.2.5"),
        ("gcc 12", "does not tell a release of p4c"),
    ],
)
def test_a_compiler_that_will_not_do(tmp_path: Any, version: str, complaint: str) -> None:
    compiler = tmp_path / "p4c-bm2-ss"
    compiler.write_text(f"#!/bin/sh\necho '{version}'\n")
    compiler.chmod(0o755)
    with pytest.raises(SystemExit, match=complaint):
        build.compiled(build.ARTEFACTS[1], str(compiler))


def stamp(text: str) -> str:
    """What an artefact says of its sources and its compiler."""
    found = re.search(r"sources sha256:\w+ \S+ \w+", text)
    assert found is not None
    return found[0]


def test_a_stale_artefact_is_noticed(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "p4src"
    shutil.copytree(ROOT / "p4src", copy)
    monkeypatch.setattr(build, "P4SRC", copy)
    assert build.check() == 0
    with (copy / "common" / "types.p4").open("a") as file:
        file.write("// changed\n")
    assert build.check() == 1
    assert "is stale: run `make p4`" in capsys.readouterr().out
