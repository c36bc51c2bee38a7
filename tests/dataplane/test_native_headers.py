# SPDX-License-Identifier: Apache-2.0
"""hosts/dpdk/pipeline/native/headers.py: what it asks apt for; no build fails without it."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tests.support.replay import ROOT

SCRIPT = ROOT / "hosts" / "dpdk" / "pipeline" / "native" / "headers.py"
_found = importlib.util.spec_from_file_location("native_headers", SCRIPT)
assert _found is not None
assert _found.loader is not None
headers = importlib.util.module_from_spec(_found)
_found.loader.exec_module(headers)


def archive(path: Path, files: dict[str, str]) -> None:
    with tarfile.open(path, "w:xz") as out:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            out.addfile(member, io.BytesIO(text.encode()))


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("debian.sources", "Types: deb\nURIs: u\n", "Types: deb-src\nURIs: u\n"),
        ("debian.sources", "Types: deb deb-src\n", "Types: deb-src\n"),
        ("sources.list", "deb http://d b main\n# deb x\n", "deb-src http://d b main\n# deb x\n"),
        ("sources.list", "deb [arch=amd64] h b main\n", "deb-src [arch=amd64] h b main\n"),
        ("sources.list", "deb-src http://d b main\n", "deb-src http://d b main\n"),
    ],
)
def test_sources_ask_for_source_packages(name: str, text: str, wanted: str) -> None:
    assert headers.with_source_packages(text, name) == wanted


def test_only_the_pipelines_own_headers_are_taken(tmp_path: Path) -> None:
    files = {f"dpdk-22/lib/pipeline/{name}": name for name in headers.HEADERS}
    files |= {"dpdk-22/lib/table/rte_swx_pipeline_spec.h": "no", "dpdk-22/VERSION": "no"}
    archive(tmp_path / "dpdk_22.orig.tar.xz", files)
    assert headers.members(tmp_path, "*.orig.tar.*") == {name: name for name in headers.HEADERS}


@pytest.mark.parametrize(("touched", "refused"), [("lib/eal/x.c", False), ("lib/pipeline", True)])
def test_a_patched_header_is_refused(tmp_path: Path, touched: str, refused: bool) -> None:
    patch = f"--- a/{touched}/rte_swx_pipeline_internal.h\n"
    archive(tmp_path / "dpdk_22.debian.tar.xz", {"debian/patches/one.patch": patch})
    if not refused:
        headers.check_patches(tmp_path)
        return
    with pytest.raises(headers.UnavailableError, match=r"one\.patch"):
        headers.check_patches(tmp_path)


def test_where_nothing_can_be_had_it_says_so_and_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    command = [sys.executable, SCRIPT, tmp_path / "to"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith("skipped: P4 as native code (it will be interpreted): ")
    assert run.stdout.count("\n") == 1
    assert not (tmp_path / "to").exists()
