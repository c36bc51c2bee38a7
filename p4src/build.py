#!/usr/bin/env python3
"""Compile the P4 programs and stamp each artefact with a digest of its sources.

The artefacts are committed, so nobody needs a compiler to build or test; a
stale one fails the tests, which compare the stamp with the sources. Plain
Python without packages, so that `make p4` runs before any set-up.

Examples:
    python3 p4src/build.py            compile what has a compiler on PATH
    python3 p4src/build.py --check    say which artefacts are stale; exit 1 if any
    python3 p4src/build.py --carry tofino
                                      of a target that cannot be compiled here, whose sources
                                      changed in nothing that its artefacts have: keep them, and
                                      have their stamps say so
"""

# ruff: noqa: T201 -- a command line program says what it does.

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

P4SRC = Path(__file__).resolve().parent
CARRIED = "carried over from"
"""In the stamp of an artefact that was kept when its sources changed in nothing that it has."""
OLDEST = (1, 2, 5)
"""The oldest release of p4c that the programs were compiled with."""


def spec_text(compiled: str, stamp: str) -> str:
    """A .spec with the stamp as its first line, a comment."""
    body = "\n".join(line.rstrip() for line in compiled.splitlines()).strip()
    return f"; {stamp}\n{body}\n"


def json_text(compiled: str, stamp: str) -> str:
    """BMv2 JSON with the stamp as a key of its own, which bmv2 does not look at.

    Without what is of the machine that compiled, or of no use to bmv2: paths, and for
    each statement its place in the sources.
    """
    content = without(json.loads(compiled), "source_info") | {"program": "bottleneck.p4"}
    return json.dumps({"stamp": stamp} | content, indent=1) + "\n"


def bfrt_text(compiled: str, stamp: str) -> str:
    """bf-rt.json with the stamp as a key of its own: the tables of our controls.

    The others are the chip's (snapshots, port metadata), and no matter of the program.
    """
    content = json.loads(compiled)
    controls = (".BottleneckIngress.", ".BottleneckEgress.")
    ours = [t for t in content["tables"] if any(control in t["name"] for control in controls)]
    kept = {"schema_version": content["schema_version"], "tables": ours}
    return json.dumps({"stamp": stamp} | kept, indent=1) + "\n"


def without(node: Any, key: str) -> Any:
    """A JSON document without a key, wherever it is."""
    if isinstance(node, dict):
        return {name: without(value, key) for name, value in node.items() if name != key}
    return [without(each, key) for each in node] if isinstance(node, list) else node


@dataclass(frozen=True)
class Artefact:
    """One compiled program.

    Attributes:
        target: Folder of its sources, next to `common`.
        main: Main source file in that folder.
        output: Compiled file in that folder.
        compiler: Name of the compiler on PATH.
        arguments: Its arguments before the source file.
        text: What is committed, of the compiler's output and the stamp.
        made: File that the compiler makes in the folder that it is given; empty where it is
            given the output's name.
        proof: Another file that must be there: what only a program that fits has.
        backend: Back end that the compiler needs, "target-architecture" as the driver lists it;
            empty for a compiler of one back end.
    """

    target: str
    main: str
    output: str
    compiler: str
    arguments: tuple[str, ...]
    text: Callable[[str, str], str]
    made: str = ""
    proof: str = ""
    backend: str = ""

    @property
    def path(self) -> Path:
        """Where the artefact is committed."""
        return P4SRC / self.target / self.output


def tofino(chip: str) -> Artefact:
    """The program on one generation of Tofino.

    p4c alone accepts what needs more stages than there are; its driver runs the assembler.
    """
    target, architecture = chip.replace("tofino1", "tofino"), ARCHITECTURES[chip]
    return Artefact(
        target="tofino",
        main=f"bottleneck_{chip}.p4",
        output=f"{chip}/bf-rt.json",
        compiler="p4c",
        arguments=("--target", target, "--arch", architecture, "--Wdisable=unused"),
        text=bfrt_text,
        made="bfrt.json",
        proof=f"bottleneck/{target}.bin",
        backend=f"{target}-{architecture}",
    )


ARCHITECTURES = {"tofino1": "tna", "tofino2": "t2na"}
ARTEFACTS = (
    Artefact(
        target="dpdk",
        main="bottleneck.p4",
        output="bottleneck.spec",
        compiler="p4c-dpdk",
        # pna.p4 itself declares what no program uses.
        # Copy propagation writes an expression anew at each of its uses: a third more
        # instructions, each of which the pipeline interprets.
        arguments=(
            *("--arch", "pna", "--Wdisable=unused"),
            *("--excludeMidendPasses", "P4::LocalCopyPropagation"),
        ),
        text=spec_text,
    ),
    Artefact(
        target="bmv2",
        main="bottleneck.p4",
        output="bottleneck.json",
        compiler="p4c-bm2-ss",
        arguments=("--arch", "v1model"),
        text=json_text,
    ),
    *map(tofino, ARCHITECTURES),
)


def sources(artefact: Artefact) -> list[Path]:
    """The P4 files an artefact depends on, in a fixed order."""
    folders = (P4SRC / "common", P4SRC / artefact.target)
    return sorted(path for folder in folders for path in folder.glob("*.p4"))


