"""Standard input, output and error as every command finds them: open, and never in its way.

A command's results are files and its exit code. What it says of them may be lost with a full disk,
a closed pipe or a terminal that is gone, and that must not end a run.
"""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO, TextIO, cast


class Stream(io.FileIO):
    """A standard descriptor: what cannot be written is dropped, and why is kept.

    Attributes:
        problem: Why something was dropped; None: nothing was.
    """

    problem: OSError | None = None

    def write(self, data: object) -> int:
        """Write all of it, or drop it."""
        rest = memoryview(data)  # type: ignore[arg-type]
        size = rest.nbytes
        try:
            while rest:
                rest = rest[super().write(rest) :]
        except OSError as error:
            self.problem = self.problem or error
        return size


def open_streams() -> Stream:
    """Make sure of the three descriptors; returns standard output's.

    Closed ones lead to /dev/null, before a file of ours gets their number. Characters that a
    stream's encoding lacks are written as escapes.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a descriptor
    output = Stream(1, "w", closefd=False)
    sys.stdout = _text(output, sys.stdout, output.isatty())
    sys.stderr = _text(Stream(2, "w", closefd=False), sys.stderr, True)
    return output


def _text(stream: Stream, before: TextIO | None, by_line: bool) -> TextIO:
    """A stream for text, in the encoding of the one that Python opened.

    No buffer is between the two: where a signal raises as the descriptor's write returns, it would
    write the same again at the end.
    """
    if before is not None:
        before.flush()
    text = io.TextIOWrapper(
        cast(BinaryIO, stream),
        encoding=before.encoding if before is not None else "utf-8",
        errors="backslashreplace",
        line_buffering=by_line,
    )
    return cast(TextIO, text)
