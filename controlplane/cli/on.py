"""`--on`: the trials of a command run on a Dask cluster instead of this machine."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ..config import Loaded
from ..contract.cluster import Cluster
from ..contract.errors import ConfigError, HostError
from ..contract.testbed import Testbed

if TYPE_CHECKING:
    from distributed import Client

    from ..run.place import Place

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="WHERE",
        help="Run the trials on a Dask cluster: local:N, tcp://HOST:PORT, tls://HOST:PORT, "
        "ssh:HOSTS.txt, or a cluster file (configs/clusters).",
    ),
]
FIRST_WORKER_S = 600.0
"""How long the first worker is waited for: a batch system may have it queue."""