def digest(artefact: Artefact) -> str:
    """SHA-256 over names and contents of the artefact's sources, in hexadecimal."""
    total = hashlib.sha256()
    for path in sources(artefact):
        name = path.relative_to(P4SRC).as_posix()
        total.update(f"{name}\0{path.stat().st_size}\0".encode())
        total.update(path.read_bytes())
    return total.hexdigest()


def stamp_of(artefact: Artefact) -> str:
    """The digest an artefact carries; empty where there is none."""
    if not artefact.path.exists():
        return ""
    found = re.search(r"sources sha256:(\w+)", artefact.path.read_text())
    return found.group(1) if found else ""


def is_carried(artefact: Artefact) -> bool:
    """Whether an artefact is an earlier compilation's than its sources are."""
    return artefact.path.exists() and CARRIED in artefact.path.read_text()


def carry(target: str) -> int:
    """Have the stamps of a target's artefacts say what they were compiled of, and are kept for."""
    for artefact in ARTEFACTS:
        if artefact.target == target and stamp_of(artefact) != digest(artefact):
            text = artefact.path.read_text()
            before, after = rf"sources (?:sha256:\w+ {CARRIED} )?(sha256:\w+ )", digest(artefact)
            kept = re.sub(before, rf"sources sha256:{after} {CARRIED} \1", text, count=1)
            artefact.path.write_text(kept)
            print(f"{artefact.path.relative_to(P4SRC.parent)}: not compiled, carried over")
    return 0


def compiler_of(artefact: Artefact) -> tuple[str, str]:
    """Path of an artefact's compiler, or an empty one and why it cannot be compiled here."""
    compiler = shutil.which(artefact.compiler)
    if compiler is None:
        return "", f"{artefact.compiler} is not on PATH"
    if artefact.backend:
        # p4lang's packages have the driver, but not the Tofino back end.
        command = [compiler, "--target-help"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if artefact.backend not in run.stdout.split():
            return "", f"{compiler} has no back end {artefact.backend}"
    return compiler, ""


def compiled(artefact: Artefact, compiler: str) -> str:
    """The stamped text of a fresh artefact.

    Raises:
        SystemExit: The compiler is too old, or failed; its output was shown.
    """
    commit = commit_of(compiler)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / (artefact.made or artefact.output)
        source = P4SRC / artefact.target / artefact.main
        into = folder if artefact.made else str(output)
        command = [compiler, *artefact.arguments, str(source), "-o", into]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0 or not (
            output.exists() and (Path(folder) / artefact.proof).exists()
        ):
            sys.exit(f"{' '.join(command)} failed:\n{run.stderr}")
        if run.stderr.strip():
            print(run.stderr, file=sys.stderr)
        body = output.read_text()
    stamp = f"sources sha256:{digest(artefact)} {artefact.compiler} {commit}"
    return artefact.text(body, stamp)


def commit_of(compiler: str) -> str:
    """The commit that a compiler was built from; "unknown" where it was built from a tar file.

    Raises:
        SystemExit: It is of a release that is too old, or is no p4c.
    """
    run = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False)
    pattern = r"(?:Version|p4c) (\d+(?:\.\d+)+)\S*(?: \(SHA: (\w*))?"
    version = re.search(pattern, run.stdout + run.stderr)
    if version is None:
        sys.exit(f"{compiler} --version does not tell a release of p4c: is it one?")
    release = tuple(int(part) for part in version.group(1).split("."))
    # p4c-dpdk has a version of its own (0.1): only its commit says anything.
    if len(release) >= len(OLDEST) and release < OLDEST:
        found, oldest = (".".join(map(str, each)) for each in (release, OLDEST))
        sys.exit(f"{compiler} is of p4c {found}; the programs need {oldest} or later")
    return version.group(2) or "unknown"


def build() -> int:
    """Compile every artefact whose compiler is there; 1 if a stale one could not be."""
    left_stale = 0
    for artefact in ARTEFACTS:
        compiler, why_not = compiler_of(artefact)
        if compiler:
            artefact.path.parent.mkdir(exist_ok=True)
            artefact.path.write_text(compiled(artefact, compiler))
            print(f"{artefact.path.relative_to(P4SRC.parent)}: compiled")
            continue
        fresh = stamp_of(artefact) == digest(artefact)
        state = "is up to date" if fresh else "is STALE"
        state += ", but not compiled of them" if is_carried(artefact) else ""
        print(f"{why_not}; {artefact.path.name} {state}")
        left_stale |= not fresh
    return int(left_stale)


def check() -> int:
    """Say which artefacts do not match their sources; 1 if any."""
    stale = [a for a in ARTEFACTS if stamp_of(a) != digest(a)]
    for artefact in stale:
        print(f"{artefact.path.relative_to(P4SRC.parent)} is stale: run `make p4`")
    return int(bool(stale))


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="only compare stamps")
    parser.add_argument("--carry", metavar="TARGET", help="keep artefacts, and say so in them")
    asked = parser.parse_args()
    if asked.carry:
        return carry(asked.carry)
    return check() if asked.check else build()


if __name__ == "__main__":
    sys.exit(main())
