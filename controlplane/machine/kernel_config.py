"""A kernel's configuration: our fragment of it, and what became of it. Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE = re.compile(
    r"(?P<symbol>CONFIG_\w+)=(?P<value>\S+)"
    r"(?:\s+#\s*(?P<when>since|until) (?P<release>\d+\.\d+)\b.*|\s+#.*)?"
)


@dataclass(frozen=True)
class ConfigLine:
    """One line of the fragment.

    Attributes:
        symbol: Its name, with CONFIG_.
        value: What it is set to.
    """

    symbol: str
    value: str

    @property
    def line(self) -> str:
        """As the kernel's configuration has it."""
        return f"{self.symbol}={self.value}"


def fragment_settings(text: str, release: tuple[int, int]) -> list[ConfigLine]:
    """The settings of a fragment for a release.

    Args:
        text: The fragment: `CONFIG_X=y`, with `# since 6.2` or `# until 6.1` behind it where
            other releases do not have it.
        release: The first two numbers of the release.

    Raises:
        ValueError: A line is none of these; the message has its number.
    """
    settings = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"line {number}: not a setting: {line.strip()}")
        if _applies(match["when"], match["release"], release):
            settings.append(ConfigLine(match["symbol"], match["value"]))
    return settings


def _applies(when: str | None, bound: str | None, release: tuple[int, int]) -> bool:
    if when is None or bound is None:
        return True
    major, minor = (int(number) for number in bound.split("."))
    return release >= (major, minor) if when == "since" else release <= (major, minor)


def not_in_effect(settings: list[ConfigLine], configuration: str) -> list[ConfigLine]:
    """The settings that a kernel's finished configuration (.config) does not have."""
    lines = set(configuration.splitlines())
    return [setting for setting in settings if setting.line not in lines]


def compiler_of(configuration: str) -> str:
    """The compiler that a finished configuration was made for."""
    match = re.search(r'(?m)^CONFIG_CC_VERSION_TEXT="(.*)"$', configuration)
    return match[1] if match else "unknown"
