"""Whether a Dask scheduler answers at an address, and if not, why: asked before Dask is.

Dask tries again until its time is over and then says only that it is. So one connection is made by
hand first. A scheduler speaks first (it says which Dask it is), which also shows that it has
accepted our certificate: with TLS 1.3 a refusal arrives only when something is read.
"""

from __future__ import annotations

import socket
import ssl

from ..contract.cluster import ClusterTls
from ..contract.errors import HostError
from .security import host_and_port, tls_context

ANSWER_S = 5.0
"""How long a scheduler may take to answer: a thousand times what one across the world needs."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
_STRICT = range(80, 94)
"""OpenSSL's codes for what X509_V_FLAG_X509_STRICT alone refuses, after RFC 5280."""


class NobodyThereError(HostError):
    """No program listens at an address, or no host is there; this may change."""


def reach(address: str, tls: ClusterTls | None, answer_s: float = ANSWER_S) -> str:
    """Make one connection to a scheduler and wait for its first words.

    Args:
        address: tcp://HOST:PORT or tls://HOST:PORT.
        tls: Our certificates, with a tls:// address.
        answer_s: How long to wait for each step, in seconds.

    Returns:
        The address of this machine on the way there.

    Raises:
        NobodyThereError: Nobody is there.
        HostError: Who is there is not a scheduler that accepts us.
    """
    try:
        plain = socket.create_connection(host_and_port(address), timeout=answer_s)
    except OSError as error:
        raise _not_there(address, error, answer_s) from error
    with plain:
        here = str(plain.getsockname()[0])
        try:
            words = _first_words(plain, tls)
        except ssl.SSLCertVerificationError as error:
            raise HostError(f"{address}: {_not_believed(error, tls)}") from error
        except ssl.SSLError as error:
            raise HostError(f"{address}: {_tls_problem(error, tls)}") from error
        except TimeoutError as error:
            raise HostError(f"{address}: {_silence(tls)}") from error
        except OSError as error:
            raise HostError(f"{address}: {_closed(tls)}") from error
    if not words:
        raise HostError(f"{address}: {_closed(tls)}")
    return here


def _first_words(plain: socket.socket, tls: ClusterTls | None) -> bytes:
    if tls is None:
        return plain.recv(1)
    with tls_context(tls).wrap_socket(plain) as encrypted:
        return encrypted.recv(1)


def _not_there(address: str, error: OSError, answer_s: float) -> HostError:
    if isinstance(error, socket.gaierror):
        return NobodyThereError(f"{address}: there is no host of that name; check it")
    if isinstance(error, TimeoutError):
        why = f"no answer in {answer_s:g} s; is it the right address, and does a firewall let us?"
    elif isinstance(error, ConnectionRefusedError):
        why = "nobody listens there; start a scheduler (`nashbed scheduler --help`), or correct it"
    else:
        why = f"cannot be reached: {error.strerror}"
    return NobodyThereError(f"{address}: {why}")


def _tls_problem(error: ssl.SSLError, tls: ClusterTls | None) -> str:
    reason = error.reason or ""
    if reason in _NO_TLS:
        return "speaks no TLS; write tcp:// if that is meant, or start it with certificates"
    if "ALERT" in reason:
        return _refused(tls)
    return f"TLS failed: {reason.lower().replace('_', ' ') or error.strerror}"


def _not_believed(error: ssl.SSLCertVerificationError, tls: ClusterTls | None) -> str:
    if error.verify_code in _STRICT:
        return (
            f"its certificate, or {_name(tls)}, lacks what Python 3.13 asks for "
            f"({error.verify_message}); make them as configs/clusters/README.md says"
        )
    return (
        f"its certificate is not one that {_name(tls)} signed "
        f"({error.verify_message}); give both sides certificates of the same authority"
    )


def _refused(tls: ClusterTls | None) -> str:
    return (
        f"did not accept our certificate {tls.certificate if tls else ''}; it takes only those "
        "that its own authority signed and whose time is not over"
    )


def _closed(tls: ClusterTls | None) -> str:
    if tls is not None:
        return _refused(tls)
    return "closed the connection at once; is a Dask scheduler there?"


def _silence(tls: ClusterTls | None) -> str:
    if tls is None:
        return "somebody is there but says nothing; if the scheduler uses TLS, write tls://"
    return "somebody is there but does not answer as a Dask scheduler; check the port"


def _name(tls: ClusterTls | None) -> str:
    return tls.ca if tls is not None else "our authority"
