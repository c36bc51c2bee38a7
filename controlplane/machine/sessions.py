"""Sessions on this machine, in real or in virtual time: what they need, and how they are made."""

from collections.abc import Sequence
from pathlib import Path

from ..contract.c_files import CFile
from ..contract.testbed import Testbed
from .guest.kernel import check_guests
from .guest.session import GuestSession
from .host import preflight
from .host.local_session import LocalSession
from .host.session import Session, SessionRequest


def local_session(request: SessionRequest) -> Session:
    """Make the session that a testbed asks for: in virtual time, or with namespaces as hosts."""
    if request.testbed.is_virtual:
        return GuestSession(request)
    return LocalSession(request)


def check_host(
    testbed: Testbed, folder: Path, needed_bytes: int, ccas: Sequence[CFile] = ()
) -> None:
    """Check everything that a run needs of the machine, before its run directory is made.

    Args:
        needed_bytes: How much it may write.
        ccas: CCAs that the hosts' kernel does not have.

    Raises:
        ConfigError: A CCA of the user's own does not compile.
        HostError: Something is missing; the message says what to do.
    """
    if testbed.is_virtual:
        check_guests(testbed)
    else:
        preflight.check_real_time(testbed, ccas)
    preflight.require_disk(folder, needed_bytes)
