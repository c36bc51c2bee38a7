"""The eBPF object of a congestion control: built with the programs, committed, or compiled here."""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...contract.control import ControlFile, control_sources
from ...contract.errors import ConfigError, HostError
from ...store.staging import Staging, remove_stale
from ..kernels.cache import file_digest, kernel_cache
from ..paths import BPF_COMPILER, BUILT_CONTROLS, CONTROLS
from ..process import command

OBJECT = ".bpf.o"
PACKAGES = "`apt install clang llvm libbpf-dev`"
COMPILE_TIMEOUT_S = 120.0
OLDEST_CLANG, NEWEST_CLANG = 14, 30


@dataclass(frozen=True)
class ControlObject:
    """A control as eBPF.

    Attributes:
        name: The control's.
        path: The object file.
        digest: SHA-256 of it, in hexadecimal.
        made_by: Where it came from, for the record.
    """

    name: str
    path: Path
    digest: str
    made_by: str


def is_shipped(control: ControlFile) -> bool:
    """Whether a control is one of hosts/cc."""
    return control.source.resolve().parent == CONTROLS.resolve()


def object_of(control: ControlFile) -> ControlObject:
    """The object of a control; one of the user's own is compiled where the cache has none.

    Raises:
        ConfigError: It does not compile; the compiler's words.
        HostError: There is no compiler, or the object of a shipped one is not of its sources.
    """
    path, made_by = _shipped(control) if is_shipped(control) else _compiled(control)
    return ControlObject(control.name, path, file_digest(path), made_by)


def require_object_at_hand(control: ControlFile) -> None:
    """Raise HostError where `object_of` would; compiles nothing."""
    if is_shipped(control):
        _shipped(control)
    else:
        require_clang()


def _shipped(control: ControlFile) -> tuple[Path, str]:
    """What meson built of a shipped control's sources as they are, or else what is committed."""
    built = BUILT_CONTROLS / f"{control.name}{OBJECT}"
    if built.is_file() and built.stat().st_mtime >= _last_change(control):
        return built, "built by meson"
    committed = CONTROLS / "objects" / f"{control.name}{OBJECT}"
    if not committed.is_file():
        raise HostError(
            f"{control.name}: has no eBPF object here; {PACKAGES}, then `make build`, makes it"
        )
    if committed_digests(committed.parent).get(control.name) != control.digest:
        raise HostError(
            f"{committed}: is not of {control.source.name} as it is now; {PACKAGES}, then "
            "`make build`, makes it again"
        )
    return committed, "committed"


def committed_digests(folder: Path) -> dict[str, str]:
    """The digests of the sources that the objects in a folder were made of, by control."""
    try:
        content = json.loads((folder / "digests.json").read_text())
    except (OSError, ValueError):
        return {}
    return {str(name): str(digest) for name, digest in content.items()}


def _last_change(control: ControlFile) -> float:
    files = control_sources(control.source, CONTROLS).values()
    return max(file.stat().st_mtime for file in files)


def _compiled(control: ControlFile) -> tuple[Path, str]:
    """The object of the user's own control, from the cache if it is there."""
    clang = require_clang()
    version = _version(clang)
    recipe = f"{control.digest}\0{version}\0{BPF_COMPILER.read_text()}"
    key = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    place = control_cache() / key / f"{control.name}{OBJECT}"
    for folder in control_cache().glob("*"):
        remove_stale(folder)
    if not place.is_file():
        compile_object(control, clang, place)
    return place, version


def compile_object(control: ControlFile, clang: str, place: Path) -> None:
    """Compile a control to eBPF, as a whole or not at all.

    Args:
        control: The control.
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
        run_compiler(control, [*script, str(control.source.resolve()), str(made)])
        staging.publish(made, place)


def run_compiler(control: ControlFile, args: list[str]) -> None:
    """Run a compiler; raises ConfigError with its words about the control's file."""
    done = command.attempt(args, timeout_s=COMPILE_TIMEOUT_S)
    if done.code != 0:
        raise ConfigError(f"{control.source}: does not compile\n{_words(done.err)}")


def _words(text: str, most: int = 20) -> str:
    """What a compiler says, as far as a person reads."""
    lines = [line for line in text.splitlines() if line.strip()]
    more = [f"({len(lines) - most} more lines)"] if len(lines) > most else []
    return "\n".join([*lines[:most], *more])


def control_cache() -> Path:
    """The folder with compiled controls of users' own."""
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
        raise HostError(f"clang is not installed, and a control of your own needs it; {PACKAGES}")
    return clang


@cache
def _version(clang: str) -> str:
    return command.run([clang, "--version"]).out.splitlines()[0].strip()
