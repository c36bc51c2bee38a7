#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Get the headers that the P4 program's native code needs and libdpdk-dev does not have.

The C that DPDK generates from a .spec includes two of DPDK's internal headers. They must be of
exactly the installed version, because the code reads the library's structures. So they are taken
from that version's source package, through apt, which checks its signatures, with package lists
of its own: the machine's apt sources do not change. Plain Python without packages, because
`make setup` runs it first.

Without them (offline, not Debian, another DPDK) the build goes on and the data plane
interprets the program; this says why in one line and exits with 0.

Example:
    python3 hosts/dpdk/pipeline/native/headers.py build/dpdk-internal
"""

# ruff: noqa: T201 -- a command line program says what it does.

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HEADERS = ("rte_swx_pipeline_internal.h", "rte_swx_pipeline_spec.h")
SHIPPED = "rte_swx_pipeline.h"
"""Also in libdpdk-dev: the two packages are of one source if it is the same in both."""

FOLDER = "lib/pipeline"
PACKAGE = "libdpdk-dev"
ORIGIN = "package"
"""Beside the headers: the package version that they are of."""

SOURCES = Path("/etc/apt")
TIMEOUT_S = 300


class UnavailableError(Exception):
    """The headers are not available; the message says why."""


def output_of(*command: str, folder: Path | None = None) -> str:
    """A command's standard output; raises UnavailableError with its last line of error.

    Args:
        command: The program and its arguments.
        folder: Where it runs; its own apt.conf is there, if it is apt.
    """
    own = {"APT_CONFIG": str(folder / "apt.conf")} if folder else {}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            cwd=folder,
            env=os.environ | own | {"LC_ALL": "C"},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{command[0]}: {error}") from error
    if done.returncode != 0:
        words = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise UnavailableError(f"{command[0]}: {words[-1]}")
    return done.stdout.strip()


def with_source_packages(text: str, name: str) -> str:
    """An apt source file that asks for source packages instead of binary ones."""
    if name.endswith(".sources"):
        return re.sub(r"(?m)^Types:.*$", "Types: deb-src", text)
    return re.sub(r"(?m)^deb\s", "deb-src ", text)


def write_sources(folder: Path) -> None:
    """The machine's apt sources, for source packages."""
    files = [SOURCES / "sources.list", *sorted((SOURCES / "sources.list.d").glob("*"))]
    for path in files:
        if path.is_file() and path.suffix in {".list", ".sources"}:
            (folder / path.name).write_text(with_source_packages(path.read_text(), path.name))


def download(package: str, version: str, folder: Path) -> None:
    """A source package's files, through apt, with lists of its own."""
    parts, lists, cache = folder / "parts", folder / "lists", folder / "cache"
    for each in (parts, lists / "partial", cache / "archives" / "partial"):
        each.mkdir(parents=True)
    write_sources(parts)
    settings = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": str(parts),
        "Dir::State::Lists": str(lists),
        "Dir::Cache": str(cache),
        "Acquire::Languages": "none",
        "Acquire::Retries": "1",
        "Acquire::http::Timeout": "20",
    }
    config = "".join(f'{name} "{value}";\n' for name, value in settings.items())
    (folder / "apt.conf").write_text(config)
    # A source that cannot be read is only warned of: the package may be in another.
    output_of("apt-get", "-q", "update", folder=folder)
    source = f"{package}={version}"
    try:
        output_of("apt-get", "-q", "source", "--download-only", source, folder=folder)
    except UnavailableError as error:
        raise UnavailableError(f"no source package {source} ({error})") from error


def members(folder: Path, pattern: str) -> dict[str, str]:
    """The pipeline's headers in the archive of this name, by file name.

    Args:
        folder: Where the archive is.
        pattern: Its name.
    """
    archives = list(folder.glob(pattern))
    if len(archives) != 1:
        raise UnavailableError(f"no {pattern} in the source package")
    names = {*HEADERS, SHIPPED}
    with tarfile.open(archives[0]) as archive:
        texts = {}
        for member in archive:
            place, _, name = member.name.rpartition("/")
            if name in names and place.partition("/")[2] == FOLDER:
                file = archive.extractfile(member)
                texts[name] = file.read().decode() if file else ""
    return texts


def check_patches(folder: Path) -> None:
    """Debian's own changes must leave the headers as they are in the archive."""
    for path in folder.glob("*.debian.tar.*"):
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if "/patches/" in member.name else None
                if file and f"{FOLDER}/rte_swx_pipeline".encode() in file.read():
                    raise UnavailableError(f"Debian changes {FOLDER}: {member.name}")


def installed_header() -> str:
    """The installed copy of the header that both packages have."""
    include = output_of("pkg-config", "--variable=includedir", "libdpdk")
    copies = [p for p in (Path(include) / SHIPPED, Path(include, "dpdk", SHIPPED)) if p.is_file()]
    if not copies:
        raise UnavailableError(f"no {SHIPPED} in {include}")
    return copies[0].read_text()


def fetch(package: str, version: str) -> dict[str, str]:
    """The headers of a source package, by file name."""
    with tempfile.TemporaryDirectory(prefix="nashbed-") as name:
        folder = Path(name)
        download(package, version, folder)
        check_patches(folder)
        headers = members(folder, f"{package}_*.orig.tar.*")
    missing = [name for name in (*HEADERS, SHIPPED) if name not in headers]
    if missing:
        raise UnavailableError(f"the source package has no {', '.join(missing)}")
    if headers[SHIPPED] != installed_header():
        raise UnavailableError(f"{SHIPPED} is another one in the source package")
    return {name: headers[name] for name in HEADERS}


def is_there(folder: Path, origin: str) -> bool:
    """Whether the headers of this package version are there already."""
    stamp = folder / ORIGIN
    return stamp.is_file() and stamp.read_text() == origin


def obtain(place: Path) -> None:
    """Put the headers of the installed DPDK into `place`/<its version>."""
    folder = place / output_of("pkg-config", "--modversion", "libdpdk")
    query = "${source:Package} ${source:Version}"
    origin = output_of("dpkg-query", "-W", "-f", query, PACKAGE)
    if is_there(folder, origin):
        return
    shutil.rmtree(folder, ignore_errors=True)
    package, _, version = origin.partition(" ")
    headers = fetch(package, version)
    folder.mkdir(parents=True)
    for name, text in headers.items():
        (folder / name).write_text(text)
    (folder / ORIGIN).write_text(origin)
    print(f"{', '.join(HEADERS)}: of {origin}")


def main() -> int:
    """Get the headers, or print why they are not available."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("place", type=Path, help="the folder to put them in")
    place = parser.parse_args().place
    try:
        obtain(place)
    except (UnavailableError, OSError, tarfile.TarError) as error:
        print(f"skipped: P4 as native code (it will be interpreted): {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
