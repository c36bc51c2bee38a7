"""`nashbed worker` and `nashbed scheduler`: parts of a cluster, in the foreground until stopped."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer
from nashbed.files import find_testbed

from ..cluster.credentials import NOT_ENCRYPTED, at_scheduler, certificates, kept, warning
from ..cluster.security import check_host
from ..cluster.serve import DEFAULT_PORT, Workers, serve_scheduler, serve_workers
from ..cluster.where import parse_where
from ..config import load_testbed
from ..contract.cluster import Cluster, ClusterTls
from ..contract.errors import EXIT_OK, ConfigError
from ..run.standing import standing, with_capacity
from .api_command import command
from .options import PrivateNetwork, app

TLS = {
    "ca": typer.Option("--tls-ca", help="Certificate of the authority that signed all others."),
    "cert": typer.Option("--tls-cert", help="Certificate to show to the others."),
    "key": typer.Option("--tls-key", help="Its private key."),
}
WORKER_EXAMPLES = """Examples: nashbed worker tcp://127.0.0.1:8786;
nashbed worker tls://lab:8786 --tls-ca ca.pem --tls-cert worker.pem --tls-key worker.key;
nashbed worker lab.yaml --cores 8 --folder /scratch;
nashbed worker lab.yaml --testbed embedded"""


@command(app, examples=WORKER_EXAMPLES, cores=typer.Option(min=1), **TLS)
def worker(  # noqa: PLR0913 - each is an option
    address: str,
    *,
    cores: int | None = None,
    testbed: str | None = None,
    ca: str | None = None,
    cert: str | None = None,
    key: str | None = None,
    name: str | None = None,
    folder: Path | None = None,
    private_network: PrivateNetwork = False,
) -> int:
    """Run trials for others on this machine, until stopped.

    One process for each core, which comes back when it is killed. When the scheduler ends, they
    wait for it to come back. With --testbed it is one process with a trial on each lane.

    Args:
        address: The scheduler: tcp://HOST:PORT, tls://HOST:PORT, or a cluster file that has one.
        cores: Trials at the same time; None: all cores.
        testbed: Be this real testbed, instead of virtual time on cores.
        name: Name of the workers; None: their port.
        folder: Folder for what they write; None: the system's.
    """
    cluster = _with_tls(parse_where(address, private_network=private_network), ca, cert, key)
    serve_workers(_workers(cluster, cores, testbed, name, folder), _say)
    return EXIT_OK


SCHEDULER_EXAMPLES = """Examples: nashbed scheduler;
nashbed scheduler --host 192.168.1.10 --private-network;
nashbed scheduler --host 0.0.0.0 --tls-ca ca.pem --tls-cert lab.pem --tls-key lab.key"""


@command(
    app,
    examples=SCHEDULER_EXAMPLES,
    port=typer.Option(min=0, max=65535),
    **TLS,
)
def scheduler(
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    dashboard: str | None = None,
    ca: str | None = None,
    cert: str | None = None,
    key: str | None = None,
    private_network: PrivateNetwork = False,
) -> int:
    """Run a Dask scheduler on this machine, until stopped.

    Without certificates it listens on this machine only, for its user alone, or on a private
    network.

    Args:
        host: Address of this machine to listen on; 0.0.0.0: all of them, with TLS.
        port: Its port; 0: any free one.
        dashboard: ADDRESS:PORT of Dask's dashboard, not encrypted: open the address that is told;
            None: none.
    """
    tls = _tls(ca, cert, key)
    if tls is not None:
        tls = certificates(tls, "scheduler")
    else:
        host = check_host(host, private_network)[0]
        if private_network:
            _warn(NOT_ENCRYPTED.format(host))
        else:
            tls = kept("scheduler")
    serve_scheduler(host, port, dashboard, tls, _say)
    return EXIT_OK


def _workers(
    cluster: Cluster,
    cores: int | None,
    testbed: str | None,
    name: str | None,
    folder: Path | None,
) -> Workers:
    address = cluster.scheduler
    if address is None:
        raise ConfigError(
            f"cluster {cluster.name!r} has no scheduler that workers could join; "
            "`nashbed run --on` starts its workers"
        )
    if folder is not None and not folder.is_dir():
        raise ConfigError(f"--folder {folder}: there is no such folder; make it first")
    cluster, tls = at_scheduler(cluster, address, "worker")
    address = cluster.scheduler or address
    _warn(warning(cluster))
    if testbed is None:
        count = cores or len(os.sched_getaffinity(0))
        return Workers(address, tls, count, name=name, folder=folder)
    if cores is not None:
        raise ConfigError("--cores: a testbed's lanes say how many trials it runs; remove it")
    file = find_testbed(testbed).resolve()
    return Workers(address, tls, 1, _lanes(file), name, folder, file)


def _lanes(file: Path) -> int:
    """Trials that a real testbed runs at the same time."""
    bed = load_testbed(file)
    if bed.model.is_virtual:
        raise ConfigError(
            f"--testbed {file}: virtual time needs no testbed on a worker; remove the option"
        )
    return with_capacity(bed, standing(bed))[0].model.capacity.lanes


def _with_tls(
    cluster: Cluster, ca: str | None, certificate: str | None, key: str | None
) -> Cluster:
    tls = _tls(ca, certificate, key)
    if tls is None:
        return cluster
    if not cluster.is_encrypted:
        raise ConfigError(
            f"{cluster.scheduler or cluster.name}: --tls-... is for tls:// addresses; write tls://"
        )
    return cluster.model_copy(update={"tls": tls})


def _tls(ca: str | None, certificate: str | None, key: str | None) -> ClusterTls | None:
    given = {"--tls-ca": ca, "--tls-cert": certificate, "--tls-key": key}
    if not any(given.values()):
        return None
    missing = [option for option, path in given.items() if not path]
    if missing or ca is None or certificate is None or key is None:
        raise ConfigError(f"TLS needs {' and '.join(missing)} as well")
    return ClusterTls(ca=ca, certificate=certificate, key=key)


def _warn(line: str) -> None:
    if line:
        sys.stderr.write(f"nashbed: {line}\n")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
