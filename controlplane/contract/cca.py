"""CCAs that nashbed brings along or its user writes: one C file each (hosts/cc)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .c_files import c_digest
from .errors import ConfigError

CCA_NAME = re.compile(r"[a-z][a-z0-9_]{0,14}")
"""A CCA's name, which is its file's stem: the kernel keeps 15 characters."""

SHIPPED_CCAS = (
    *("bbr2", "bbr2_ecn", "bbr3", "bbr3_ecn", "copa", "copa_default", "copa_mvfst", "prague"),
    *("vivace", "vivace_kernel"),
)
"""The names of the CCAs in hosts/cc, apart from the template and the positive control."""

SUFFIX = ".c"
"""Suffix of a CCA file: a strategy that ends in it is a path."""


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
    if not source.exists():
        raise ConfigError(f"{source}: no such file; `nashbed cc new NAME` writes one")
    return CcaFile(name, source, c_digest(source, headers))
