"""hosts/dpdk/pipeline/native/headers.py: what it asks apt for; no build fails without it."""

import importlib.util
import io
import os
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


def source(changed: dict[str, str] | None = None, version: str = "24.11.6") -> dict[str, str]:
    """The files of DPDK's source that count, and some that do not."""
    names = (*headers.HEADERS, headers.SHIPPED)
    files = {f"lib/pipeline/{name}": f"/* {name} */" for name in names}
    files |= {"lib/table/rte_swx_table.h": "table", "VERSION": f"{version}\n"}
    files |= changed or {}
    return files | {"lib/pipeline/rte_pipeline.h": "no", "doc/rte_swx_x.h": "no"}


def install(include: Path) -> Path:
    """The installed library's headers."""
    include.mkdir(parents=True)
    (include / headers.SHIPPED).write_text(f"/* {headers.SHIPPED} */")
    (include / "rte_swx_table.h").write_text("table")
    (include / "rte_mbuf.h").write_text("not of SWX")
    return include


def test_an_archive_and_a_folder_give_the_same(tmp_path: Path) -> None:
    archive(tmp_path / "dpdk.tar.xz", {f"dpdk-24/{name}": text for name, text in source().items()})
    archive(tmp_path / "bare.tar.xz", source())
    for name, text in source().items():
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = headers.texts_of(tmp_path / "dpdk.tar.xz")
    assert found.keys() == {*headers.HEADERS, headers.SHIPPED, "rte_swx_table.h", "VERSION"}
    assert headers.texts_of(tmp_path / "bare.tar.xz") == found
    assert headers.texts_of(tmp_path / "tree") == found


@pytest.mark.parametrize(
    ("changed", "version", "refused"),
    [
        ({}, "24.11.6", ""),
        ({"lib/pipeline/rte_swx_pipeline_internal.h": "newer"}, "24.11.9", ""),
        ({}, "23.11.6", "the source is of DPDK 23.11.6, and 24.11.4 is installed"),
        ({"lib/pipeline/rte_swx_pipeline.h": "x"}, "24.11.6", r"rte_swx_pipeline\.h is another"),
        ({"lib/table/rte_swx_table.h": "x"}, "24.11.6", r"rte_swx_table\.h is another one"),
    ],
)
def test_a_source_whose_headers_agree_will_do(
    tmp_path: Path, changed: dict[str, str], version: str, refused: str
) -> None:
    archive(tmp_path / "dpdk.tar.xz", source(changed, version))
    texts, include = headers.texts_of(tmp_path / "dpdk.tar.xz"), install(tmp_path / "include")
    if not refused:
        headers.check_agreement(texts, include, "24.11.4")
        return
    with pytest.raises(headers.UnavailableError, match=refused):
        headers.check_agreement(texts, include, "24.11.4")


def test_the_installed_version_is_tried_first_and_then_its_release() -> None:
    versions = ("25.11-1", "24.11.8-1", "24.11.4-0+deb13u1", "1:24.11.3-1", "24.11.8-1")
    listed = "".join(f"Package: dpdk\nVersion: {each}\n\n" for each in versions)
    wanted = ["24.11.4-0+deb13u1", "24.11.8-1", "24.11.3-1"]
    assert headers.candidates(listed, "24.11.4-0+deb13u1") == wanted


@pytest.mark.parametrize(("touched", "refused"), [("lib/eal/x.c", False), ("lib/pipeline", True)])
def test_a_patched_header_is_refused(tmp_path: Path, touched: str, refused: bool) -> None:
    patch = f"--- a/{touched}/rte_swx_pipeline_internal.h\n"
    archive(tmp_path / "dpdk_22.debian.tar.xz", {"debian/patches/one.patch": patch})
    if not refused:
        headers.check_patches(tmp_path)
        return
    with pytest.raises(headers.UnavailableError, match=r"one\.patch"):
        headers.check_patches(tmp_path)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with DPDK 24.11.4 whose apt has only the source packages in `packages`."""
    install(tmp_path / "include" / "dpdk")
    (tmp_path / "packages").mkdir()
    commands = {
        "pkg-config": f'[ $1 = --modversion ] && echo 24.11.4 || echo "{tmp_path}/include"',
        "dpkg-query": "echo dpdk 24.11.4-1",
        "apt-cache": "for v in 24.11.4-1 24.11.6-1; do echo Version: $v; done",
        "apt-get": '[ "$2" = update ] && exit\n'
        f'from="{tmp_path}/packages/${{4#dpdk=}}.orig.tar.xz"\n'
        'cp "$from" dpdk_1.orig.tar.xz 2> /dev/null && exit\n'
        'echo "E: Failed to fetch http://d/dpdk.dsc  404  Not Found" >&2\n'
        'echo "E: Failed to fetch some archives." >&2; exit 100',
    }
    (tmp_path / "bin").mkdir()
    for name, script in commands.items():
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path


def run_script(machine: Path, *options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, machine / "to", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_another_package_of_the_release_is_taken_once(machine: Path) -> None:
    """As on a mirror that lacks the installed version's source."""
    archive(machine / "packages" / "24.11.6-1.orig.tar.xz", source())
    run = run_script(machine)
    assert run.stdout == f"{', '.join(headers.HEADERS)}: of dpdk 24.11.6-1\n"
    made = machine / "to" / "24.11.4"
    assert {path.name for path in made.iterdir()} == {*headers.HEADERS, "package"}
    assert (made / headers.HEADERS[0]).read_text() == f"/* {headers.HEADERS[0]} */"
    again = run_script(machine)
    assert (again.returncode, again.stdout) == (0, "")


def test_why_there_is_no_package(machine: Path) -> None:
    """The installed version's reason, and what can be done, in one line."""
    different = source({"lib/table/rte_swx_table.h": "x"})
    archive(machine / "packages" / "24.11.6-1.orig.tar.xz", different)
    run = run_script(machine)
    assert run.returncode == 0
    assert "no source package dpdk=24.11.4-1 (apt-get: E: Failed to fetch http" in run.stdout
    assert "404 Not Found); DPDK's source will do: make setup DPDK_SOURCE=" in run.stdout
    assert run.stdout.count("\n") == 1
    assert not (machine / "to").exists()


def test_a_source_that_the_user_names(machine: Path) -> None:
    archive(machine / "dpdk.tar.xz", source())
    assert run_script(machine, "--source", machine / "dpdk.tar.xz").returncode == 0
    made = machine / "to" / "24.11.4" / headers.HEADERS[1]
    assert made.read_text() == f"/* {headers.HEADERS[1]} */"
    kept = run_script(machine)
    assert (kept.returncode, kept.stdout) == (0, "")
    archive(machine / "other.tar.xz", source(version="25.11"))
    run = run_script(machine, "--source", machine / "other.tar.xz")
    assert (run.returncode, run.stdout) == (2, "")
    assert "the source is of DPDK 25.11, and 24.11.4 is installed" in run.stderr
    assert made.exists()


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
