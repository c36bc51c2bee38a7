"""Programs that are strategies, as this machine has them."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from ...config.programs import SHIPPED
from ...contract.errors import ConfigError, HostError, PrerequisiteError
from ...contract.program import FlowProgram, filled
from ...contract.scenario import Scenario
from ...store.checksums import file_digest
from . import command

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
"""Where they are looked for, whatever the user's own PATH is."""
INSTALLED: Final[Mapping[str, str]] = {
    "key": str(SHIPPED / "key.pem"),
    "certificate": str(SHIPPED / "certificate.pem"),
    "python": sys.executable,
    "programs": str(SHIPPED),
}
"""Places that are the same in every trial, and what is there."""
LOADED = re.compile(r"^\s+(?:\S+ => )?(/\S+) \(0x", re.MULTILINE)
"""A library in what ldd prints; the kernel's own, which is no file, has no path."""
ELF = b"\x7fELF"


def which(program: str) -> Path:
    """The path of a program that is a strategy; raises PrerequisiteError where there is none."""
    found = shutil.which(program, path=PATH)
    if found is None:
        raise PrerequisiteError(f"{program}: not found in {PATH}; install it")
    return Path(found)


def require_programs(scenario: Scenario, where: str) -> None:
    """Refuse strategies that are programs which cannot run here.

    Args:
        where: The scenario's file, for messages.

    Raises:
        ConfigError: Something else of the scenario is in the way.
        PrerequisiteError: A program is missing; one line for each.
    """
    if not scenario.programs:
        return
    if scenario.telemetry.postcards != "all":
        raise ConfigError(f"{where}: telemetry.postcards: write all, which programs need")
    problems = []
    for strategy, program in _programs(scenario):
        try:
            version_of(program)
        except PrerequisiteError as error:
            problems.append(f"{where}: strategies: {strategy}: {error.message}")
    if problems:
        raise PrerequisiteError("\n".join(dict.fromkeys(problems)))


def strategy_programs(scenario: Scenario) -> dict[str, str]:
    """Programs that are strategies, with the libraries that they load: file's name -> SHA-256."""
    paths = [path for _, program in _programs(scenario) for path in _files_of(program)]
    return {path.name: file_digest(path) for path in dict.fromkeys(paths)}


def versions(scenario: Scenario) -> dict[str, str]:
    """What each strategy that is a program says of its version; empty text: nothing."""
    return {strategy: version_of(program) for strategy, program in _programs(scenario)}


def _programs(scenario: Scenario) -> Iterator[tuple[str, FlowProgram]]:
    for name, strategy in scenario.programs.items():
        if strategy.program is not None:
            yield name, strategy.program


def _files_of(program: FlowProgram) -> Iterator[Path]:
    """The programs of both commands, files that they name, and the libraries that they load."""
    for first, *rest in (filled(words, INSTALLED) for words in (program.server, program.client)):
        path = which(first)
        yield path
        yield from (Path(word) for word in rest if word.startswith("/") and Path(word).is_file())
        with path.open("rb") as stream:
            if stream.read(len(ELF)) == ELF:
                yield from map(Path, _loaded_by(path))


def _loaded_by(program: Path) -> list[str]:
    try:
        return loaded_by(program)
    except HostError:  # it is linked statically
        return []


def version_of(program: FlowProgram) -> str:
    """What a program says of its version; empty: nothing.

    Raises:
        PrerequisiteError: It cannot run here: a command is missing, or cannot say its version.
    """
    for first in (program.server[0], program.client[0]):
        which(*filled((first,), INSTALLED))
    if not program.version:
        return ""
    first, *rest = filled(program.version, INSTALLED)
    try:
        said = command.run([str(which(first)), *rest]).out
    except HostError as error:
        raise PrerequisiteError(error.message) from error
    return " ".join(said.split("\n", 1)[0].split())


def loaded_by(program: Path) -> list[str]:
    """Paths of the libraries that a program loads, those of its libraries included."""
    return LOADED.findall(command.run(["ldd", str(program)]).out)
