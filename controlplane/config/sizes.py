"""Files of sizes, read: the sizes of transfers, one on each line."""

import re
from pathlib import Path

from ..contract.traffic import MOST_SIZES, ListedSizes, check_size
from ..contract.units import Size

HEADER = "size_bytes"
_BETWEEN_COLUMNS = re.compile(r"[\s,;]+")


def read_sizes(path: Path) -> ListedSizes:
    """The sizes in a file: one on each line, in bytes or with a unit.

    Args:
        path: The file; its first line may be `size_bytes`.

    Raises:
        ValueError: It is empty, or has something else than sizes; with the line that is wrong.
    """
    lines = [(n, text.strip()) for n, text in enumerate(path.read_text("utf-8").splitlines(), 1)]
    filled = [(n, text) for n, text in lines if text and not (n == 1 and text == HEADER)]
    if not 1 <= len(filled) <= MOST_SIZES:
        raise ValueError(f"has {len(filled)} sizes; write 1 to {MOST_SIZES}, one a line")
    return ListedSizes(one_of=tuple(_size(text, f"line {n}") for n, text in filled))


def _size(text: str, where: str) -> Size:
    columns = len(_BETWEEN_COLUMNS.split(text)) if not text[-1].isalpha() else 1
    if columns > 1:
        raise ValueError(
            f"{where}: {text!r} has {columns} columns; write one size on each line (of a "
            "distribution with shares, each size as often as its share says)"
        )
    try:
        size = Size.parse(f"{text}B" if text.isdigit() else text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from error
    check_size(size, where)
    return size
