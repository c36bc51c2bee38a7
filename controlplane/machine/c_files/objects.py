"""What the kernel or a data plane loads of a C file: built, committed, or compiled into a cache."""

import hashlib
import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...contract.c_files import CFile, c_sources
from ...contract.errors import HostError
from ...store.checksums import file_digest, is_as_listed
from ...store.staging import Staging, remove_stale
from ..kernels.cache import kernel_cache
from ..paths import BPF_COMPILER, BUILT_CCAS
from ..process.compiler import c_compiler, compiler_version, run_compiler
from .kinds import CCA, DISCIPLINE, Kind, is_shipped

OBJECT, SHARED_OBJECT = ".bpf.o", ".so"
PACKAGES = "`apt install clang llvm libbpf-dev`"
OLDEST_CLANG, NEWEST_CLANG = 14, 30
C_FLAGS = (
    *("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Wno-unused-parameter"),
    *("-fPIC", "-fvisibility=hidden", "-shared"),
)
"""For a shared object, be it a discipline's or a CCA's for the simulator."""
FLAGS = (*C_FLAGS, "-Wl,--no-undefined", "-Wl,--build-id=none")
"""Nothing of where the file stands is in the object: it is the same in every folder."""


@dataclass(frozen=True)
class CObject:
    """What is loaded of a C file.

    Attributes:
        digest: SHA-256 of it, in hexadecimal.
        made_by: Where it came from, for the record.
    """

    name: str
    path: Path
    digest: str
    made_by: str


def ebpf_object(cca: CFile) -> CObject:
    """A CCA as eBPF; one of the user's own is compiled where the cache has none.

    Raises:
        ConfigError: It does not compile; the compiler's words.
        HostError: There is no compiler, or the object of a shipped one is not of its sources.
    """
    if is_shipped(cca):
        path, made_by = _shipped(cca)
        return CObject(cca.name, path, file_digest(path), made_by)
    clang, source = require_clang(), str(cca.source.resolve())
    command = [sys.executable, str(BPF_COMPILER), clang, source]
    place = object_cache(CCA) / f"{cca.name}{OBJECT}"
    return _compiled(cca, clang, [BPF_COMPILER.read_text()], command, place)


def shared_object(own: CFile) -> CObject:
    """A discipline or a policy as a data plane loads it, compiled where the cache has none.

    Raises:
        ConfigError: It does not compile; the compiler's words.
        HostError: There is no compiler, or the cache cannot be written.
    """
    compiler, source = c_compiler(), own.source.resolve()
    where = [f"-ffile-prefix-map={source.parent}=.", f"-I{DISCIPLINE.headers}"]
    command = [compiler, *FLAGS, *where, str(source), "-o"]
    place = object_cache(DISCIPLINE) / f"{own.name}{SHARED_OBJECT}"
    return _compiled(own, compiler, FLAGS, command, place)


def require_object_at_hand(cca: CFile) -> None:
    """Raise HostError where `ebpf_object` would; compiles nothing."""
    if is_shipped(cca):
        _shipped(cca)
    else:
        require_clang()


def object_cache(kind: Kind) -> Path:
    """The folder with objects that were compiled of users' own files of a kind."""
    return kernel_cache().with_name(kind.folder)


def _compiled(
    file: CFile, compiler: str, recipe: Sequence[str], command: Sequence[str], place: Path
) -> CObject:
    """The object of the user's own file, from the cache if it is there.

    It depends on the file, the compiler's version and the recipe; its path is still to be the last
    word of the command. In the cache it is not at `place` but in a folder of this version there.
    """
    version = compiler_version(compiler)
    key = hashlib.sha256("\0".join((file.digest, version, *recipe)).encode()).hexdigest()[:16]
    for folder in place.parent.glob("*"):
        remove_stale(folder)
    place = place.parent / key / place.name
    if not is_as_listed(place):
        compile_object(file, command, place)
    return CObject(file.name, place, file_digest(place), version)


def compile_object(file: CFile, command: Sequence[str], place: Path) -> None:
    """Compile a C file, as a whole or not at all, by a command whose last word is to be a path.

    Raises:
        ConfigError: It does not compile.
        HostError: The folder cannot be written.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        staging = Staging(place.parent, place.name)
    except OSError as error:
        raise HostError(f"{place.parent}: cannot be written: {error.strerror}") from error
    with staging:
        made = staging.place / place.name
        run_compiler(file.source, [*command, str(made)])
        staging.publish_listed(made, place)


def _shipped(cca: CFile) -> tuple[Path, str]:
    """What meson built of a shipped CCA's sources as they are, or else what is committed."""
    built = BUILT_CCAS / f"{cca.name}{OBJECT}"
    if built.is_file() and built.stat().st_mtime >= _last_change(cca):
        return built, "built by meson"
    committed = CCA.headers / "objects" / f"{cca.name}{OBJECT}"
    if not committed.is_file():
        raise HostError(
            f"{cca.name}: has no eBPF object here; {PACKAGES}, then `make build`, makes it"
        )
    if _committed_digests(committed.parent).get(cca.name) != cca.digest:
        raise HostError(
            f"{committed}: is not of {cca.source.name} as it is now; {PACKAGES}, then "
            "`make build`, makes it again"
        )
    return committed, "committed"


def _committed_digests(folder: Path) -> dict[str, str]:
    """The digests of the sources that the objects in a folder were made of, by CCA."""
    try:
        content = json.loads((folder / "digests.json").read_text())
    except (OSError, ValueError):
        return {}
    return {str(name): str(digest) for name, digest in content.items()}


def _last_change(cca: CFile) -> float:
    files = c_sources(cca.source, CCA.headers).values()
    return max(file.stat().st_mtime for file in files)


@cache
def find_clang() -> str | None:
    """The compiler for eBPF on PATH: `clang`, or else the newest with a number."""
    numbered = (f"clang-{number}" for number in range(NEWEST_CLANG, OLDEST_CLANG - 1, -1))
    return next((found for name in ("clang", *numbered) if (found := shutil.which(name))), None)


def require_clang() -> str:
    """The compiler for eBPF; raises HostError where there is none."""
    clang = find_clang()
    if clang is None:
        raise HostError(
            f"clang is not installed, and a congestion control of your own needs it; {PACKAGES}"
        )
    return clang
