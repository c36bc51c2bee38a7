"""Who may be talked to without TLS, and what certificates must be."""

import _ssl
import asyncio
import ctypes
import datetime
import errno
import os
import shutil
import socket
import ssl
import stat
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import dask.config
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from distributed.security import Security
from nashbed.controlplane.cluster.credentials import (
    at_scheduler,
    certificates,
    kept,
    reached,
    warning,
)
from nashbed.controlplane.cluster.security import (
    UnreachableError,
    check_address,
    check_host,
    guard_tls,
    reach,
    tls_context,
)
from nashbed.controlplane.cluster.starting import configured_dask
from nashbed.controlplane.contract.cluster import Cluster, ClusterTls
from nashbed.controlplane.contract.errors import ConfigError, HostError
from tests.support.certificates import DAY, make_certificates
from tornado.iostream import SSLIOStream

PUBLIC = "93.184.215.14"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
@pytest.mark.parametrize("private_network", [False, True])
def test_this_machine_may_always_be_used(host: str, private_network: bool) -> None:
    assert check_host(host, private_network)


@pytest.mark.parametrize("host", ["10.1.2.3", "172.16.0.1", "192.168.1.1", "fd00::1"])
def test_a_private_network_only_if_asked_for(host: str) -> None:
    assert check_host(host, private_network=True) == [host]
    with pytest.raises(ConfigError, match=r"is not this machine; use TLS .*--private-network"):
        check_host(host, private_network=False)


@pytest.mark.parametrize("host", [PUBLIC, "2606:4700::1", "172.32.0.1"])
@pytest.mark.parametrize("private_network", [False, True])
def test_a_public_address_never(host: str, private_network: bool) -> None:
    with pytest.raises(ConfigError, match="is a public address, and without TLS everybody could"):
        check_host(host, private_network)


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_every_network_never(host: str) -> None:
    """Python counts 0.0.0.0 as private, but whoever listens there listens to everybody."""
    with pytest.raises(ConfigError, match="means every network of this machine; name one"):
        check_host(host, private_network=True)


def test_with_tls_any_address_may_be_used() -> None:
    check_address(f"tls://{PUBLIC}:8786", private_network=False)
    with pytest.raises(ConfigError):
        check_address(f"tcp://{PUBLIC}:8786", private_network=False)


def test_a_host_that_does_not_exist() -> None:
    with pytest.raises(HostError, match=r"nonesuch.invalid: there is no host of that name"):
        check_host("nonesuch.invalid", private_network=True)


def test_dask_encrypts_and_asks_for_certificates(tmp_path: Path) -> None:
    tls = make_certificates(tmp_path / "lab")
    with configured_dask(certificates(tls, "client")):
        security = Security()
    assert security.require_encryption
    for role in ("client", "scheduler", "worker"):
        config = security.get_tls_config_for_role(role)
        shown = (config["ca_file"], config["cert"], config["key"])
        assert shown == (tls.ca, tls.certificate, tls.key)
    assert not Security().require_encryption


def test_certificates_of_dasks_own_configuration(tmp_path: Path) -> None:
    tls = make_certificates(tmp_path / "lab")
    with pytest.raises(ConfigError, match="tls:// needs certificates, and there is no ca and no"):
        certificates(None, "client")
    keys = {"ca-file": tls.ca, "client": {"cert": tls.certificate, "key": tls.key}}
    with dask.config.set({"distributed.comm.tls": keys}):
        assert certificates(None, "client") == tls
        with pytest.raises(ConfigError, match="there is no certificate and no key"):
            certificates(None, "worker")


def test_files_that_are_no_certificates(tmp_path: Path) -> None:
    tls, other = make_certificates(tmp_path / "lab"), make_certificates(tmp_path / "other")
    text = tmp_path / "text"
    text.write_text("hello\n")
    wrong = {
        "tls.key: .*nonesuch: cannot be read": {"key": str(tmp_path / "nonesuch")},
        "tls.ca: .*text: is not a certificate": {"ca": str(text)},
        "me.pem|certificate.pem and .*text are not a certificate and its own": {"key": str(text)},
        "are not a certificate and its own key": {"key": other.key},
    }
    for line, change in wrong.items():
        with pytest.raises(ConfigError, match=line) as caught:
            certificates(ClusterTls(**(tls.model_dump() | change)), "client")
        assert "\n" not in caught.value.message


SHORT_S = 0.2
GUIDE = Path(__file__).resolve().parents[4] / "docs" / "how-to" / "clusters.md"


