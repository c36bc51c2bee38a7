"""An error of a trial on its way from a worker to the client: as a name and words, and back."""

from __future__ import annotations

from ..contract.errors import (
    ConfigError,
    HostError,
    InternalError,
    NashbedError,
    TargetError,
    is_repeatable,
)
from ..store.errors import DiskFullError
from .request import Failure

_CLASSES: dict[str, type[NashbedError]] = {
    each.__name__: each
    for each in (ConfigError, DiskFullError, HostError, InternalError, TargetError)
}
"""What the client tells apart: what dismisses a worker, and what is an exit code of its own."""


def failure_of(error: Exception, words: str) -> Failure:
    """An error as it travels: by the nearest of its classes that the client knows.

    Args:
        error: The error.
        words: What is said of it.
    """
    kinds = (each.__name__ for each in type(error).__mro__ if each.__name__ in _CLASSES)
    kind = next(kinds, InternalError.__name__)
    return Failure(kind=kind, message=words, repeatable=is_repeatable(error))


def error_of(failure: Failure) -> NashbedError:
    """The error that a failure stands for.

    Args:
        failure: What came.
    """
    kind = _CLASSES.get(failure.kind, InternalError)
    return kind(failure.message, repeatable=failure.repeatable)
