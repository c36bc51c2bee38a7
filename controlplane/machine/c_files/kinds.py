"""What can be written in one C file, and where each kind's headers are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...contract.c_files import SUFFIX, CFile, c_digest, c_sources, cca_name
from ...contract.disciplines import own_name
from ...contract.errors import ConfigError
from ..paths import AQM_HEADERS, CCA_FOLDER

SHIPPED_CCAS = (
    *("bbr2", "bbr2_ecn", "bbr3", "bbr3_ecn", "copa", "copa_default", "copa_mvfst", "prague"),
    *("vivace", "vivace_kernel"),
)
"""The names of the CCAs in hosts/cc, apart from the template and the positive control."""


@dataclass(frozen=True)
class Kind:
    """A kind of C file.

    Attributes:
        name_of: File -> name; raises ValueError for one that cannot be.
        headers: The folder of the headers that it may include.
        command: The command of nashbed that writes and checks such a file.
        folder: Where a run directory keeps the user's own.
    """

    name_of: Callable[[str], str]
    headers: Path
    command: str
    folder: str

    def read(self, source: Path) -> CFile:
        """What is in a C file.

        Raises:
            ConfigError: There is no such file, it cannot be read, or its name cannot be.
        """
        name = self.name(source)
        if not source.exists():
            raise ConfigError(
                f"{source}: no such file; `nashbed {self.command} new NAME` writes one"
            )
        return CFile(name, source, c_digest(source, self.headers))

    def name(self, source: Path) -> str:
        """As `name_of`; raises ConfigError."""
        try:
            return self.name_of(str(source))
        except ValueError as error:
            raise ConfigError(str(error).removeprefix("file: ")) from error

    def file(self, name: str) -> Path:
        """The name of a new file; raises ConfigError for one that cannot be."""
        file = Path(f"{name.removesuffix(SUFFIX)}{SUFFIX}")
        self.name(file)
        return file

    def own_sources(self, file: CFile) -> dict[str, Path]:
        """The user's own files of one, as in `c_sources`: our headers are left out."""
        every = c_sources(file.source, self.headers).items()
        ours = self.headers.resolve()
        return {place: path for place, path in every if not path.is_relative_to(ours)}


CCA = Kind(cca_name, CCA_FOLDER, "cc", "controls")
DISCIPLINE = Kind(own_name, AQM_HEADERS, "aqm", "disciplines")
"""A queue discipline, or a policy of the memory that queues share: the object says which."""


def is_shipped(cca: CFile) -> bool:
    """Whether a CCA is one of hosts/cc."""
    return cca.source.resolve().parent == CCA.headers.resolve()


def shipped_cca(name: str) -> Path:
    """The file of a CCA of hosts/cc."""
    return CCA.headers / f"{name}{SUFFIX}"
