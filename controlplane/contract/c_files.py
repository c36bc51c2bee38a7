"""A congestion control, a queue discipline or a policy of shared memory, as C files of a user."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .errors import ConfigError

SUFFIX = ".c"
"""Suffix of a C file: a strategy, a discipline or a policy that ends in it is a path."""
BPF_SUFFIX = ".bpf.c"
"""Suffix of a congestion control that is written as struct_ops of eBPF."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
"""The kernel keeps 15 characters of a congestion control's name."""
_INCLUDE = re.compile(rb'^\s*#\s*include\s*"([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True)
class CFile:
    """What is in one C file, or of a congestion control of several files in a folder.

    Attributes:
        name: Its name, the file's stem: what flows ask for by TCP_CONGESTION, or a discipline's.
        source: The C file, or the folder.
        digest: SHA-256 of the file and of all that it includes by name in quotes, our headers
            among them, in hexadecimal.
    """

    name: str
    source: Path
    digest: str


def cca_name(file: str) -> str:
    """The name of the CCA in a file; raises ValueError where the kernel could not have one."""
    if problem := name_problem(file, "congestion control"):
        raise ValueError(problem)
    return stem(file)


def stem(file: str) -> str:
    """The name of a file, or of a folder, without what says of which kind it is."""
    return Path(file).name.removesuffix(SUFFIX).removesuffix(".bpf")


def name_problem(file: str, what: str) -> str:
    """Why what is in a C file cannot have its name; empty: it can."""
    if _NAME.fullmatch(stem(file)):
        return ""
    return (
        f"{file}: a {what} has the name of its file, at most 15 of a-z, 0-9 and _ of which the "
        "first is a letter; rename the file"
    )


def c_digest(source: Path, headers: Path) -> str:
    """SHA-256 of what a C file is made of, wherever that stands, in hexadecimal.

    Args:
        headers: The folder of our headers, which it may include.

    Raises:
        ConfigError: A file cannot be read.
    """
    total = hashlib.sha256()
    for place, file in sorted(c_sources(source, headers).items()):
        content = _content(file)
        total.update(f"{place}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


def c_sources(source: Path, headers: Path) -> dict[str, Path]:
    """C files and all that they include by name in quotes, by where each of them stands.

    That is relative to the files' own folder, or else to the folder of our headers.

    Args:
        source: The file, or a folder, of which it is every C file.
        headers: The folder of our headers.

    Raises:
        ConfigError: A file cannot be read, or stands in neither folder.
    """
    waiting = own_files(source)
    folders = (waiting[0].parent, headers.resolve())
    found: dict[str, Path] = {}
    while waiting:
        file = waiting.pop()
        place = _place(file, folders, source)
        if place not in found:
            found[place] = file
            waiting += _included(file, folders[1])
    return found


def own_files(source: Path) -> list[Path]:
    """What is compiled: a C file, or every one of a folder; raises ConfigError for none."""
    if not source.is_dir():
        return [source.resolve()]
    files = sorted(source.resolve().glob(f"*{SUFFIX}"))
    if not files:
        raise ConfigError(f"{source}: a folder without a C file")
    return files


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
        raise ConfigError(f"{file}: no such file") from error
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
