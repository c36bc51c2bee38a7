"""CCAs as modules of a guest's kernel: built by kbuild, kept beside the kernel.

One of cc.h and an ordinary one of the kernel, of one file or of several, are built in the same way.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ...contract.c_files import CFile, c_sources, own_files
from ...contract.errors import ConfigError, HostError, PrerequisiteError
from ...store.checksums import is_as_listed
from ...store.staging import Staging, locked, remove_stale
from ..kernels.cache import GuestKernel, listed_problem, make_command
from ..paths import CCA_MODULE
from ..process import command
from .kinds import CCA

TOOLS = ("make", "gcc", "ld")
MAKE_TIMEOUT_S = 300.0
"""For one module, on a machine that is busy; else it takes two seconds."""

_MODULES = "modules"
_NAME_DIGITS = 12
_OWN = "own"
_KBUILD = """\
obj-m := {name}.o
{name}-y := cc_module.o {objects}
ccflags-y := -g -I$(src)/own -DCC_NAME=\\"{name}\\" -Dtcp_register_congestion_control=cc_register
ccflags-y += -fmacro-prefix-map=$(src)/= -fdebug-prefix-map=$(src)/= -fdebug-prefix-map=$(CURDIR)=.
CFLAGS_cc_module.o := -Utcp_register_congestion_control
"""
_ENGLISH = ("LC_MESSAGES=C", "LC_CTYPE=C")
"""Instead of LC_ALL, which kbuild takes away."""

_COMPILER = re.compile(r"(?m)^(?P<file>[^\s:]+):(?P<place>[\d:]+): (?:fatal )?error: (?P<what>.+)$")
_LINKER = re.compile(r'(?m)^ERROR: modpost: "(?P<symbol>\w+)" .* undefined!')


def module_of(kernel: GuestKernel, cca: CFile) -> Path:
    """The module of a CCA for a kernel, built unless it is there.

    A kernel's modules are built one at a time, whoever wants them; a module that is there is
    complete. Where the files are does not show in its bytes.

    Raises:
        ConfigError: It does not compile; the message has the compiler's first error.
        HostError: It cannot be built on this machine, or with what is kept of the kernel.
    """
    digest = hashlib.sha256(f"{cca.digest}{_KBUILD}{CCA_MODULE.read_text()}".encode()).hexdigest()
    module = kernel.folder / _MODULES / f"{cca.name}-{digest[:_NAME_DIGITS]}.ko"
    remove_stale(module.parent)
    if is_as_listed(module):
        return module
    _require_means(kernel)
    with _alone(module.parent):
        if not is_as_listed(module):
            _build(kernel, cca, module)
    return module


def _require_means(kernel: GuestKernel) -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise PrerequisiteError(
            f"{', '.join(missing)}: not installed, and congestion controls of C files are built "
            "with it in virtual time; `make setup` installs it"
        )
    if not (kernel.tree / "Makefile").is_file():
        raise PrerequisiteError(
            f"{kernel.tree}: missing, and congestion controls of C files are built with it; "
            f"remove {kernel.folder} and run `{make_command(kernel.release)}`"
        )
    if problem := listed_problem(kernel):
        raise PrerequisiteError(problem)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold a folder against other builds."""
    with ExitStack() as held:
        try:
            folder.mkdir(exist_ok=True)
            held.enter_context(locked(folder))
        except OSError as error:
            raise PrerequisiteError(f"{folder}: cannot be written: {error.strerror}") from error
        yield


def _build(kernel: GuestKernel, cca: CFile, module: Path) -> None:
    try:
        with Staging(module.parent, module.name) as staging:
            work = staging.place / "work"
            sources = _lay_out(work, cca)
            make = ["make", "-C", str(kernel.tree), f"M={work}", "ARCH=um", "modules"]
            done = command.attempt(["env", *_ENGLISH, *make], timeout_s=MAKE_TIMEOUT_S)
            if done.code != 0:
                raise _failure(kernel, cca, work, sources, done.err)
            staging.publish_listed(work / f"{cca.name}.ko", module)
    except OSError as error:
        raise PrerequisiteError(f"{error.filename}: {error.strerror}") from error


def _lay_out(work: Path, cca: CFile) -> dict[Path, Path]:
    """Make the folder that kbuild works in; each copy of a source, and what it is a copy of."""
    own = work / _OWN
    own.mkdir(parents=True)
    objects = " ".join(f"{_OWN}/{file.stem}.o" for file in own_files(cca.source))
    (work / "Kbuild").write_text(_KBUILD.format(name=cca.name, objects=objects))
    shutil.copyfile(CCA_MODULE, work / CCA_MODULE.name)
    sources: dict[Path, Path] = {}
    for place, file in c_sources(cca.source, CCA.headers).items():
        copy = own / place
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
        sources[copy] = cca.source if file == cca.source.resolve() else file
    return sources


def _failure(
    kernel: GuestKernel,
    cca: CFile,
    work: Path,
    sources: Mapping[Path, Path],
    errors: str,
) -> ConfigError | HostError:
    """What went wrong, by what make and its programs have written to standard error."""
    where = f"as a module of the kernel {kernel.release} of virtual time"
    if compiler := _COMPILER.search(errors):
        # Releases differ in whether they name files from the folder that they work in.
        named = sources.get(work / compiler["file"], compiler["file"])
        return ConfigError(f"{named}:{compiler['place']}: {compiler['what']} ({where})")
    if linker := _LINKER.search(errors):
        return ConfigError(f"{cca.source}: {linker['symbol']} is not there ({where})")
    return PrerequisiteError(f"{cca.source}: not built {where}: {_first_words(errors)}")


def _first_words(errors: str) -> str:
    """The first line that is no warning and not the continuation of one."""
    lines = [line for line in errors.splitlines() if line.strip("* ") and line[0] != " "]
    return next((line for line in lines if "warning" not in line.lower()), "make failed")
