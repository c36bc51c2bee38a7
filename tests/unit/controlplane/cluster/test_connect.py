"""A Dask client of a cluster, with real schedulers and workers on this machine."""

import logging
import os
import sys
import time
from pathlib import Path

import distributed  # noqa: F401 - sets its loggers up
import psutil
import pytest
from nashbed.controlplane.cluster.connect import connected
from nashbed.controlplane.cluster.credentials import kept
from nashbed.controlplane.cluster.where import parse_where
from nashbed.controlplane.contract.cluster import Cluster, ClusterTls
from nashbed.controlplane.contract.errors import ConfigError, HostError
from tests.support.certificates import make_certificates

pytestmark = pytest.mark.slow


def local(workers: int = 1, tls: ClusterTls | None = None) -> Cluster:
    return Cluster.model_validate({"name": "c", "local": {"workers": workers}, "tls": tls})


def scheduler(address: str, tls: ClusterTls | None = None) -> Cluster:
    return Cluster.model_validate({"name": "c", "scheduler": address, "tls": tls})


def test_workers_of_this_machine_and_their_end(capfd: pytest.CaptureFixture[str]) -> None:
    level = logging.getLogger("distributed").level
    with connected(local(2)) as client:
        workers = client.scheduler_info()["workers"]
        assert [worker["nthreads"] for worker in workers.values()] == [1, 1]
        assert all(address.startswith("tls://127.0.0.1:") for address in workers)
        pids = client.run(os.getpid)
        assert len({os.getpid(), *pids.values()}) == 3
        folders = {Path(worker["local_directory"]) for worker in workers.values()}
        assert all(folder.is_dir() for folder in folders)
    assert not any(map(psutil.pid_exists, pids.values()))
    assert not any(folder.exists() for folder in folders)
    assert logging.getLogger("distributed").level == level
    assert capfd.readouterr() == ("", "")


def test_they_end_when_the_command_fails() -> None:
    with pytest.raises(KeyboardInterrupt), connected(local()) as client:
        pids = client.run(os.getpid)
        raise KeyboardInterrupt
    assert not any(map(psutil.pid_exists, pids.values()))


def test_workers_leave_ctrl_c_to_the_command() -> None:
    """A terminal sends it to all processes of the command."""
    with connected(local()) as client:
        [(address, pid)] = client.run(os.getpid).items()
        client.run(os.kill, pid, 2)
        assert client.submit(os.getpid, pure=False).result() == pid
        assert list(client.scheduler_info()["workers"]) == [address]


@pytest.mark.long
def test_a_worker_that_hangs_is_noticed_sooner_than_by_dask() -> None:
    with connected(local()) as client:
        told = client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.worker_ttl)
    assert told == 60.0


def test_a_scheduler_that_runs_goes_on() -> None:
    with connected(local(1, kept("client"))) as owner:
        address = owner.scheduler.address.replace("tls://", "tcp://")  # which is taken for TLS
        for _ in range(2):
            with connected(parse_where(address)) as client:
                assert client.submit(pow, 2, 5, pure=False).result() == 32
        assert owner.submit(pow, 2, 6).result() == 64


def test_nobody_there_is_one_line_at_once() -> None:
    with connected(local()) as client:
        address = client.scheduler.address
    started = time.monotonic()
    with pytest.raises(HostError, match=f"^{address}: nobody listens there") as caught:
        enter(scheduler(address))
    assert "\n" not in caught.value.message
    assert time.monotonic() - started < 60, "it must not try again until a time-out"


def enter(cluster: Cluster) -> None:
    with connected(cluster):
        pass


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("tcp://93.184.215.14:8786", "is a public address"),
        ("tcp://10.255.0.1:8786", "is not this machine; use TLS"),
        ("tls://10.255.0.1:8786", "tls:// needs certificates"),
    ],
)
def test_what_is_not_safe_is_refused_before_anything_is_sent(address: str, line: str) -> None:
    with pytest.raises(ConfigError, match=line):
        enter(scheduler(address))


def test_tls_from_end_to_end(tmp_path: Path) -> None:
    """Scheduler, workers and clients with certificates of one authority; no others get in."""
    lab, other = make_certificates(tmp_path / "lab"), make_certificates(tmp_path / "other")
    mixed = ClusterTls(ca=lab.ca, certificate=other.certificate, key=other.key)
    with connected(local(1, lab)) as owner:
        address = owner.scheduler.address
        assert address.startswith("tls://127.0.0.1:")
        assert all(each.startswith("tls://") for each in owner.scheduler_info()["workers"])
        with connected(scheduler(address, lab)) as client:
            assert client.submit(pow, 3, 2, pure=False).result() == 9
        for tls, line in [(other, "its certificate is not one that"), (mixed, "did not accept")]:
            with pytest.raises(HostError, match=line) as caught:
                enter(scheduler(address, tls))
            assert "\n" not in caught.value.message
        assert owner.submit(pow, 3, 3).result() == 27


def test_who_says_private_network_is_told_to_use_tls(tmp_path: Path) -> None:
    with connected(local(1, make_certificates(tmp_path / "lab"))) as owner:
        plain = scheduler(owner.scheduler.address.replace("tls://", "tcp://"))
        with pytest.raises(HostError, match="if the scheduler uses TLS, write tls://"):
            enter(plain.model_copy(update={"private_network": True}))


@pytest.mark.parametrize(
    ("library", "cluster", "line"),
    [
        (
            "asyncssh",
            {"ssh": {"hosts": ["127.0.0.1"]}},
            r"asyncssh is not installed: run `pip install 'nashbed\[ssh\]'`",
        ),
        (
            "dask_jobqueue",
            {
                "jobqueue": {
                    "system": "slurm",
                    "jobs": 1,
                    "cores": 1,
                    "memory": "1GB",
                    "interface": "lo",
                },
                "private_network": True,
            },
            r"dask_jobqueue is not installed: run `pip install 'nashbed\[jobqueue\]'`",
        ),
    ],
)
def test_a_missing_library_is_named(
    library: str, cluster: dict[str, object], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(HostError, match=line):
        enter(Cluster.model_validate({"name": "c"} | cluster))
