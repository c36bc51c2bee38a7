#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Get the headers that the P4 program's native code needs and libdpdk-dev does not have.

The C that DPDK generates from a .spec includes two of DPDK's internal headers. They must be those
of the installed library, because the code reads its structures. So they are taken from the source
package of the installed version, through apt, which checks its signatures, with package lists of
its own: the machine's apt sources do not change. Where there is no such package, another one of the
same DPDK release (24.11.x) will do, or a source that the user names (DPDK_SOURCE=, an archive or a
folder), if all headers that the library came with are the same in it. Plain Python without
packages, because `make setup` runs it first.

Without them (offline, not Debian, another DPDK) the build goes on and the data plane
interprets the program; this says why in one line and exits with 0. A named source that will not
do is an error.

Example:
    python3 hosts/dpdk/pipeline/native/headers.py build/dpdk-internal
    python3 hosts/dpdk/pipeline/native/headers.py build/dpdk-internal --source dpdk-24.11.4.tar.xz
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
from collections.abc import Iterator
from pathlib import Path

HEADERS = ("rte_swx_pipeline_internal.h", "rte_swx_pipeline_spec.h")
SHIPPED = "rte_swx_pipeline.h"
"""The one that is nearest to them of those that libdpdk-dev has."""

WANTED = re.compile(r"(?:[^/]+/){,2}(?:VERSION|lib/[^/]+/rte_swx_\w+\.h)")
"""What is read of an archive: DPDK's version, and all headers of SWX."""

FOLDER = "lib/pipeline"
PACKAGE = "libdpdk-dev"
ORIGIN = "package"
"""Beside the headers: the package that is installed, and the source that they are of."""

SOURCES = Path("/etc/apt")
TIMEOUT_S = 300
REMEDY = "DPDK's source will do: make setup DPDK_SOURCE=/path/to/dpdk-X.Y.Z.tar.xz"


class UnavailableError(Exception):
    """The headers are not available; the message says why."""


def output_of(*command: str, folder: Path | None = None) -> str:
    """A command's standard output; raises UnavailableError with its words.

    Args:
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
        raise UnavailableError(f"{command[0]}: {cause(done.stderr, done.returncode)}")
    return done.stdout.strip()


def cause(words: str, code: int) -> str:
    """The line of a command's errors that says why: apt's first one, another's last."""
    lines = words.strip().splitlines() or [f"exit code {code}"]
    line = next((line for line in lines if line.startswith("E: ")), lines[-1])
    return " ".join(line.split())


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


def read_lists(folder: Path) -> None:
    """Lists of source packages of their own, in a new folder."""
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


def release_of(version: str) -> str:
    """The release that a version is of: 24.11 of 24.11.4-0+deb13u1."""
    return ".".join(re.findall(r"\d+", version)[:2])


def candidates(listed: str, version: str) -> list[str]:
    """The versions to try: the wanted one, and then those of its release.

    Args:
        listed: What `apt-cache showsrc` says.
        version: The wanted one.
    """
    found = re.findall(r"(?m)^Version: (?:\d+:)?(\S+)$", listed)
    others = [other for other in found if release_of(other) == release_of(version)]
    return list(dict.fromkeys([version, *others]))


def download(package: str, version: str, folder: Path) -> Path:
    """A source package's files, with the lists of this folder; its archive."""
    place = folder / version
    place.mkdir()
    shutil.copy(folder / "apt.conf", place)
    source = f"{package}={version}"
    try:
        output_of("apt-get", "-q", "source", "--download-only", source, folder=place)
    except UnavailableError as error:
        raise UnavailableError(f"no source package {source} ({error})") from error
    archives = list(place.glob(f"{package}_*.orig.tar.*[!c]"))
    if len(archives) != 1:
        raise UnavailableError(f"no archive in the source package {source}")
    check_patches(place)
    return archives[0]


def check_patches(folder: Path) -> None:
    """Debian's own changes must leave the headers as they are in the archive."""
    for path in folder.glob("*.debian.tar.*"):
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if "/patches/" in member.name else None
                if file and f"{FOLDER}/rte_swx_pipeline".encode() in file.read():
                    raise UnavailableError(f"Debian changes {FOLDER}: {member.name}")


def texts_of(source: Path) -> dict[str, str]:
    """The headers of SWX and the VERSION of a source, by file name.

    Args:
        source: A folder or an archive.
    """
    return {place.rpartition("/")[2]: text for place, text in _files(source)}