@contextmanager
def listener(words: bytes | None, tls: ClusterTls | None = None) -> Iterator[str]:
    """Accepts one connection and says something, or (None) nothing until the other side leaves."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            try:
                with connection if tls is None else _encrypted(connection, tls) as talk:
                    if words is None:
                        talk.recv(1000)
                    else:
                        talk.sendall(words)
            except OSError:
                connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"{'tcp' if tls is None else 'tls'}://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def _encrypted(connection: socket.socket, tls: ClusterTls) -> ssl.SSLSocket:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tls.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(tls.certificate, tls.key)
    return context.wrap_socket(connection, server_side=True)


def refusal(address: str, tls: ClusterTls | None = None, answer_s: float = 5) -> str:
    with pytest.raises(HostError) as caught:
        reach(address, tls, answer_s)
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith(f"{address}: ")
    return caught.value.message


def test_who_speaks_first_is_taken_for_a_scheduler() -> None:
    with listener(b"dask") as address:
        assert reach(address, None) == "127.0.0.1"


def test_nobody_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(UnreachableError, match="nobody listens there; start a scheduler"):
        reach(f"tcp://127.0.0.1:{port}", None)
    with pytest.raises(UnreachableError, match="there is no host of that name"):
        reach("tcp://nonesuch.invalid:1", None)


def test_somebody_else_is_there() -> None:
    with listener(None) as address:
        assert "says nothing; if the scheduler uses TLS, write tls://" in refusal(
            address, answer_s=SHORT_S
        )
    with listener(b"") as address:
        assert "closed the connection at once" in refusal(address)


def test_with_certificates_of_the_same_authority(tmp_path: Path) -> None:
    tls = make_certificates(tmp_path / "lab")
    assert tls_context(tls).verify_mode == ssl.CERT_REQUIRED
    with listener(b"dask", tls) as address:
        assert reach(address, tls) == "127.0.0.1"


def test_with_certificates_of_another_authority(tmp_path: Path) -> None:
    """What we are shown was not signed by ours."""
    lab, other = make_certificates(tmp_path / "lab"), make_certificates(tmp_path / "other")
    with listener(b"dask", lab) as address:
        assert f"its certificate is not one that {other.ca} signed" in refusal(address, other)


def test_ours_is_not_accepted(tmp_path: Path) -> None:
    """We trust their authority but show a certificate of another one."""
    lab, other = make_certificates(tmp_path / "lab"), make_certificates(tmp_path / "other")
    mixed = ClusterTls(ca=lab.ca, certificate=other.certificate, key=other.key)
    with listener(b"dask", lab) as address:
        assert f"did not accept our certificate {other.certificate}" in refusal(address, mixed)


def test_theirs_has_expired(tmp_path: Path) -> None:
    old = make_certificates(tmp_path / "old", days=-1)
    with listener(b"dask", old) as address:
        assert "(certificate has expired)" in refusal(address, old)


def test_theirs_is_not_what_python_3_13_asks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those were that openssl's shortest commands make; older Pythons take them."""
    tls, bare = make_certificates(tmp_path / "lab"), signed_without_extensions(tmp_path / "bare")

    def strict(asked: ClusterTls) -> ssl.SSLContext:
        context = tls_context(asked)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        return context

    monkeypatch.setattr("nashbed.controlplane.cluster.security.tls_context", strict)
    with listener(b"dask", tls) as address:
        assert reach(address, tls) == "127.0.0.1"
    with listener(b"dask", bare) as address:
        assert "lacks what Python 3.13 asks for (" in refusal(address, bare)


def signed_without_extensions(folder: Path) -> ClusterTls:
    """A certificate that says of itself nothing but its name, and its authority."""
    tls = make_certificates(folder)
    key, signer = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    ca, me = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]) for name in ("ca", "me"))
    is_ca = x509.BasicConstraints(ca=True, path_length=None)
    made = x509.CertificateBuilder(ca, ca, signer.public_key(), 1, now - DAY, now + DAY)
    made = made.add_extension(is_ca, critical=True)
    mine = x509.CertificateBuilder(ca, me, key.public_key(), 2, now - DAY, now + DAY)
    for path, builder in ((tls.ca, made), (tls.certificate, mine)):
        Path(path).write_bytes(builder.sign(signer, hashes.SHA256()).public_bytes(Encoding.PEM))
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    Path(tls.key).write_bytes(secret)
    return tls


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_certificates_by_the_commands_of_the_readme(tmp_path: Path) -> None:
    """Whatever Python verifies them: strictly, as 3.13 does."""
    block = GUIDE.read_text().split("```\nopenssl", 1)[1].split("```", 1)[0]
    subprocess.run(["sh", "-ec", f"openssl{block}"], cwd=tmp_path, check=True, capture_output=True)
    verify = ["openssl", "verify", "-x509_strict", "-CAfile", "ca.pem", "me.pem"]
    subprocess.run(verify, cwd=tmp_path, check=True, capture_output=True)
    paths = {"ca": "ca.pem", "certificate": "me.pem", "key": "me.key"}
    tls = ClusterTls(**{key: str(tmp_path / name) for key, name in paths.items()})
    with listener(b"dask", tls) as address:
        assert reach(address, tls) == "127.0.0.1"


