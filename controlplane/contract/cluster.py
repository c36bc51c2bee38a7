"""A cluster file: the machines that trials are carried to, and how they are reached."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from .model import ContractModel, Name

MAX_WORKERS = 4096
"""Most workers in one file: several times what one Dask scheduler serves well."""
SCHEMES = ("tcp", "tls")
_ADDRESS = re.compile(r"^(?:tcp|tls)://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):(\d{1,5})$")

Text = Annotated[str, Field(min_length=1)]
Workers = Annotated[int, Field(strict=True, ge=1, le=MAX_WORKERS)]
Memory = Annotated[str, Field(pattern=r"^[1-9][0-9]* ?[kMGT]i?B$")]
Walltime = Annotated[str, Field(pattern=r"^[0-9][0-9:-]*$")]
ClusterKind = Literal["scheduler", "local", "ssh", "jobqueue"]
KINDS: tuple[ClusterKind, ...] = ("scheduler", "local", "ssh", "jobqueue")
JobSystem = Literal["slurm", "pbs", "htcondor", "lsf"]


class ClusterTls(ContractModel):
    """Certificates of a cluster; all of its parts show one that the same authority signed.

    Attributes:
        ca: The authority's certificate; relative to the cluster file, as all three.
        certificate: The certificate that we show.
        key: Its private key.
    """

    ca: Text
    certificate: Text
    key: Text


class LocalWorkers(ContractModel):
    """Workers on this machine, which live as long as the command.

    Attributes:
        workers: Number of worker processes, a thread each.
    """

    workers: Workers


class SshOptions(ContractModel):
    """How ssh connects; what is left out is as in ~/.ssh/config.

    Attributes:
        username: The user on the hosts.
        port: The hosts' ssh port.
        client_keys: Private keys; relative to the cluster file.
        known_hosts: File with the hosts' keys; relative to the cluster file.
    """

    username: Text | None = None
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = None
    client_keys: tuple[Text, ...] = ()
    known_hosts: Text | None = None


class SshHosts(ContractModel):
    """Machines that ssh reaches; the first of them runs the scheduler as well.

    Attributes:
        hosts: Names or addresses; or a file that has one on each line, relative to the cluster
            file. `node1 cores=16` gives a host another number of cores.
        cores: Workers of each host, a process and a core each.
        python: Python with nashbed on the hosts; left out: the same path as here.
        folder: Folder on each host for what workers write; left out: /tmp.
        options: How ssh connects.
    """

    hosts: Text | Annotated[tuple[Text, ...], Field(min_length=1)]
    cores: Workers = 1
    python: Text | None = None
    folder: Text | None = None
    options: SshOptions = SshOptions()


class JobQueue(ContractModel):
    """Jobs of a batch system, submitted from this machine, which runs the scheduler.

    Attributes:
        system: The batch system.
        jobs: Number of jobs.
        cores: Workers of each job, a process and a core each.
        memory: Memory of each job, e.g. `8GB`.
        walltime: How long a job may take, as the system writes it; left out: half an hour. Not with
            htcondor.
        queue: Queue or partition; not with htcondor.
        account: Account or project that pays; not with htcondor.
        disk: Disk of each job, e.g. `20GB`; htcondor only.
        interface: Network interface between jobs and this machine, e.g. `ib0`.
        directives: More lines of the job's header, without their `#SBATCH`.
        prologue: Shell lines before the workers start, e.g. `module load python`.
        python: Python with nashbed in the jobs; left out: the same path as here.
        folder: Folder in the jobs for what workers write; left out: /tmp.
        logs: Folder for the jobs' output; left out: as the system does.
    """

    system: JobSystem
    jobs: Workers
    cores: Workers
    memory: Memory
    walltime: Walltime | None = None
    queue: Text | None = None
    account: Text | None = None
    disk: Memory | None = None
    interface: Text | None = None
    directives: tuple[Text, ...] = ()
    prologue: tuple[Text, ...] = ()
    python: Text | None = None
    folder: Text | None = None
    logs: Text | None = None

    @model_validator(mode="after")
    def _check(self) -> JobQueue:
        if self.system != "htcondor":
            if self.disk is not None:
                raise ValueError(f"disk: {self.system} takes none; remove it")
            return self
        for key in ("walltime", "queue", "account"):
            if getattr(self, key) is not None:
                raise ValueError(f"{key}: htcondor has none; remove it, or see directives")
        if self.disk is None:
            raise ValueError("key 'disk' is missing; htcondor needs it, e.g. disk: 20GB")
        return self


class Cluster(ContractModel):
    """A whole cluster file; it has exactly one of scheduler, local, ssh and jobqueue.

    Attributes:
        name: Short name.
        description: Free text.
        scheduler: Address of a Dask scheduler that runs already: tcp://HOST:PORT or tls://HOST:PORT.
        local: Workers on this machine.
        ssh: Machines that ssh reaches.
        jobqueue: Jobs of a batch system.
        shared: Folder on a shared file system, which this machine and all workers see under the
            same path; large tables then stay there.
        tls: Certificates. Without them only this machine is reached, or a private network.
        private_network: Whether to use a network of private addresses without TLS. Whoever reaches
            it can run programs as the user of the workers.
    """

    name: Name
    description: str = ""
    scheduler: str | None = None
    local: LocalWorkers | None = None
    ssh: SshHosts | None = None
    jobqueue: JobQueue | None = None
    shared: Text | None = None
    tls: ClusterTls | None = None
    private_network: Annotated[bool, Field(strict=True)] = False

    @field_validator("scheduler")
    @classmethod
    def _is_address(cls, text: str | None) -> str | None:
        return None if text is None else scheduler_address(text)

    @model_validator(mode="after")
    def _check(self) -> Cluster:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if not kinds:
            raise ValueError(f"says no machines; add one of the keys {', '.join(KINDS)}")
        if len(kinds) > 1:
            raise ValueError(f"{kinds[1]}: there is '{kinds[0]}' already; keep one of the two")
        if self.shared is not None and not self.shared.startswith("/"):
            raise ValueError(
                f"shared: {self.shared!r} must be an absolute path, the same on every machine"
            )
        self._check_encryption()
        return self

    def _check_encryption(self) -> None:
        if self.scheduler is not None and self.tls is not None and not self.is_encrypted:
            raise ValueError(
                "scheduler: a tcp:// address is not encrypted; write tls://, or remove the key tls"
            )
        queue = self.jobqueue
        if queue is None or self.tls is not None:
            return
        if not self.private_network:
            raise ValueError(
                "jobqueue: jobs reach this machine over the network; add the key tls, or "
                "private_network: true if nobody else is on it"
            )
        if queue.interface is None:
            raise ValueError(
                "jobqueue: without the key tls, name the private network: add interface, e.g. ib0"
            )

    @property
    def kind(self) -> ClusterKind:
        """Which machines it has."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def is_encrypted(self) -> bool:
        """Whether all of its connections are encrypted and prove who is who."""
        if self.scheduler is not None:
            return self.scheduler.startswith("tls://")
        return self.tls is not None

    def with_paths(self, absolute: Callable[[str], str]) -> Cluster:
        """A copy with other paths of this machine's files.

        Args:
            absolute: From a path as written to the path to use.
        """
        changed: dict[str, Any] = {}
        if self.tls is not None:
            changed["tls"] = ClusterTls(
                **{key: absolute(path) for key, path in self.tls.model_dump().items()}
            )
        if self.ssh is not None:
            changed["ssh"] = _with_ssh_paths(self.ssh, absolute)
        return self.model_copy(update=changed)


def _with_ssh_paths(ssh: SshHosts, absolute: Callable[[str], str]) -> SshHosts:
    options, hosts = ssh.options, ssh.hosts
    known = options.known_hosts
    options = options.model_copy(
        update={
            "client_keys": tuple(absolute(path) for path in options.client_keys),
            "known_hosts": None if known is None else absolute(known),
        }
    )
    if isinstance(hosts, str):
        hosts = absolute(hosts)
    return ssh.model_copy(update={"hosts": hosts, "options": options})


def scheduler_address(text: str) -> str:
    """Check the address of a scheduler: tcp://HOST:PORT or tls://HOST:PORT.

    Raises:
        ValueError: It is not one; the message says what to write.
    """
    match = _ADDRESS.match(text)
    if match is None or not 1 <= int(match[1]) <= 65535:
        raise ValueError(
            f"{text!r} is not a scheduler's address; write tcp://HOST:PORT or tls://HOST:PORT, "
            "e.g. tls://lab.example.org:8786"
        )
    return text