def _files(source: Path) -> Iterator[tuple[str, str]]:
    if source.is_dir():
        for path in (source / "VERSION", *sorted(source.glob("lib/*/rte_swx_*.h"))):
            if path.is_file():
                yield path.name, path.read_text()
        return
    with tarfile.open(source) as archive:
        for member in archive:
            file = archive.extractfile(member) if WANTED.fullmatch(member.name) else None
            if file:
                yield member.name, file.read().decode()


def check_agreement(texts: dict[str, str], include: Path, version: str) -> None:
    """Refuse a source whose headers may not be the installed library's.

    Args:
        texts: What `texts_of` found in it.
        include: The folder with the installed headers.
        version: The installed DPDK's.

    Raises:
        UnavailableError: It is of another release, or an installed header is another one in it.
    """
    missing = [name for name in (*HEADERS, SHIPPED, "VERSION") if name not in texts]
    if missing:
        raise UnavailableError(f"the source has no {', '.join(missing)}")
    of = texts["VERSION"].strip()
    if release_of(of) != release_of(version):
        raise UnavailableError(f"the source is of DPDK {of}, and {version} is installed")
    installed = {path.name: path.read_text() for path in include.glob("rte_swx_*.h")}
    if SHIPPED not in installed:
        raise UnavailableError(f"no {SHIPPED} in {include}")
    for name, text in sorted(installed.items()):
        if texts.get(name) != text:
            raise UnavailableError(f"{name} is another one in the source of DPDK {of}")


def include_folder() -> Path:
    """Where the installed headers are."""
    include = Path(output_of("pkg-config", "--variable=includedir", "libdpdk"))
    return next((p for p in (include, include / "dpdk") if (p / SHIPPED).is_file()), include)


def from_apt(installed: str, include: Path, release: str) -> tuple[dict[str, str], str]:
    """The headers of a source package, and its name and version.

    Args:
        installed: Name and version of the source of what is installed.
        release: The installed DPDK's version.

    Raises:
        UnavailableError: There is none that fits; why not the installed version's own.
    """
    package, _, version = installed.partition(" ")
    reasons = []
    with tempfile.TemporaryDirectory(prefix="nashbed-") as name:
        folder = Path(name)
        read_lists(folder)
        listed = output_of("apt-cache", "showsrc", "--only-source", package, folder=folder)
        for each in candidates(listed, version):
            try:
                texts = texts_of(download(package, each, folder))
                check_agreement(texts, include, release)
            except UnavailableError as error:
                reasons.append(error)
            else:
                return texts, f"{package} {each}"
    raise reasons[0]


def obtain(place: Path, source: Path | None) -> None:
    """Put the headers of the installed DPDK into `place`/<its version>.

    Args:
        place: The folder for all versions.
        source: DPDK's source; None: Debian's source package.
    """
    release = output_of("pkg-config", "--modversion", "libdpdk")
    folder, include = place / release, include_folder()
    installed = installed_package()
    if source is not None:
        texts, origin = texts_of(source), str(source)
        check_agreement(texts, include, release)
    elif is_there(folder, installed):
        return
    else:
        shutil.rmtree(folder, ignore_errors=True)
        if not installed:
            raise UnavailableError(f"{PACKAGE} is not a Debian package here")
        texts, origin = from_apt(installed, include, release)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in HEADERS:
        (folder / name).write_text(texts[name])
    (folder / ORIGIN).write_text(f"{installed}\n{origin}\n")
    print(f"{', '.join(HEADERS)}: of {origin}")


def installed_package() -> str:
    """Name and version of the installed package's source; empty where there is no such package."""
    query = "${source:Package} ${source:Version}"
    try:
        return output_of("dpkg-query", "-W", "-f", query, PACKAGE)
    except UnavailableError:
        return ""


def is_there(folder: Path, installed: str) -> bool:
    """Whether headers for this package are there already."""
    stamp = folder / ORIGIN
    return stamp.is_file() and stamp.read_text().partition("\n")[0] == installed


def main() -> int:
    """Get the headers, or print why they are not available."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("place", type=Path, help="the folder to put them in")
    parser.add_argument("--source", type=Path, help="DPDK's source: an archive or a folder")
    options = parser.parse_args()
    try:
        obtain(options.place, options.source)
    except (UnavailableError, OSError, EOFError, tarfile.TarError) as error:
        if options.source is not None:
            print(f"{options.source}: {error}", file=sys.stderr)
            return 2
        print(f"skipped: P4 as native code (it will be interpreted): {error}; {REMEDY}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
