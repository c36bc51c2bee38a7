"""The session that a testbed asks for, on this machine."""

from __future__ import annotations

from .guest_session import GuestSession
from .session import LocalSession, Session, SessionRequest


def local_session(request: SessionRequest) -> Session:
    """A session on this machine: in virtual time, or with network namespaces as hosts."""
    if request.testbed.is_virtual:
        return GuestSession(request)
    return LocalSession(request)
