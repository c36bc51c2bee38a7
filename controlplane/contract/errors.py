"""The errors a person sees, each with the exit code of its kind."""

from .shared import CONSTANTS

EXIT_OK = 0
EXIT_CONFIG = CONSTANTS.exit_config
EXIT_TARGET = CONSTANTS.exit_target
EXIT_HOST = CONSTANTS.exit_host
EXIT_INTERNAL = CONSTANTS.exit_internal
EXIT_ACCEPTANCE = 20
EXIT_INTERRUPTED = 130


class NashbedError(Exception):
    """An error with one clear line for a person.

    Attributes:
        message: One line: where, what is wrong, what to do.
        exit_code: The process exit code that this kind of error ends with.
    """

    exit_code: int = EXIT_INTERNAL

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        if exit_code is not None:
            self.exit_code = exit_code


class ConfigError(NashbedError):
    """The scenario, the testbed or an option is wrong (exit code 2)."""

    exit_code = EXIT_CONFIG


class TargetError(NashbedError):
    """The target refused, failed or cannot do what is asked (exit code 3)."""

    exit_code = EXIT_TARGET


class HostError(NashbedError):
    """The machine lacks something: root, huge pages, disk, an interface (exit code 4)."""

    exit_code = EXIT_HOST


class InternalError(NashbedError):
    """A mistake of ours (exit code 5)."""

    exit_code = EXIT_INTERNAL


class AcceptanceMissed(NashbedError):  # noqa: N818 - a finding, not a failure
    """A run finished and missed an acceptance bound of its scenario (exit code 20)."""

    exit_code = EXIT_ACCEPTANCE


class Interrupted(NashbedError):  # noqa: N818 - a wish, not a failure
    """The person asked to stop (exit code 130, as shells have it)."""

    exit_code = EXIT_INTERRUPTED
