"""An error of a trial on its way from a worker to the client: as a name and words, and back."""

from __future__ import annotations

from ..contract.errors import ConfigError, HostError, InternalError, NashbedError, TargetError
from ..machine.control_loader import ControlsLostError
from ..store.errors import DiskFullError
from .request import Failure

_CLASSES: dict[str, type[NashbedError]] = {
    each.__name__: each
    for each in (
        ConfigError, ControlsLostError, DiskFullError, HostError, InternalError, TargetError,
    )
}  # fmt: skip
"""What the client tells apart: what ends a run, what another attempt may not meet again, and what
is an exit code of its own."""


def failure_of(error: Exception, words: str) -> Failure:
    """An error as it travels: by the nearest of its classes that the client knows.

    Args:
        error: The error.
        words: What is said of it.
    """
    kinds = (each.__name__ for each in type(error).__mro__ if each.__name__ in _CLASSES)
    return Failure(kind=next(kinds, InternalError.__name__), message=words)


def error_of(failure: Failure) -> NashbedError:
    """The error that a failure stands for.

    Args:
        failure: What came.
    """
    return _CLASSES.get(failure.kind, InternalError)(failure.message)
