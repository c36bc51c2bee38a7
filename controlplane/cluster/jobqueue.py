"""Jobs of a batch system: dask-jobqueue writes and submits them, Dask's own worker runs in them."""

import importlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed.security import Security
from distributed.utils import get_ip_interface

from ..contract.cluster import Cluster, ClusterTls, JobQueue, JobSystem
from ..contract.errors import ConfigError, HostError, need_extra
from .security import check_host
from .starting import PRELOAD, PRELOAD_KEEPER, first_words, scheduler_options, started

JOBS: dict[JobSystem, str] = {
    "slurm": "SLURMJob",
    "pbs": "PBSJob",
    "htcondor": "HTCondorJob",
    "lsf": "LSFJob",
}
"""dask-jobqueue's classes."""
SCHEDULER_GONE_S = 60
"""When the scheduler is gone for so long, a job ends."""


@contextmanager
def jobqueue_cluster(cluster: Cluster, tls: ClusterTls | None) -> Iterator[Any]:
    """Start a scheduler in this process and submit the jobs; both end with the context.

    Args:
        tls: Certificates, if it has some; jobs read them under the same paths.

    Raises:
        ConfigError: The network between the jobs and us is not private, and there is no TLS.
        HostError: dask-jobqueue or the batch system is missing, or refused a job.
    """
    queue = cluster.jobqueue
    assert queue is not None
    job_class = _job_class(queue.system)
    _check_network(queue, cluster.private_network, tls)
    _check_submit(job_class, queue.system)
    options = job_options(queue, tls)
    job = {"cls": job_class, "options": options} | _group(queue.cores)
    scheduler = {
        "cls": "distributed.Scheduler",
        "options": scheduler_options(
            tls,
            interface=queue.interface,
            dashboard_address="127.0.0.1:0",
        ),
    }
    jobs = dict.fromkeys(range(queue.jobs), job)
    with started(scheduler, jobs, lambda error: _explain(queue.system, error)) as running:
        yield running


def _group(cores: int) -> dict[str, list[str]]:
    """The endings of the names that Dask's worker command gives to several workers."""
    return {"group": [f"-{i}" for i in range(cores)]} if cores > 1 else {}


def job_options(queue: JobQueue, tls: ClusterTls | None) -> dict[str, Any]:
    """Arguments of dask-jobqueue's job.

    Every value is said, or the library would take it from the user's Dask configuration.
    """
    options = {
        "cores": queue.cores,
        "processes": queue.cores,
        "memory": queue.memory,
        "interface": queue.interface,
        "protocol": None if tls is None else "tls://",
        "security": None if tls is None else Security(),
        "death_timeout": SCHEDULER_GONE_S,
        "local_directory": queue.folder or "/tmp",  # noqa: S108 - of the node, by default
        "log_directory": queue.logs,
        "job_name": "nashbed",
        "job_script_prologue": list(queue.prologue),
        "job_extra_directives": _directives(queue),
        # The batch system watches a job's memory; Dask would stop a worker in mid-trial.
        "worker_extra_args": [
            *("--memory-limit", "0", "--no-dashboard"),
            *("--preload", PRELOAD, "--preload-nanny", PRELOAD_KEEPER),
        ],
        "python": queue.python,
    }
    return {k: v for k, v in (options | _of_system(queue)).items() if v is not None}


def _of_system(queue: JobQueue) -> dict[str, Any]:
    if queue.system == "htcondor":
        return {"disk": queue.disk}
    account = "project" if queue.system == "lsf" else "account"
    return {"queue": queue.queue, "walltime": queue.walltime, account: queue.account}


def _directives(queue: JobQueue) -> list[str] | dict[str, str]:
    """As the library takes them: lines, or for HTCondor keys and values."""
    if queue.system != "htcondor":
        return list(queue.directives)
    pairs = [line.partition("=") for line in queue.directives]
    if any(not separator for _, separator, _ in pairs):
        raise ConfigError("jobqueue.directives: with htcondor write each as KEY = VALUE")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _job_class(system: JobSystem) -> Any:
    need_extra("jobqueue", "dask_jobqueue")
    return getattr(importlib.import_module(f"dask_jobqueue.{system}"), JOBS[system])


def _check_submit(job_class: Any, system: JobSystem) -> None:
    program = str(job_class.submit_command).split()[0]
    if shutil.which(program) is None:
        raise HostError(
            f"{program}: no such program here; run nashbed where jobs of {system} are submitted"
        )


def _check_network(queue: JobQueue, private_network: bool, tls: ClusterTls | None) -> None:
    if tls is not None and queue.interface is None:
        return
    address_of: Any = get_ip_interface  # Dask has no types
    try:
        address = str(address_of(queue.interface))
    except ValueError as error:
        raise HostError(
            f"jobqueue.interface: this machine has no {queue.interface} with an address; "
            "`ip address` lists those there are"
        ) from error
    if tls is None:
        check_host(address, private_network)


def _explain(system: JobSystem, error: Exception) -> str:
    """The batch system's own words, in one line."""
    message = str(error)
    if "stderr:\n" not in message:
        return f"{system}: {first_words(error)}"
    head, _, errors = message.partition("stderr:\n")
    said = errors.strip() or head.partition("stdout:\n")[2].strip() or "it said nothing"
    return f"{system} did not take a job: {' '.join(said.split())}"
