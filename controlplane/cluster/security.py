"""Who may talk to whom, and whether a scheduler answers; asked before Dask is.

Whoever reaches a Dask scheduler or worker can run programs as its user. So connections are
encrypted and both sides show a certificate (Dask's own TLS; `credentials`), or, if the user says so
by name, they stay on a network of private addresses.

Dask tries to connect until its time is over and then says only that it is. So `reach` makes one
connection by hand first. A scheduler speaks first (it says which Dask it is), which also shows that
it has accepted our certificate: with TLS 1.3 a refusal arrives only when something is read.

Every process of ours that talks to others by TLS is guarded against an error of CPython's
(`guard_tls`); Dask's schedulers and nannies elsewhere import this module first (`preload`).
"""

import ipaddress
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ..contract.cluster import ClusterTls
from ..contract.errors import ConfigError, HostError

LOG = logging.getLogger(__name__)
Done = TypeVar("Done")
IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
REMEDY = "use TLS (docs/how-to/clusters.md says how)"
NO_SUCH_HOST = "there is no host of that name; check how it is written"
ANSWER_S = 5.0
"""How long a scheduler may take to answer: a thousand times what one across the world needs."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG")
_STRICT = range(80, 94)
"""OpenSSL's codes for what X509_V_FLAG_X509_STRICT alone refuses, after RFC 5280."""


def host_and_port(address: str) -> tuple[str, int]:
    """Host and port of an address tcp://HOST:PORT or tls://HOST:PORT."""
    parts = urlsplit(address)
    assert parts.hostname is not None and parts.port is not None, address
    return parts.hostname, parts.port


def check_address(address: str, private_network: bool) -> None:
    """Refuse an address that others could reach or pretend to be.

    Args:
        address: tls://HOST:PORT, which is always allowed, or tcp://HOST:PORT.

    Raises:
        ConfigError: It is neither encrypted nor an address of this machine or a private network.
        HostError: There is no such host.
    """
    if not address.startswith("tls://"):
        check_host(host_and_port(address)[0], private_network)


def check_host(host: str, private_network: bool) -> list[str]:
    """Refuse a host that may not be talked to without TLS.

    Returns:
        Its addresses.

    Raises:
        ConfigError: One of its addresses is not allowed; the message names the remedy.
        HostError: There is no such host.
    """
    found = resolve(host)
    for address in found:
        problem = _problem(ipaddress.ip_address(address), private_network)
        if problem:
            named = host if host == address else f"{host} ({address})"
            raise ConfigError(f"{named}: {problem}")
    return found


def _problem(address: IpAddress, private_network: bool) -> str:
    if address.is_loopback:
        return ""
    if address.is_unspecified:
        return f"means every network of this machine; name one address, or {REMEDY}"
    if not address.is_private:
        return f"is a public address, and without TLS everybody could run programs there; {REMEDY}"
    if not private_network:
        return (
            f"is not this machine; {REMEDY}, or say that nobody else is on this private network "
            "(private_network: true in the cluster file, or --private-network)"
        )
    return ""


def is_loopback(address: str) -> bool:
    """Whether all of an address's hosts are this machine.

    Raises:
        HostError: There is no such host.
    """
    hosts = resolve(host_and_port(address)[0])
    return all(ipaddress.ip_address(host).is_loopback for host in hosts)


def resolve(host: str) -> list[str]:
    """The addresses of a host.

    Raises:
        HostError: There is no such host.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise HostError(f"{host}: {NO_SUCH_HOST}") from error
    return list(dict.fromkeys(str(info[4][0]).partition("%")[0] for info in found))


def tls_context(tls: ClusterTls) -> ssl.SSLContext:
    """How we connect, as Dask does it: any host is right that shows a certificate of our authority.

    Args:
        tls: Certificates that `certificates` has checked.
    """
    context = ssl.create_default_context(cafile=tls.ca)
    context.check_hostname = False
    context.load_cert_chain(tls.certificate, tls.key)
    return context


def dask_setup(server: Any) -> None:
    """Guard a scheduler or a nanny that Dask starts."""
    guard_tls()
    close_http(server)


def close_http(server: Any) -> None:
    """End the web server of Dask's scheduler or worker, which tells every user what they do.

    Args:
        server: Any part of a cluster; a nanny has no web server, nor has one that is elsewhere.
    """
    http = getattr(server, "http_server", None)
    if http is not None:
        http.stop()


def guard_tls() -> None:
    """Have every TLS connection that this process makes from now on be an `UnmixedSocket`."""
    ssl.SSLContext.sslsocket_class = UnmixedSocket


class UnmixedSocket(ssl.SSLSocket):
    """A TLS socket that the end of another connection of its thread does not end.

    OpenSSL keeps errors in a queue of each thread, and CPython judges a call by it without having
    cleared it first (https://github.com/python/cpython/issues/148594). On Debian 13 (Python 3.13,
    OpenSSL 3.5) a nanny that closes its connection early leaves an error there: every third cluster
    with TLS lost its client as soon as its nannies had registered. So what fails, or reads an end,
    is tried again with an empty queue, and then tells of this connection.
    """

    def read(self, len: int = 1024, buffer: Any = None) -> bytes:
        """Read, as SSLSocket does, which makes of another's early end an end of ours: 0 bytes."""
        return _twice(partial(super().read, len, buffer))

    def send(self, data: Any, flags: int = 0) -> int:
        """Send, as SSLSocket does."""
        return _twice(partial(super().send, data, flags))

    def do_handshake(self, block: bool = False) -> None:
        """Shake hands, as SSLSocket does; a handshake that fails cannot be tried again."""
        _forget_errors()
        super().do_handshake(block)


