"""The committed P4 artefacts are what their sources compile to."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

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


@pytest.fixture(scope="module", params=build.ARTEFACTS, ids=lambda artefact: artefact.output)
def fresh(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A committed artefact, and what its sources compile to here."""
    artefact = request.param
    compiler, why_not = build.compiler_of(artefact)
    if why_not:
        pytest.skip(why_not)
    return artefact.path.read_text(), build.compiled(artefact, compiler)


def test_the_sources_compile(fresh: tuple[str, str]) -> None:
    """With any release of the compiler that is recent enough."""
    committed, compiled = fresh
    assert digest(compiled) == digest(committed)


def test_a_fresh_compilation_gives_the_committed_artefact(fresh: tuple[str, str]) -> None:
    committed, compiled = fresh
    if stamp(committed) != stamp(compiled):
        pytest.skip(f"another release of the compiler than the artefact's: {stamp(compiled)}")
    assert compiled == committed


@pytest.mark.parametrize(
    ("version", "complaint"),
    [
        ("p4c\nVersion 1.2.4.2 (SHA: abc BUILD: X)", "is of p4c 1.2.4.2; the programs need 1.2.5"),
        ("gcc 12", "does not tell a release of p4c"),
    ],
)
def test_a_compiler_that_will_not_do(tmp_path: Path, version: str, complaint: str) -> None:
    with pytest.raises(SystemExit, match=complaint):
        build.compiled(build.ARTEFACTS[1], program(tmp_path, "p4c-bm2-ss", version))


@pytest.mark.parametrize(
    ("version", "commit"),
    [
        ("p4c-bm2-ss\nVersion 1.2.5.16 (SHA: 34b86e9bac BUILD: Release)", "34b86e9bac"),
        ("p4c-dpdk\nVersion 0.1 (SHA: 34b86e9bac BUILD: Release)", "34b86e9bac"),
        # A package is built from a tar file, which has no commit.
        ("p4c 1.2.5.17 (SHA:  BUILD: Release)", "unknown"),
    ],
)
def test_the_commit_of_a_compiler(tmp_path: Path, version: str, commit: str) -> None:
    assert build.commit_of(program(tmp_path, "p4c", version)) == commit


@pytest.mark.parametrize(
    ("backends", "why_not"),
    [
        ("bmv2-v1model\ntofino-tna\ntofino2-t2na", ""),
        ("bmv2-v1model\ndpdk-pna", "{p4c} has no back end tofino-tna"),
    ],
)
def test_a_driver_compiles_for_the_back_ends_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backends: str, why_not: str
) -> None:
    p4c = program(tmp_path, "p4c", f'Supported targets in "target, arch" tuple:\n{backends}')
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    tofino1 = next(each for each in build.ARTEFACTS if each.output.startswith("tofino1"))
    expected = ("", why_not.format(p4c=p4c)) if why_not else (p4c, "")
    assert build.compiler_of(tofino1) == expected


def program(folder: Path, name: str, output: str) -> str:
    """Path of a program that writes a text, whatever it is asked."""
    path = folder / name
    path.write_text(f"#!/bin/sh\ncat << 'END'\n{output}\nEND\n")
    path.chmod(0o755)
    return str(path)


def digest(text: str) -> str:
    """The digest of the sources that an artefact carries."""
    return stamp(text).split()[1]


def stamp(text: str) -> str:
    """What an artefact says of its sources and its compiler."""
    match = re.search(r"sources sha256:\w+ \S+ \w+", text)
    assert match is not None
    return match[0]


def test_an_artefact_that_is_carried_over_says_what_it_was_compiled_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "p4src"
    shutil.copytree(ROOT / "p4src", copy)
    monkeypatch.setattr(build, "P4SRC", copy)
    bmv2 = build.ARTEFACTS[1]
    bmv2.path.write_text('{"stamp": "sources sha256:0123abcd p4c-bm2-ss 34b86e9bac"}')
    for n in range(2):
        with (copy / "common" / "types.p4").open("a") as file:
            file.write(f"// changed {n}\n")
        assert build.carry("bmv2") == 0
        assert build.stamp_of(bmv2) == build.digest(bmv2)
        said = f"sources sha256:{build.digest(bmv2)} carried over from sha256:0123abcd p4c-bm2-ss"
        assert said in bmv2.path.read_text()
        assert bmv2.path.read_text().count("sha256:") == 2
    assert build.is_carried(bmv2)


def test_a_stale_artefact_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "p4src"
    shutil.copytree(ROOT / "p4src", copy)
    monkeypatch.setattr(build, "P4SRC", copy)
    assert build.check() == 0
    with (copy / "common" / "types.p4").open("a") as file:
        file.write("// changed\n")
    assert build.check() == 1
    assert "is stale: run `make p4`" in capsys.readouterr().out
