"""A queue discipline in a user's C file, before and after it is compiled."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .c_files import c_digest
from .disciplines import own_name
from .errors import ConfigError


@dataclass(frozen=True)
class OwnDiscipline:
    """A queue discipline in one C file.

    Attributes:
        name: Its name: the file's stem.
        source: The C file.
        digest: SHA-256 of the file and of all that it includes by name in quotes, our headers
            among them, in hexadecimal.
    """

    name: str
    source: Path
    digest: str


def read_own_discipline(source: Path, headers: Path) -> OwnDiscipline:
    """The discipline in a C file.

    Args:
        source: The file.
        headers: The folder of aqm.h.

    Raises:
        ConfigError: There is no such file, it cannot be read, or its name is no discipline's.
    """
    try:
        name = own_name(str(source))
    except ValueError as error:
        raise ConfigError(str(error).removeprefix("file: ")) from error
    if not source.exists():
        raise ConfigError(f"{source}: no such file; `nashbed aqm new NAME` writes one")
    return OwnDiscipline(name, source, c_digest(source, headers))