def _twice(do: Callable[[], Done]) -> Done:
    """Do it again if it fails or gives nothing."""
    try:
        if done := do():
            return done
    except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
        raise
    except OSError as error:
        LOG.debug("tried again: %r", error)
    _forget_errors()
    return do()


_NO_CIPHER = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _forget_errors() -> None:
    """Clear OpenSSL's queue of errors: a list of ciphers that is refused does, on any Python."""
    with suppress(ssl.SSLError):
        _NO_CIPHER.set_ciphers("none")


class UnreachableError(HostError):
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
        UnreachableError: Nobody is there.
        HostError: Who is there is not a scheduler that accepts us.
    """
    try:
        plain = socket.create_connection(host_and_port(address), timeout=answer_s)
    except OSError as error:
        raise UnreachableError(f"{address}: {_not_there(error, answer_s)}") from error
    with plain:
        here = str(plain.getsockname()[0])
        try:
            words = _first_words(plain, tls)
        except OSError as error:
            raise HostError(f"{address}: {_no_words(error, tls)}") from error
    if not words:
        raise HostError(f"{address}: {_closed(tls)}")
    return here


def _first_words(plain: socket.socket, tls: ClusterTls | None) -> bytes:
    if tls is None:
        return plain.recv(1)
    with tls_context(tls).wrap_socket(plain) as encrypted:
        return encrypted.recv(1)


def _not_there(error: OSError, answer_s: float) -> str:
    if isinstance(error, socket.gaierror):
        return NO_SUCH_HOST
    if isinstance(error, TimeoutError):
        return f"no answer in {answer_s:g} s; is it the right address, and does a firewall let us?"
    if isinstance(error, ConnectionRefusedError):
        return "nobody listens there; start a scheduler (`nashbed scheduler --help`), or correct it"
    return f"cannot be reached: {error.strerror}"


def _no_words(error: OSError, tls: ClusterTls | None) -> str:
    """Why who is there did not speak as a scheduler that accepts us does."""
    if isinstance(error, TimeoutError):
        if tls is None:
            return "somebody is there but says nothing; if the scheduler uses TLS, write tls://"
        return "somebody is there but does not answer as a Dask scheduler; check the port"
    if tls is not None and isinstance(error, ssl.SSLCertVerificationError):
        return _not_believed(error, tls)
    reason = (error.reason or "") if isinstance(error, ssl.SSLError) else "ALERT"
    if reason in _NO_TLS:
        return "speaks no TLS; write tcp:// if that is meant, or start it with certificates"
    if "ALERT" in reason:
        return _closed(tls)
    return f"TLS failed: {reason.lower().replace('_', ' ') or error.strerror}"


def _not_believed(error: ssl.SSLCertVerificationError, tls: ClusterTls) -> str:
    if error.verify_code in _STRICT:
        return (
            f"its certificate, or {tls.ca}, lacks what Python 3.13 asks for "
            f"({error.verify_message}); make them as docs/how-to/clusters.md says"
        )
    return (
        f"its certificate is not one that {tls.ca} signed ({error.verify_message}); give both "
        "sides certificates of the same authority"
    )


def _closed(tls: ClusterTls | None) -> str:
    """An end without a word, or with an alert of TLS."""
    if tls is None:
        return "closed the connection at once; is a Dask scheduler there?"
    return (
        f"did not accept our certificate {tls.certificate}; it takes only those that its own "
        "authority signed and whose time is not over"
    )
