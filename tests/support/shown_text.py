"""The text of a page as a browser gives it: a block ends its line, white space collapses."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

BLOCKS = (
    "body caption dd details div dl dt figcaption figure h1 h2 h3 header li main nav p section "
    "summary table tbody td th thead title tr ul"
)
EMPTY = frozenset(("br", "img", "link", "meta"))
NOT_SHOWN = frozenset(("head", "style"))


@dataclass
class Element:
    """An element of a page.

    Attributes:
        around: The elements that it is in, the outermost first.
        text: Its text: one string, with a line break where a block begins or ends.
    """

    tag: str
    classes: frozenset[str]
    around: tuple[Element, ...]
    text: str = field(default="", repr=False)

    @property
    def lines(self) -> list[str]:
        """Its lines that are not empty."""
        collapsed = (" ".join(line.split()) for line in self.text.split("\n"))
        return [line for line in collapsed if line]

    def is_in(self, name: str) -> bool:
        """Whether an element with that class is around it."""
        return any(name in each.classes for each in self.around)


class ShownPage(HTMLParser):
    """Every element of a page with its text.

    Attributes:
        elements: In the order in which they begin.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(path.read_text(encoding="utf-8"))

    def of_class(self, name: str) -> list[Element]:
        return [each for each in self.elements if name in each.classes]

    def of_tag(self, tag: str) -> list[Element]:
        return [each for each in self.elements if each.tag == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin an element."""
        if tag in EMPTY:
            return
        classes = frozenset((dict(attrs).get("class") or "").split())
        self._write("\n" if tag in BLOCKS.split() else "")
        self._open.append(Element(tag, classes, tuple(self._open)))
        self.elements.append(self._open[-1])

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        assert self._open.pop().tag == tag
        self._write("\n" if tag in BLOCKS.split() else "")

    def handle_data(self, data: str) -> None:
        """Text: breaks of the source are mere spaces."""
        if not any(each.tag in NOT_SHOWN for each in self._open):
            self._write(data.replace("\n", " "))

    def _write(self, text: str) -> None:
        for each in self._open:
            each.text += text
