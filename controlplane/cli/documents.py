"""Tables that commands write into documents, between markers which stay where they are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..contract.errors import ConfigError, HostError

MakeTable = Callable[[re.Match[str]], str]
"""The lines of a table, by what its first marker says."""


@dataclass(frozen=True)
class Markers:
    """Lines, comments in Markdown, that a table stands between.

    Attributes:
        begin: The first one, a regular expression.
        end: The last one.
    """

    begin: str
    end: str


def filled(text: str, markers: Markers, make_table: MakeTable) -> str:
    """A document with its tables made anew."""
    pattern = rf"^({markers.begin})\n.*?^({re.escape(markers.end)})$"

    def replaced(found: re.Match[str]) -> str:
        return f"{found[1]}\n{make_table(found).strip()}\n{markers.end}"

    return re.sub(pattern, replaced, text, flags=re.DOTALL | re.MULTILINE)


def write_tables(path: Path, markers: Markers, make_table: MakeTable) -> None:
    """Make the tables of a document anew.

    Raises:
        ConfigError: The document has no such markers.
        HostError: It cannot be read or written.
    """
    made = []

    def counted(found: re.Match[str]) -> str:
        made.append(found)
        return make_table(found)

    try:
        text = filled(path.read_text(encoding="utf-8"), markers, counted)
        if not made:
            raise ConfigError(
                f"{path}: has no lines like {markers.begin!r} and {markers.end!r}; add them where "
                "the table belongs"
            )
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise HostError(f"{path}: {error.strerror}") from error
