"""What is linked into a guest's kernel may be: its sources are offered under the GPL too."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from nashbed.controlplane.machine.paths import ROOT, UML
from tests.support.programs import need_program

HOSTS = ROOT / "hosts"
LINKED = ("config", "control", "core", "io", "path", "pipeline", "plane", "virtual")
# REUSE-IgnoreStart
EITHER = "SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only"
GPL = "SPDX-License-Identifier: GPL-2.0-only"
# REUSE-IgnoreEnd


def c_sources(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.[ch]") if path.name != "check.h"]


@pytest.mark.parametrize("folder", ["common", *(f"dpdk/{name}" for name in LINKED)])
def test_what_is_linked_with_the_kernel_is_under_either_licence(folder: str) -> None:
    sources = c_sources(HOSTS / folder)
    assert sources
    assert [path for path in sources if EITHER not in path.read_text()[:200]] == []


def test_what_is_of_the_kernel_is_under_its_licence() -> None:
    seams = [UML / "nashbed_flows.h", UML / "nashbed_virtual.h"]
    own = [UML / f"nashbed_{name}.h" for name in ("clock", "cpu", "user")]
    assert sorted(UML.glob("*.h")) == sorted([*seams, *own])
    assert [path for path in seams if EITHER not in path.read_text()[:200]] == []
    ours = [UML / "edits.py", UML / "kernel.config", *own, *UML.glob("*.c")]
    assert [path for path in ours if GPL not in path.read_text()[:200]] == []


def test_the_texts_of_both_are_there() -> None:
    folder = ROOT / "LICENSES"
    assert (folder / "Apache-2.0.txt").read_text() == (ROOT / "LICENSE").read_text()
    assert "GNU GENERAL PUBLIC LICENSE" in (folder / "GPL-2.0-only.txt").read_text()


@pytest.mark.slow
def test_every_file_has_a_licence() -> None:
    """As REUSE has it: by its own first lines, or by REUSE.toml."""
    need_program("git")  # without it, what is built here counts as ours
    lint = [str(Path(sys.executable).with_name("reuse")), "--root", str(ROOT), "lint", "--lines"]
    env = os.environ | {"REUSE_ENCODING_MODULE": "charset_normalizer"}  # the other needs libmagic
    told = subprocess.run(lint, env=env, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout) == (0, "")
