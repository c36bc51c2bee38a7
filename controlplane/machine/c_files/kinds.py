"""What can be written in C files, where each kind's headers are, and how a CCA is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ...contract.c_files import BPF_SUFFIX, SUFFIX, CFile, c_digest, c_sources, cca_name
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


CcaForm = Literal["cc.h", "module", "ebpf"]
"""How a CCA is written: with cc.h, which makes both of the others of it; as an ordinary module of
the kernel, as which any of several files is built, for virtual time; or as struct_ops of eBPF, for
real time."""
_MAKES_A_MODULE = b"tcp_register_congestion_control"


def form_of(cca: CFile) -> CcaForm:
    """How a CCA is written; raises ConfigError for what is none of them."""
    if cca.source.name.endswith(BPF_SUFFIX):
        return "ebpf"
    if cca.source.is_dir():
        return "module"
    files = c_sources(cca.source, CCA.headers).values()
    if is_shipped(cca) or any(file.name == "cc.h" for file in files):
        return "cc.h"
    if any(_MAKES_A_MODULE in file.read_bytes() for file in files):
        return "module"
    raise ConfigError(
        f"{cca.source}: is no congestion control: it neither includes cc.h nor calls "
        f"{_MAKES_A_MODULE.decode()}; `nashbed cc new NAME` writes one"
    )


def require_runnable(ccas: Sequence[CFile], is_virtual: bool) -> None:
    """Raise ConfigError for CCAs that are written for the other kind of time, a line each."""
    wrong, says = (
        ("ebpf", "eBPF runs in real time only (`--testbed embedded`); virtual time takes a module")
        if is_virtual
        else ("module", "a module of the kernel runs in virtual time only (`--testbed virtual`)")
    )
    lines = [f"{cca.source}: {says}" for cca in ccas if form_of(cca) == wrong]
    if lines:
        raise ConfigError("\n".join(lines))


def is_shipped(cca: CFile) -> bool:
    """Whether a CCA is one of hosts/cc."""
    return cca.source.resolve().parent == CCA.headers.resolve()


def shipped_cca(name: str) -> Path:
    """The file of a CCA of hosts/cc."""
    return CCA.headers / f"{name}{SUFFIX}"
