"""How long the command line takes to start: processes of their own, from start to end."""

import sys
import time
from collections.abc import Sequence

from ..contract.benchmark import Benchmark
from ..contract.errors import EXIT_OK, InternalError
from ..machine.log import ShowStep
from ..machine.paths import CONFIGS
from ..machine.process import command

QUICKSTART = CONFIGS / "scenarios" / "quickstart.yaml"
COMMANDS = {
    "startup_help_s": (("--help",), 0.3),
    "startup_validate_s": (("validate", str(QUICKSTART)), 0.8),
}
"""Benchmark -> words after `nashbed`, and how many seconds they may take."""
SCRIPT = "from nashbed.controlplane.cli import main; main()"
"""What the installed script `nashbed` does; it need not be on PATH."""


def bench_startup(repetitions: int, show_step: ShowStep) -> tuple[Benchmark, ...]:
    """Time `--help` and `validate`, in turns; each is run once before, so that files are cached.

    Raises:
        InternalError: A command failed.
    """
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for turn in range(repetitions + 1):
        show_step("warm-up" if turn == 0 else "start-up", turn, repetitions + 1)
        for name, (words, _) in COMMANDS.items():
            taken = _seconds(words)
            if turn:
                seconds[name].append(taken)
    return tuple(
        Benchmark(
            name=name,
            unit="s",
            values=tuple(seconds[name]),
            wanted=wanted,
            sense="at most",
            detail=f"`nashbed {_told(words)}` from the start of its process to its end",
        )
        for name, (words, wanted) in COMMANDS.items()
    )


def _told(words: Sequence[str]) -> str:
    """A command's words with paths from the repository's root, wherever that is."""
    return " ".join(words).replace(f"{CONFIGS.parent}/", "")


def nashbed_command(words: Sequence[str]) -> list[str]:
    """The command line of `nashbed` with these words, run by this Python."""
    return [sys.executable, "-c", SCRIPT, *words]


def _seconds(words: tuple[str, ...]) -> float:
    begun = time.perf_counter()
    done = command.attempt(nashbed_command(words))
    taken = time.perf_counter() - begun
    if done.code != EXIT_OK:
        raise InternalError(f"`nashbed {' '.join(words)}` failed: {done.err.strip()[-200:]}")
    return taken
