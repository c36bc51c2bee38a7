"""CCAs that nashbed brings along or its user writes: one C file each (hosts/cc)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import ConfigError

CCA_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
"""A CCA's name, which is its file's stem: the kernel keeps 15 characters."""

SHIPPED_CCAS = ("bbr2", "bbr3", "copa", "copa_default", "copa_mvfst", "vivace", "vivace_kernel")
"""The names of the CCAs in hosts/cc, apart from the template and the positive control."""

SUFFIX = ".c"
"""Suffix of a CCA file: a strategy that ends in it is a path."""

_INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True)
class CcaFile:
    """A CCA in one C file.

    Attributes:
        name: What flows ask for by TCP_CONGESTION.
        source: The C file.
        digest: SHA-256 of the file and of all that it includes by name in quotes, headers of
            hosts/cc among them, in hexadecimal.
    """

    name: str
    source: Path
    digest: str


def cca_name(file: str) -> str:
    """The name of the CCA in a file.

    Raises:
        ValueError: The kernel could not have a CCA of this name.
    """
    name = Path(file).stem
    if not CCA_NAME.fullmatch(name):
        raise ValueError(
            f"{file}: a congestion control has the name of its file, at most 15 of a-z, 0-9 and _ "
            "of which the first is a letter; rename the file"
        )
    return name


def read_cca(source: Path, headers: Path) -> CcaFile:
    """The CCA in a C file.

    Args:
        source: The file.
        headers: The folder of cc.h.

    Raises:
        ConfigError: There is no such file, it cannot be read, or its name is no CCA's.
    """
    try:
        name = cca_name(str(source))
    except ValueError as error:
        raise ConfigError(str(error)) from error
    return CcaFile(name, source, cca_digest(source, headers))


def cca_digest(source: Path, headers: Path) -> str:
    """SHA-256 of what a CCA is made of, wherever that stands, in hexadecimal.

    Args:
        source: The CCA's file.
        headers: The folder of cc.h.

    Raises:
        ConfigError: A file cannot be read.
    """
    total = hashlib.sha256()
    for place, file in sorted(cca_sources(source, headers).items()):
        content = _content(file)
        total.update(f"{place}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def cca_sources(source: Path, headers: Path) -> dict[str, Path]:
    """A CCA's file and all that it includes by name in quotes, by where each of them stands.

    That is relative to the CCA's own folder, or else to the folder of cc.h.

    Args:
        source: The CCA's file.
        headers: The folder of cc.h.

    Raises:
        ConfigError: A file cannot be read, or stands in neither folder.
    """
    folders = (source.parent.resolve(), headers.resolve())
    found: dict[str, Path] = {}
    waiting = [source.resolve()]
    while waiting:
        file = waiting.pop()
        place = _place(file, folders, source)
        if place not in found:
            found[place] = file
            waiting += _included(file, folders[1])
    return found


def _included(file: Path, headers: Path) -> Iterator[Path]:
    """The files that a file includes; one that is not found is for the compiler to name."""
    for name in _INCLUDE.findall(_content(file)):
        for folder in (file.parent, headers):
            if (path := folder / name.decode(errors="replace")).is_file():
                yield path.resolve()
                break


def _place(file: Path, folders: tuple[Path, ...], source: Path) -> str:
    for folder in folders:
        if file.is_relative_to(folder):
            return str(file.relative_to(folder))
    raise ConfigError(
        f"{source}: includes {file}, which is not in its folder; move it there: a run keeps a copy "
        "of what it was made of"
    )


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(f"{file}: no such file; `nashbed cc new NAME` writes one") from error
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