def test_no_tls_on_the_other_side(tmp_path: Path) -> None:
    tls = make_certificates(tmp_path / "lab")
    with listener(b"not a TLS record at all") as address:
        encrypted = address.replace("tcp", "tls")
        assert "speaks no TLS; write tcp:// if that is meant" in refusal(encrypted, tls)


def test_a_tls_scheduler_says_nothing_without(tmp_path: Path) -> None:
    with listener(None, make_certificates(tmp_path / "lab")) as address:
        plain = address.replace("tls", "tcp")
        assert "write tls://" in refusal(plain, answer_s=SHORT_S)


def encrypted_stream(tls: ClusterTls) -> tuple[SSLIOStream, ssl.SSLSocket]:
    """Both ends of a TLS connection within this process; neither has anything to read."""
    ours, theirs = socket.socketpair()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls.certificate, tls.key)
    context.num_tickets = 0
    with ThreadPoolExecutor(1) as thread:
        server = thread.submit(context.wrap_socket, theirs, server_side=True)
        client = tls_context(tls).wrap_socket(ours)
        client.setblocking(False)
        return SSLIOStream(client), server.result(30)


WRONG, EARLY_END, BROKEN_PIPE = (20, 1), (20, 294), (2, errno.EPIPE)
"""OpenSSL's library and reason: of ERR_LIB_SSL any, and SSL_R_UNEXPECTED_EOF_WHILE_READING, of
which Python makes an end; of ERR_LIB_SYS what Python 3.13 raises and leaves in the queue."""


def reads_on(stream: SSLIOStream) -> bool:
    """Whether there is nothing to read yet: the stream has neither an error nor an end.

    OpenSSL's early end is an error in Debian 12's Python (3.11.2), and an end in later ones.
    """
    try:
        return stream.read_from_fd(bytearray(1)) is None
    except OSError:
        return False


@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("error", [WRONG, EARLY_END, BROKEN_PIPE])
def test_what_another_connection_left_behind_ends_none(
    error: tuple[int, int], guarded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """python/cpython#148594: a stale error of this thread is taken for this connection's."""
    monkeypatch.setattr(ssl.SSLContext, "sslsocket_class", ssl.SSLSocket)
    if guarded:
        guard_tls()
    openssl = ctypes.PyDLL(_ssl.__file__)
    tls = make_certificates(tmp_path / "lab")

    def leave_behind() -> None:
        openssl.ERR_new()
        openssl.ERR_set_error(*error, None)

    async def read_and_write() -> None:
        stream, peer = encrypted_stream(tls)
        with closing(stream), closing(peer):
            await stream.wait_for_handshake()
            peer.send(b"x")
            assert stream.read_from_fd(bytearray(1)) == 1, "after a handshake OpenSSL clears it"
            leave_behind()
            assert reads_on(stream) == guarded
            if not guarded:
                return
            leave_behind()
            assert stream.write_to_fd(memoryview(b"x")) == 1
            assert peer.recv(1) == b"x"

    asyncio.run(read_and_write())


def test_what_a_user_starts_by_hand_shares_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda role: kept(role).key, ["scheduler", "worker", "client"] * 2))
    (path,) = map(Path, found)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (
        0o600,
        0o700,
    )
    assert list(path.parent.iterdir()) == [path]
    before = path.read_text()
    os.utime(path, (0, 0))
    assert Path(kept("client").key).read_text() != before, "it is made anew before it ends"


def test_credentials_of_a_command_are_gone_at_its_end() -> None:
    cluster = Cluster.model_validate({"name": "c", "local": {"workers": 1}})
    with reached(cluster, "client") as (same, tls):
        assert (same, warning(same)) == (cluster, "")
        assert tls is not None
        assert stat.S_IMODE(Path(tls.key).stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(tls.key).parent.stat().st_mode) == 0o700
    assert not Path(tls.key).exists()


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://localhost:1", "tls://[::1]:1"])
def test_a_scheduler_on_loopback_is_reached_by_tls(address: str) -> None:
    cluster = Cluster.model_validate({"name": "c", "scheduler": address})
    found, tls = at_scheduler(cluster, address, "worker")
    assert (found.scheduler, tls) == (address.replace("tcp", "tls"), kept("worker"))


def test_who_wants_no_tls_is_told_what_that_means() -> None:
    address = "tcp://127.0.0.1:1"
    cluster = Cluster.model_validate({"name": "c", "scheduler": address, "private_network": True})
    assert at_scheduler(cluster, address, "client") == (cluster, None)
    assert "every user of its machines, can run programs as you" in warning(cluster)
