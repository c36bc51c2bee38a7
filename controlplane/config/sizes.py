"""Files of sizes: what is in them takes their place in a scenario, so that a run needs no file."""

from __future__ import annotations

import re
from pathlib import Path

from ..contract.errors import ConfigError
from ..contract.traffic import MOST_SIZES, check_size
from ..contract.units import Size

_FILE = re.compile(r"(?m)^(?P<before>[^#\n]*\bsize: *)\{ *file: *(?P<file>[^}\s]+) *\}")
HEADER = "size_bytes"


def with_sizes(text: str, name: str) -> str:
    """A scenario's text with the sizes in place of `size: {file: sizes.csv}`.

    Args:
        text: The text.
        name: Its file, which the others are relative to.

    Raises:
        ConfigError: A file cannot be read, is empty, or has something else than sizes.
    """

    def listed(match: re.Match[str]) -> str:
        sizes = read_sizes(Path(name).parent / match["file"], name)
        return f"{match['before']}{{one_of: [{', '.join(f'{size}B' for size in sizes)}]}}"

    return _FILE.sub(listed, text)


def read_sizes(path: Path, scenario: str) -> list[int]:
    """The sizes in a file, in bytes: one on each line, as bytes or with a unit.

    Args:
        path: The file; its first line may be `size_bytes`.
        scenario: The scenario's file, for messages.

    Raises:
        ConfigError: As of `with_sizes`.
    """
    where = f"{scenario}: size.file: {path}"
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{where}: cannot be read ({error})") from error
    if lines[:1] == [HEADER]:
        del lines[0]
    if not 1 <= len(lines) <= MOST_SIZES:
        raise ConfigError(f"{where}: has {len(lines)} sizes; write 1 to {MOST_SIZES}, one a line")
    return [_size(word, f"{where}: size {number}") for number, word in enumerate(lines, 1)]


def _size(word: str, where: str) -> int:
    try:
        size = Size.parse(f"{word}B" if word.isdigit() else word)
        check_size(size, where)
    except ValueError as error:
        text = str(error)
        raise ConfigError(text if text.startswith(where) else f"{where}: {text}") from error
    return size.bytes
