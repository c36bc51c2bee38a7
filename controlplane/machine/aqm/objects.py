"""The shared object of a user's own discipline, which a data plane loads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ...contract.errors import HostError
from ...contract.own_discipline import OwnDiscipline
from ...store.checksums import file_digest, is_as_listed
from ...store.staging import Staging, remove_stale
from ..kernels.cache import kernel_cache
from ..paths import AQM_HEADERS
from ..process.compiler import c_compiler, compiler_version, run_compiler

SUFFIX = ".so"
FLAGS = (
    *("-std=gnu11", "-O2", "-g0", "-Wall", "-Wextra", "-Wno-unused-parameter"),
    *("-fPIC", "-fvisibility=hidden", "-shared", "-Wl,--no-undefined", "-Wl,--build-id=none"),
)
"""Nothing of where the file stands is in the object: it is the same in every folder."""


@dataclass(frozen=True)
class DisciplineObject:
    """A discipline as a data plane loads it.

    Attributes:
        path: The shared object.
        digest: SHA-256 of it, in hexadecimal.
        made_by: The compiler.
    """

    path: Path
    digest: str
    made_by: str


def discipline_object(own: OwnDiscipline) -> DisciplineObject:
    """The object of a discipline, compiled where the cache has none.

    Raises:
        ConfigError: It does not compile; the compiler's words.
        HostError: There is no compiler, or the cache cannot be written.
    """
    compiler = c_compiler()
    made_by = compiler_version(compiler)
    recipe = "\0".join((own.digest, made_by, *FLAGS))
    key = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    place = discipline_cache() / key / f"{own.name}{SUFFIX}"
    for folder in discipline_cache().glob("*"):
        remove_stale(folder)
    if not is_as_listed(place):
        compile_discipline(own, compiler, place)
    return DisciplineObject(place, file_digest(place), made_by)


def discipline_cache() -> Path:
    """The folder with compiled disciplines."""
    return kernel_cache().with_name("disciplines")


def compile_discipline(own: OwnDiscipline, compiler: str, place: Path) -> None:
    """Compile a discipline, as a whole or not at all.

    Args:
        own: The discipline.
        compiler: The compiler.
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
        source = own.source.resolve()
        where = f"-ffile-prefix-map={source.parent}=."
        command = [compiler, *FLAGS, where, f"-I{AQM_HEADERS}", str(source), "-o", str(made)]
        run_compiler(own.source, command)
        staging.publish_listed(made, place)
