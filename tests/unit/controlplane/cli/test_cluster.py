"""`nashbed worker` and `nashbed scheduler`, in processes of their own."""

import os
import re
import signal
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import dask.config
import psutil
import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.cluster.connect import connected
from nashbed.controlplane.contract.cluster import Cluster, ClusterTls
from nashbed.controlplane.machine.guest.scratch import KEPT, guests_folder
from tests.e2e.test_doors import as_nobody, error_of
from tests.support.certificates import make_certificates
from tests.support.command import Command, command

pytestmark = pytest.mark.slow

Capture = pytest.CaptureFixture[str]
PATIENCE_S = 60.0


def options(tls: ClusterTls | None) -> list[str]:
    if tls is None:
        return []
    return ["--tls-ca", tls.ca, "--tls-cert", tls.certificate, "--tls-key", tls.key]


@contextmanager
def scheduler(tls: ClusterTls | None = None, port: int = 0) -> Iterator[tuple[Command, str]]:
    args = ["--port", str(port), *options(tls)]
    with command("scheduler", *args) as started:
        match = re.search(r"scheduler at (\S+) \(", started.line_with("scheduler at"))
        assert match is not None
        yield started, match[1]


@pytest.fixture(scope="module")
def shared() -> Iterator[str]:
    """The address of a scheduler that tests leave as they found it: without workers."""
    with scheduler() as (_, address):
        yield address


def cluster(address: str, tls: ClusterTls | None = None) -> Cluster:
    return Cluster.model_validate({"name": "c", "scheduler": address, "tls": tls})


def test_a_scheduler_and_a_worker_with_two_cores(tmp_path: Path) -> None:
    tls = make_certificates(tmp_path / "lab")
    folder = tmp_path / "scratch"
    folder.mkdir()
    with scheduler(tls) as (manager, address):
        assert address.startswith("tls://")
        args = [address, "--cores", "2", "--name", "lab", "--folder", str(folder), *options(tls)]
        with command("worker", *args) as worker:
            worker.line_with(f"2 workers at {address}")
            with connected(cluster(address, tls)) as client:
                workers = client.scheduler_info()["workers"].values()
                assert sorted(each["name"] for each in workers) == ["lab-0", "lab-1"]
                assert {each["nthreads"] for each in workers} == {1}
                assert all(each["local_directory"].startswith(str(folder)) for each in workers)
                pids = list(client.run(os.getpid).values())
            code, rest = worker.stop()
        assert (code, rest) == (0, "")
        assert not any(map(psutil.pid_exists, pids))
        assert list(folder.iterdir()) == []
        assert manager.stop(signal.SIGINT) == (0, "")


@pytest.mark.long
def test_a_killed_worker_comes_back(shared: str) -> None:
    with command("worker", shared, "--cores", "1") as worker:
        worker.line_with("1 worker at")
        with connected(cluster(shared)) as client:
            (pid,) = client.run(os.getpid).values()
            os.kill(pid, signal.SIGKILL)
            assert client.submit(os.getpid).result(timeout=60) != pid
        assert worker.stop() == (0, "")


@pytest.mark.long
def test_one_of_two_workers_that_lost_its_connection_comes_back(shared: str) -> None:
    """As after a cut of the network that one connection outlived; the other goes on."""
    with command("worker", shared, "--cores", "2", "--name", "lab") as worker:
        worker.line_with("2 workers at")
        with connected(cluster(shared)) as client:
            (lost, before), (_, other) = sorted(client.run(os.getpid).items())
            client.retire_workers([lost], close_workers=True)
            wait_for(
                lambda: (
                    lost not in (there := client.scheduler_info()["workers"]) and len(there) == 2
                )
            )
            pids = set(client.run(os.getpid).values())
            assert other in pids
            assert before not in pids
            named = client.scheduler_info()["workers"].values()
            assert sorted(each["name"] for each in named) == ["lab-0", "lab-1"]
        assert worker.stop() == (0, "")


