"""Where trials run: `--on` a cluster, or on this machine, which a command then has to itself."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from ..cluster.where import parse_where, testbed_cluster
from ..config import Loaded, load_testbed
from ..contract.cluster import Cluster
from ..contract.errors import ConfigError
from ..contract.testbed import Testbed
from ..machine.guest.scratch import guests_folder, remove_dead_sessions
from ..machine.host.preflight import require_root
from ..machine.host.runs import OnWait, RunState, reserved
from ..machine.paths import VIRTUAL_TESTBED
from .console import duration_text
from .options import choose_testbed

if TYPE_CHECKING:
    from ..run.dispatcher import TrialPlace


On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Run the trials on a Dask cluster: local:N, tcp://HOST:PORT, tls://HOST:PORT, "
        "ssh:HOSTS.txt, or a cluster file (configs/clusters).",
    ),
]
PrivateNetwork = Annotated[
    bool,
    typer.Option(
        "--private-network",
        help="Use a cluster on a network of private addresses without TLS.",
    ),
]
Wait = Annotated[
    bool, typer.Option("--wait", help="Wait for another run on this machine, instead of failing.")
]


@dataclass(frozen=True)
class ReachedCluster:
    """A cluster that is reached.

    Attributes:
        place: Where trials run.
        seats: Trials that it runs at once, now.
        workers: Its workers.
    """

    place: TrialPlace
    seats: int
    workers: int


def chosen_cluster(
    on: str | None, private_network: bool, testbed: Loaded[Testbed]
) -> Cluster | None:
    """The cluster that a command is to use; None: this machine.

    Args:
        on: What `--on` says.
        private_network: What `--private-network` says.
        testbed: The testbed, which may name one.

    Raises:
        ConfigError: What is named is no cluster, or cannot run this testbed.
    """
    if on is not None:
        cluster = parse_where(on, private_network=private_network)
    else:
        named = testbed_cluster(testbed)
        if named is None:
            return None
        cluster = named
    if not testbed.model.is_virtual and cluster.kind != "scheduler":
        raise ConfigError(
            f"--on: testbed {testbed.model.name} is in real time, and this cluster's workers are "
            "not: name a scheduler that workers joined with `nashbed worker ADDRESS --testbed "
            "FILE`, or write --testbed virtual"
        )
    return cluster


def choose_testbed_for(name: str | None, on: str | None) -> Loaded[Testbed]:
    """The testbed that was asked for, or else the one that suits where trials run.

    Args:
        name: What `--testbed` says.
        on: What `--on` says.
    """
    if name is None and on is not None:
        return load_testbed(VIRTUAL_TESTBED)
    return load_testbed(choose_testbed(name))


@contextmanager
def reach_cluster(
    cluster: Cluster, first_worker_s: float | None = None
) -> Iterator[ReachedCluster]:
    """Reach a cluster, or start it, for as long as the block lasts; waits for its first worker.

    Args:
        cluster: The cluster.
        first_worker_s: How long it waits, in seconds; None: as long as a batch system may take.

    Raises:
        NashbedError: It cannot be reached, or has no worker.
    """
    from ..cluster.connect import connected  # noqa: PLC0415 - Dask takes long to import
    from ..cluster.on_cluster import OnCluster  # noqa: PLC0415
    from ..cluster.roster import FIRST_WORKER_S, await_seats  # noqa: PLC0415

    cores = len(os.sched_getaffinity(0))
    if cluster.local is not None and cluster.local.workers > cores:
        say(
            f"local:{cluster.local.workers}: no faster than local:{cores}, the cores that there are"
        )
    with connected(cluster) as client:
        patience_s = FIRST_WORKER_S if first_worker_s is None else first_worker_s
        workers = await_seats(client, say, patience_s)
        place = OnCluster(client, say, cluster.shared or "")
        yield ReachedCluster(place, sum(workers.values()), len(workers))


def say(line: str) -> None:
    """Tell the user something on standard error."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - this is the command line


@contextmanager
def machine_for(testbed: Testbed, what: Path | str, wait: bool) -> Iterator[None]:
    """Have the machine while the block lasts, where the testbed is in real time.

    What dead runs left is removed, also where there is nothing more to run: a run may be killed
    between its last trial and its end.

    Args:
        testbed: The testbed; in virtual time it shares nothing with others.
        what: What it is for, as others are told: the folder, or the command.
        wait: Whether another run is waited for.

    Raises:
        HostError: This is not root, or another run is alive and not waited for.
    """
    if testbed.is_virtual:
        remove_dead_sessions(guests_folder())
        yield
        return
    require_root()
    told = str(what.absolute()) if isinstance(what, Path) else what
    with ExitStack() as stack:
        with _display() as show:
            stack.enter_context(reserved(told, show if wait else None))
        yield


@contextmanager
def _display() -> Iterator[OnWait]:
    """For whom this process waits: a line that is drawn anew, or one for each run elsewhere."""
    console = Console(stderr=True)
    line = console.status("")
    begun = time.monotonic()
    told: set[int] = set()

    def show(other: RunState) -> None:
        text = f"waiting for the run in {other.run_dir} (pid {other.pid}) to end"
        if console.is_terminal:
            line.update(f"{text}: {duration_text(time.monotonic() - begun)} so far")
            line.start()
        elif other.pid not in told:
            console.print(text, highlight=False, markup=False, soft_wrap=True)
        told.add(other.pid)

    try:
        yield show
    finally:
        line.stop()
