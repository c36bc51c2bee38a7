"""A nashbed command in a process of its own, whose lines a test reads as they come."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NASHBED = Path(sys.executable).parent / "nashbed"
STOPPING_S = 20.0
"""How long a command may take to stop before it is killed."""


class Command:
    """A running command."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def line_with(self, words: str) -> str:
        """Read lines until one has these words; fails when the command ends before."""
        assert self.process.stdout is not None
        seen = []
        for line in self.process.stdout:
            if words in line:
                return line
            seen.append(line)
        raise AssertionError(f"no line with {words!r} but {seen}")

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal and wait; returns the exit code and what was still said."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=60)
        return self.process.returncode, rest


@contextmanager
def command(*args: str) -> Iterator[Command]:
    """Start `nashbed ARGS`; it is stopped at the end, and leaves nothing."""
    with subprocess.Popen(
        [NASHBED, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield Command(process)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=STOPPING_S)
            except subprocess.TimeoutExpired:
                process.kill()