@pytest.mark.long
def test_who_has_served_waits_for_its_name() -> None:
    """A scheduler knows the old connection for a while after the network was cut."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    args = ("worker", f"tcp://127.0.0.1:{port}", "--cores", "1", "--name", "lab")
    with command(*args) as first:
        with scheduler(port=port) as (manager, _):
            first.line_with("1 worker at")
            manager.process.kill()
            first.line_with("waiting for it")
            first.process.send_signal(signal.SIGSTOP)
        with scheduler(port=port), command(*args) as second:
            second.line_with("1 worker at")
            first.process.send_signal(signal.SIGCONT)
            first.line_with("there is a worker of the name lab already")
            second.stop()
            first.line_with("1 worker at")
        assert first.stop()[0] == 0


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.long
def test_a_worker_waits_for_its_scheduler_and_for_the_next() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address = f"tls://127.0.0.1:{port}"
    with command("worker", f"tcp://127.0.0.1:{port}", "--cores", "1") as worker:
        worker.line_with("nobody listens there")
        for _ in range(2):
            with scheduler(port=port) as (manager, _):
                worker.line_with(f"1 worker at {address}")
                manager.process.kill()
                worker.line_with("the scheduler is gone; waiting for it")
        assert worker.stop() == (0, "")


@pytest.mark.long
def test_a_real_testbed_is_one_process_with_a_thread_for_each_lane(
    shared: str, tmp_path: Path
) -> None:
    bed = tmp_path / "bed.yaml"
    bed.write_text(
        "name: bed\nports: {senders: {driver: tap}, receivers: {driver: tap}}\n"
        "capacity: {rate: 100mbit, lanes: 3}\n"
    )
    with command("worker", shared, "--testbed", str(bed)) as worker:
        assert f"testbed {bed} with 3 lanes at {shared}" in worker.line_with("testbed")
        with connected(cluster(shared)) as client:
            (each,) = client.scheduler_info()["workers"].values()
            assert each["nthreads"] == 3
            assert client.submit(dask.config.get, "nashbed.testbed").result() == str(bed)
        assert worker.stop() == (0, "")


@pytest.mark.long
def test_a_name_that_is_taken(shared: str) -> None:
    args = ("worker", shared, "--cores", "1", "--name", "lab")
    with command(*args) as first:
        first.line_with("1 worker at")
        with command(*args) as second:
            second.line_with("there is a worker of the name lab already; give another --name")
            assert second.process.wait(60) == 4
        assert first.stop() == (0, "")


PAGES = ("/", "/status", "/sitemap.json", "/info/main/workers.html", "/api/v1", "/metrics")


def test_the_dashboard_is_for_who_knows_its_address() -> None:
    with command("scheduler", "--port", "0", "--dashboard", "127.0.0.1:0") as started:
        address = started.line_with("dashboard at").split()[-1]
        started.line_with("scheduler at")
        host, _, secret = address.removeprefix("http://").partition("/")
        asked = HTTPConnection(host)

        def get(path: str, **headers: str) -> HTTPResponse:
            asked.request("GET", path, headers=headers)
            answer = asked.getresponse()
            answer.read()
            return answer

        assert [get(path).status for path in PAGES] == [403] * len(PAGES)
        assert get(f"/{secret}x").status == 403
        assert get("/health").status == 200
        entered = get(f"/{secret}")
        assert (entered.status, entered.headers["Location"]) == (302, "/status")
        cookie = str(entered.headers["Set-Cookie"]).partition(";")[0]
        assert get("/info/main/workers.html", Cookie=cookie).status == 200
        assert get("/info/main/workers.html", Cookie=f"{cookie}x").status == 403
        assert started.stop() == (0, "")


@pytest.mark.root
def test_a_scheduler_and_its_workers_refuse_another_user(shared: str) -> None:
    """At every port where they listen: nothing is read or run without what only their user has."""
    with command("worker", shared, "--cores", "1") as worker:
        worker.line_with("1 worker at")
        with connected(cluster(shared)) as client:
            pids = [client.run_on_scheduler(os.getpid), *client.run(os.getpid).values()]
        ports = [ports_of(pid) for pid in (*pids, worker.process.pid)]
        assert [len(each) for each in ports] == [1, 1, 1], "Dask's web servers are closed"
        said = as_nobody(lambda: intrusions(guests_folder() / KEPT, [port for (port,) in ports]))
        assert said.pop("credentials") == "EACCES"
        assert len(said) == 6
        assert set(said.values()) == {"refused"}
        assert worker.stop() == (0, "")


def intrusions(kept: Path, ports: list[int]) -> dict[str, str]:
    """What comes of reading the credentials, and of asking ports in the clear and by TLS."""
    said = {"credentials": error_of(kept.read_text)}
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for port in ports:
        for scheme in ("tcp", "tls"):
            plain = socket.create_connection(("127.0.0.1", port), PATIENCE_S)
            answer = b""
            with suppress(OSError):  # an alert of TLS among them
                there = context.wrap_socket(plain) if scheme == "tls" else plain
                there.sendall(bytes(64))
                answer = there.recv(64)
            refused = answer == b"" or answer.startswith(b"\x15\x03")
            said[f"{scheme}://:{port}"] = "refused" if refused else repr(answer)
    return said


def ports_of(pid: int) -> list[int]:
    """Where a process itself listens."""
    found = psutil.Process(pid).net_connections("tcp")
    return [each.laddr.port for each in found if each.status == psutil.CONN_LISTEN]


def test_a_port_that_is_taken(shared: str) -> None:
    port = shared.rpartition(":")[2]
    with command("scheduler", "--port", port) as second:
        said, _ = second.process.communicate(timeout=60)
    assert "cannot listen there" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "line"),
    [
        ("worker tcp://93.184.215.14:8786", "93.184.215.14: is a public address"),
        ("worker tcp://10.255.0.1:8786", "10.255.0.1: is not this machine; use TLS"),
        ("worker tls://10.255.0.1:8786", "tls:// needs certificates"),
        ("worker tls://127.0.0.1:8786 --tls-ca a", "TLS needs --tls-cert and --tls-key as well"),
        ("worker tcp://127.0.0.1:1 --tls-ca a --tls-cert a --tls-key a", "is for tls:// addresses"),
        ("worker local:2", "cluster 'local' has no scheduler that workers could join"),
        ("worker tcp://127.0.0.1:1 --folder /nonesuch", "--folder /nonesuch: there is no such"),
        ("worker tcp://127.0.0.1:1 --testbed virtual", "virtual time needs no testbed on a worker"),
        ("worker tcp://127.0.0.1:1 --testbed tap --cores 2", "--cores: a testbed's lanes say how"),
        ("scheduler --host 0.0.0.0", "0.0.0.0: means every network of this machine; name one"),
        ("scheduler --host 93.184.215.14", "93.184.215.14: is a public address"),
        ("scheduler --host 10.255.0.1", "10.255.0.1: is not this machine; use TLS"),
        ("scheduler --tls-key a", "TLS needs --tls-ca and --tls-cert as well"),
    ],
)
def test_a_mistake_is_one_line(args: str, line: str, capsys: Capture) -> None:
    assert run(args.split()) == 2
    said = capsys.readouterr().err
    assert line in said
    assert said.count("\n") == 1
