"""Quantities on the command line, with the option in every error."""

from __future__ import annotations

from typing import TypeVar

from ..contract.errors import ConfigError
from ..contract.units import Buffer, Duration, Rate

Q = TypeVar("Q", Rate, Duration, Buffer)


def quantity(kind: type[Q], option: str, text: str) -> Q:
    """Read a quantity such as `50mbit`.

    Args:
        kind: Which quantity.
        option: The option that it was given with.
        text: The text.

    Raises:
        ConfigError: The text is none; the option, and what is allowed.
    """
    try:
        return kind.parse(text)
    except ValueError as error:
        raise ConfigError(f"{option}: {error}") from error
