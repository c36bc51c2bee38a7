#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compile the P4 programs and stamp each artefact with a digest of its sources.

The artefacts are committed, so nobody needs a compiler to build or test; a
stale one fails the tests, which compare the stamp with the sources. Plain
Python without packages, so that `make p4` runs before any set-up.

Examples:
    python3 p4src/build.py            compile what has a compiler on PATH
    python3 p4src/build.py --check    say which artefacts are stale; exit 1 if any
"""

# ruff: noqa: T201 -- a command line program says what it does.

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

P4SRC = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Artefact:
    """One compiled program.

    Attributes:
        target: Folder of its sources, next to `common`.
        main: Main source file in that folder.
        output: Compiled file in that folder.
        compiler: Name of the compiler on PATH.
        arguments: Its arguments before the source file.
        comment: What starts a comment line in the artefact.
    """

    target: str
    main: str
    output: str
    compiler: str
    arguments: tuple[str, ...]
    comment: str

    @property
    def path(self) -> Path:
        """Where the artefact is committed."""
        return P4SRC / self.target / self.output


ARTEFACTS = (
    Artefact(
        target="dpdk",
        main="bottleneck.p4",
        output="bottleneck.spec",
        compiler="p4c-dpdk",
        # pna.p4 itself declares what no program uses.
        arguments=("--arch", "pna", "--Wdisable=unused"),
        comment=";",
    ),
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
    first = artefact.path.read_text().splitlines()[0]
    marker = "sources sha256:"
    return first.split(marker)[1].split()[0] if marker in first else ""


def compiled(artefact: Artefact, compiler: str) -> str:
    """The stamped text of a fresh artefact.

    Raises:
        SystemExit: The compiler failed; its output was shown.
    """
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / artefact.output
        source = P4SRC / artefact.target / artefact.main
        command = [compiler, *artefact.arguments, str(source), "-o", str(output)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0 or not output.exists():
            sys.exit(f"{' '.join(command)} failed:\n{run.stderr}")
        if run.stderr.strip():
            print(run.stderr, file=sys.stderr)
        body = "\n".join(line.rstrip() for line in output.read_text().splitlines()).strip()
    commit = re.search(r"SHA: (\w+)", version.stdout + version.stderr)
    release = commit.group(1) if commit else "of unknown version"
    head = f"{artefact.comment} sources sha256:{digest(artefact)} {artefact.compiler} {release}"
    return f"{head}\n{body}\n"


def build() -> int:
    """Compile every artefact whose compiler is there; 1 if a stale one could not be."""
    left_stale = 0
    for artefact in ARTEFACTS:
        compiler = shutil.which(artefact.compiler)
        if compiler:
            artefact.path.write_text(compiled(artefact, compiler))
            print(f"{artefact.path.relative_to(P4SRC.parent)}: compiled")
            continue
        fresh = stamp_of(artefact) == digest(artefact)
        state = "is up to date" if fresh else "is STALE"
        print(f"{artefact.compiler} is not on PATH; {artefact.path.name} {state}")
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
    return check() if parser.parse_args().check else build()


if __name__ == "__main__":
    sys.exit(main())
