"""What parts of a cluster show each other: certificates of the user's authority, or our own.

On loopback every user of a machine reaches every port, and whoever reaches a Dask scheduler or
worker runs programs as its user. So there, too, both sides show a certificate: Dask's temporary
one, in a file that only its user can read. A command that starts all parts makes one for itself; a
scheduler, workers and clients that are started by hand share one of their user's.
"""

import os
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import dask.config
from distributed.security import Security

from ..contract.cluster import Cluster, ClusterTls
from ..contract.errors import ConfigError
from ..machine.guest.scratch import KEPT, guests_folder, make_private
from ..store.staging import Staging, locked, scratch_folder
from .security import check_address, check_host, is_loopback
from .where import ssh_hosts

Role = Literal["client", "scheduler", "worker"]
NOT_ENCRYPTED = (
    "{}: without TLS, as --private-network says: whoever reaches that address, and every user of "
    "its machines, can run programs as you"
)
RENEWED_S = 300 * 86_400
"""Dask's temporary certificates are valid for 365 days."""


@contextmanager
def reached(cluster: Cluster, role: Role) -> Iterator[tuple[Cluster, ClusterTls | None]]:
    """The cluster as it is reached, and what is shown there, for as long as the context lasts.

    Yields:
        The cluster, with an encrypted address on loopback, and certificates (None: no TLS, as the
        user has said).

    Raises:
        ConfigError: It may not be reached like this, or a certificate is not what it should be.
    """
    if cluster.scheduler is not None:
        yield at_scheduler(cluster, cluster.scheduler, role)
    elif cluster.is_encrypted:
        yield cluster, certificates(cluster.tls, role)
    elif cluster.private_network and cluster.local is None:
        yield cluster, None
    else:
        for host in ssh_hosts(cluster.ssh) if cluster.ssh is not None else ():
            check_host(host.name, private_network=False)
        with scratch_folder("credentials") as folder:
            yield cluster, _of_file(_written(folder / KEPT))


def warning(cluster: Cluster) -> str:
    """What it means that a cluster is reached without TLS, as its user wants it; empty: nothing."""
    if not cluster.private_network or cluster.is_encrypted or cluster.local is not None:
        return ""
    return NOT_ENCRYPTED.format(cluster.scheduler or cluster.name)


def at_scheduler(cluster: Cluster, address: str, role: Role) -> tuple[Cluster, ClusterTls | None]:
    """A cluster and its credentials where the scheduler is started by hand.

    Raises:
        ConfigError: As `reached` does.
    """
    if cluster.tls is None and not cluster.private_network and is_loopback(address):
        encrypted = address.replace("tcp://", "tls://")
        return cluster.model_copy(update={"scheduler": encrypted}), kept(role)
    check_address(address, cluster.private_network)
    return cluster, certificates(cluster.tls, role) if cluster.is_encrypted else None


def kept(role: Role) -> ClusterTls:
    """The certificates of all that this user starts by hand on this machine.

    Those of Dask's configuration, if it has some; else our own, which are made when they are asked
    for first, or are about to end.

    Raises:
        ConfigError: Those of the configuration are not what they should be.
        HostError: The user's folder cannot be made.
    """
    if dask.config.get("distributed.comm.tls.ca-file", None):
        return certificates(None, role)
    folder = guests_folder()
    make_private(folder)
    path = folder / KEPT
    with locked(folder):
        if not path.exists() or time.time() - path.stat().st_mtime > RENEWED_S:
            with Staging(folder, KEPT) as staging:
                staging.publish(_written(staging.place / KEPT), path)
    return _of_file(path)


def _written(path: Path) -> Path:
    """Make a key and a certificate of it, in one file of this user alone."""
    make: Any = Security.temporary  # Dask has no types
    made = make()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(made.tls_client_key + made.tls_ca_file)
    return path


def _of_file(path: Path) -> ClusterTls:
    return ClusterTls(ca=str(path), certificate=str(path), key=str(path))


def certificates(tls: ClusterTls | None, role: Role) -> ClusterTls:
    """The certificates of an encrypted cluster: its own, or those of Dask's configuration.

    Raises:
        ConfigError: There are none, or a file is not what it should be.
    """
    tls = _of_configuration(role) if tls is None else tls
    _check_files(tls)
    return tls


def _of_configuration(role: Role) -> ClusterTls:
    tls = "distributed.comm.tls"
    found = {
        "ca": dask.config.get(f"{tls}.ca-file", None),
        "certificate": dask.config.get(f"{tls}.{role}.cert", None),
        "key": dask.config.get(f"{tls}.{role}.key", None),
    }
    missing = [key for key, path in found.items() if not path]
    if missing:
        raise ConfigError(
            f"tls:// needs certificates, and there is no {' and no '.join(missing)}; name them in "
            "a cluster file (tls: {ca, certificate, key}), by --tls-ca, --tls-cert and --tls-key "
            "where a command has these, or in Dask's configuration"
        )
    return ClusterTls.model_validate(found)


def _check_files(tls: ClusterTls) -> None:
    """Refuse certificates that cannot be read or do not belong together.

    Raises:
        ConfigError: One line that names the file.
    """
    for key, path in tls.model_dump().items():
        try:
            Path(path).read_bytes()
        except OSError as error:
            raise ConfigError(f"tls.{key}: {path}: cannot be read: {error.strerror}") from error
    try:
        ssl.create_default_context(cafile=tls.ca)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(f"tls.ca: {tls.ca}: is not a certificate in PEM form") from error
    try:
        # An empty password, or OpenSSL would ask for one on the terminal.
        ssl.create_default_context().load_cert_chain(tls.certificate, tls.key, password="")
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(
            f"tls: {tls.certificate} and {tls.key} are not a certificate and its own key without "
            "a password, in PEM form"
        ) from error
