"""The eBPF object of a CCA: built with the programs, committed, or compiled here."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...contract.c_files import c_sources
from ...contract.cca import CcaFile
from ...contract.errors import HostError
from ...store.checksums import file_digest, is_as_listed
from ...store.staging import Staging, remove_stale
from ..kernels.cache import kernel_cache
from ..paths import BPF_COMPILER, BUILT_CCAS, CCA_FOLDER
from ..process.compiler import compiler_version, run_compiler

OBJECT = ".bpf.o"
PACKAGES = "`apt install clang llvm libbpf-dev`"
OLDEST_CLANG, NEWEST_CLANG = 14, 30


@dataclass(frozen=True)
class CcaObject:
    """A CCA as eBPF.

    Attributes:
        name: The CCA's.
        path: The object file.
        digest: SHA-256 of it, in hexadecimal.
        made_by: Where it came from, for the record.
    """

    name: str
    path: Path
    digest: str
    made_by: str


def is_shipped(cca: CcaFile) -> bool:
    """Whether a CCA is one of hosts/cc."""
    return cca.source.resolve().parent == CCA_FOLDER.resolve()


def object_of(cca: CcaFile) -> CcaObject:
    """The object of a CCA; one of the user's own is compiled where the cache has none.

    Raises:
        ConfigError: It does not compile; the compiler's words.
        HostError: There is no compiler, or the object of a shipped one is not of its sources.
    """
    path, made_by = _shipped(cca) if is_shipped(cca) else _compiled(cca)
    return CcaObject(cca.name, path, file_digest(path), made_by)


def require_object_at_hand(cca: CcaFile) -> None:
    """Raise HostError where `object_of` would; compiles nothing."""
    if is_shipped(cca):
        _shipped(cca)
    else:
        require_clang()


def _shipped(cca: CcaFile) -> tuple[Path, str]:
    """What meson built of a shipped CCA's sources as they are, or else what is committed."""
    built = BUILT_CCAS / f"{cca.name}{OBJECT}"
    if built.is_file() and built.stat().st_mtime >= _last_change(cca):
        return built, "built by meson"
    committed = CCA_FOLDER / "objects" / f"{cca.name}{OBJECT}"
    if not committed.is_file():
        raise HostError(
            f"{cca.name}: has no eBPF object here; {PACKAGES}, then `make build`, makes it"
        )
    if committed_digests(committed.parent).get(cca.name) != cca.digest:
        raise HostError(
            f"{committed}: is not of {cca.source.name} as it is now; {PACKAGES}, then "
            "`make build`, makes it again"
        )
    return committed, "committed"


def committed_digests(folder: Path) -> dict[str, str]:
    """The digests of the sources that the objects in a folder were made of, by CCA."""
    try:
        content = json.loads((folder / "digests.json").read_text())
    except (OSError, ValueError):
        return {}
    return {str(name): str(digest) for name, digest in content.items()}


def _last_change(cca: CcaFile) -> float:
    files = c_sources(cca.source, CCA_FOLDER).values()
    return max(file.stat().st_mtime for file in files)


def _compiled(cca: CcaFile) -> tuple[Path, str]:
    """The object of the user's own CCA, from the cache if it is there."""
    clang = require_clang()
    version = compiler_version(clang)
    recipe = f"{cca.digest}\0{version}\0{BPF_COMPILER.read_text()}"
    key = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    place = cca_cache() / key / f"{cca.name}{OBJECT}"
    for folder in cca_cache().glob("*"):
        remove_stale(folder)
    if not is_as_listed(place):
        compile_object(cca, clang, place)
    return place, version


def compile_object(cca: CcaFile, clang: str, place: Path) -> None:
    """Compile a CCA to eBPF, as a whole or not at all.

    Args:
        cca: The CCA.
        clang: The compiler.
        place: The object file.

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
        script = [sys.executable, str(BPF_COMPILER), clang]
        run_compiler(cca.source, [*script, str(cca.source.resolve()), str(made)])
        staging.publish_listed(made, place)


def cca_cache() -> Path:
    """The folder with compiled CCAs of users' own."""
    return kernel_cache().with_name("controls")


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
