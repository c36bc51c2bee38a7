"""Hosts by ssh: what is started with which options, and a cluster by asyncssh's own server."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.cluster.connect import connected
from nashbed.controlplane.cluster.ssh import connect_options, scheduler_part, worker_parts
from nashbed.controlplane.cluster.where import SshHost
from nashbed.controlplane.contract.cluster import Cluster, ClusterTls, SshHosts, SshOptions
from nashbed.controlplane.contract.errors import ConfigError, HostError
from tests.support.certificates import make_certificates

pytest.importorskip("asyncssh")

from tests.support.ssh_server import SshServer, ssh_server

HOSTS = [SshHost("10.0.0.1", 2), SshHost("10.0.0.2", 8)]
TLS = ClusterTls(ca="/ca", certificate="/me", key="/key")


def test_the_first_host_runs_the_scheduler_on_its_private_address() -> None:
    part = scheduler_part(SshHosts(hosts=("a",), python="/py"), HOSTS[0], "10.0.0.1", None)
    assert part["options"]["address"] == "10.0.0.1"
    assert part["options"]["remote_python"] == "/py"
    assert part["options"]["kwargs"] == {
        "protocol": "tcp://",
        "port": 0,
        "host": "10.0.0.1",
        "dashboard_address": "127.0.0.1:0",
        "idle_timeout": "1 hour",
        "preload": ["nashbed.controlplane.cluster.security"],
    }


def test_each_host_has_its_own_number_of_workers() -> None:
    parts = worker_parts(SshHosts(hosts=("a",)), HOSTS, ["10.0.0.1", "10.0.0.2"], None)
    options = [parts[number]["options"] for number in (0, 1)]
    assert [each["kwargs"]["n_workers"] for each in options] == [2, 8]
    assert [each["kwargs"]["host"] for each in options] == ["10.0.0.1", "10.0.0.2"]
    assert {each["kwargs"]["nthreads"] for each in options} == {1}
    assert {each["remote_python"] for each in options} == {sys.executable}


def test_with_tls_they_listen_on_every_network() -> None:
    (part,) = worker_parts(SshHosts(hosts=("a",)), HOSTS[:1], [None], TLS).values()
    assert part["options"]["kwargs"]["protocol"] == "tls://"
    assert "host" not in part["options"]["kwargs"]


def test_what_is_left_out_is_as_in_the_users_ssh_configuration() -> None:
    assert connect_options(SshOptions()) == {"connect_timeout": 10}
    given = SshOptions(username="lab", port=22, client_keys=("/k",), known_hosts="/n")
    assert connect_options(given) == {
        "connect_timeout": 10,
        "username": "lab",
        "port": 22,
        "client_keys": ["/k"],
        "known_hosts": "/n",
    }


def enter(cluster: Cluster) -> None:
    with connected(cluster):
        pass


def cluster(server: SshServer, tls: ClusterTls | None = None, **keys: Any) -> Cluster:
    options = {"port": server.port, "known_hosts": str(server.known_hosts), "username": "me"}
    ssh = {"hosts": ["127.0.0.1 cores=2"], "options": options} | keys
    return Cluster.model_validate({"name": "c", "ssh": ssh, "tls": tls})


@pytest.mark.slow
@pytest.mark.parametrize("encrypted", [False, True])
def test_a_cluster_by_ssh(tmp_path: Path, encrypted: bool) -> None:
    tls = make_certificates(tmp_path / "lab") if encrypted else None
    with ssh_server(tmp_path) as server:
        with connected(cluster(server, tls)) as client:
            client.wait_for_workers(2, timeout=120)
            addresses = [client.scheduler.address, *client.scheduler_info()["workers"]]
            where = "tls://" if encrypted else "tls://127.0.0.1:"
            assert all(address.startswith(where) for address in addresses)
            assert client.submit(pow, 2, 9).result() == 512
            shared = {name for names in client.run(semaphores()).values() for name in names}
        commands = [command for command in server.commands if "dask_spec" in command]
    assert len(commands) == 2
    assert len(shared) > 0
    assert [name for name in shared if Path(name).exists()] == [], "they outlive nobody"


def semaphores() -> Callable[[], list[str]]:
    """Names the semaphores that a process shares with others; Dask sends it to the workers."""

    def held() -> list[str]:
        with open("/proc/self/maps") as maps:  # noqa: PTH123 - it travels by itself
            return [line.split()[-1] for line in maps if "/dev/shm/sem.mp-" in line]

    return held


def test_a_host_without_nashbed(tmp_path: Path) -> None:
    with ssh_server(tmp_path) as server, pytest.raises(HostError) as caught:
        enter(cluster(server, python="/nonesuch/python"))
    assert caught.value.message.startswith(
        "ssh 127.0.0.1: /nonesuch/python did not start Dask; is nashbed installed for it there?"
    )


def test_a_host_that_does_not_let_us_in(tmp_path: Path) -> None:
    line = r"^ssh 127.0.0.1: permission denied; check ssh.options"
    with ssh_server(tmp_path, lets_in=False) as server, pytest.raises(HostError, match=line):
        enter(cluster(server))


def test_a_host_of_another_key(tmp_path: Path) -> None:
    with ssh_server(tmp_path) as server:
        server.known_hosts.write_text("")
        with pytest.raises(HostError, match=r"^ssh 127.0.0.1: its key is not in known_hosts; run"):
            enter(cluster(server))


def test_a_host_without_ssh(tmp_path: Path) -> None:
    with ssh_server(tmp_path) as server:
        gone = server
    with pytest.raises(HostError, match=r"^ssh 127.0.0.1: .*; try `ssh 127.0.0.1` by hand"):
        enter(cluster(gone))


def test_hosts_of_a_public_network_need_tls(tmp_path: Path) -> None:
    ssh = {"hosts": ["127.0.0.1", "93.184.215.14"]}
    with pytest.raises(ConfigError, match=r"^93.184.215.14: is a public address"):
        enter(Cluster.model_validate({"name": "c", "ssh": ssh, "private_network": True}))
