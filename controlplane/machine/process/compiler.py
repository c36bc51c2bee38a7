"""Compilers: which C compiler there is, and what one says of a user's file."""

import shutil
from functools import cache
from pathlib import Path

from ...contract.errors import ConfigError, HostError
from . import command

COMPILERS = ("cc", "gcc", "clang")
TIMEOUT_S = 120.0
MOST_LINES = 20


@cache
def c_compiler() -> str:
    """The C compiler on PATH; raises HostError where there is none."""
    compiler = next((found for name in COMPILERS if (found := shutil.which(name))), None)
    if compiler is None:
        raise HostError("no C compiler: install gcc or clang (in a checkout: `make setup`)")
    return compiler


@cache
def compiler_version(compiler: str) -> str:
    """What a compiler says it is."""
    return command.run([compiler, "--version"]).out.splitlines()[0].strip()


def run_compiler(source: Path, args: list[str]) -> None:
    """Run a compiler.

    Raises:
        ConfigError: The file does not compile; the compiler's words.
    """
    done = command.attempt(args, timeout_s=TIMEOUT_S)
    if done.code != 0:
        raise ConfigError(f"{source}: does not compile\n{_words(done.err)}")


def _words(text: str) -> str:
    """What a compiler says, as far as a person reads."""
    lines = [line for line in text.splitlines() if line.strip()]
    more = [f"({len(lines) - MOST_LINES} more lines)"] if len(lines) > MOST_LINES else []
    return "\n".join([*lines[:MOST_LINES], *more])
