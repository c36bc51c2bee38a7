"""A network between the parts of a cluster that is cut, shortly and for longer than Dask waits."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from nashbed.controlplane.contract.errors import EXIT_HOST
from tests.e2e.conftest import NASHBED, Nashbed, digests, records
from tests.e2e.test_cluster import FORTY, PATIENCE_S, serving, sweep, wait_for
from tests.support.cable_network import CableNetwork, cable_network

pytestmark = [
    pytest.mark.live, pytest.mark.root, pytest.mark.virtual, pytest.mark.long,
    pytest.mark.usefixtures("guests_place"),
]  # fmt: skip

SOON = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s"}
"""The shortest that Dask takes: a connection is dead when nothing was acknowledged for so long."""
SHORT_S = 3.0
"""How long a cut is that nobody notices."""
PORT = 8786


@pytest.fixture
def network() -> Iterator[CableNetwork]:
    """A scheduler, two machines with workers, and one for the client."""
    with cable_network("server", "near", "far", "laptop") as made:
        yield made


def address(network: CableNetwork) -> str:
    return f"tcp://{network.address('server')}:{PORT}"


def scheduler(network: CableNetwork) -> Any:
    words = ("scheduler", "--host", network.address("server"), "--private-network")
    return serving(*words, ready="tcp://", env=SOON, on=network.on("server"))


def worker(network: CableNetwork, machine: str) -> Any:
    """A worker whose name is the machine's: it gets that again when it comes back."""
    words = ("worker", address(network), "--private-network", "--cores", "1", "--name", machine)
    return serving(*words, ready="tcp://", env=SOON, on=network.on(machine))


def client(network: CableNetwork, told: Path, *words: str) -> subprocess.Popen[bytes]:
    """A command on the laptop; what it tells the user goes to a file."""
    command = [*network.on("laptop"), str(NASHBED), *words]
    more = ["--on", address(network), "--private-network", "--no-report"]
    with told.open("wb") as file:
        return subprocess.Popen(
            [*command, *more], stdout=subprocess.DEVNULL, stderr=file, env=os.environ | SOON
        )


def sealed_by(run_dir: Path, machine: str) -> set[str]:
    """The trials that a machine ran."""
    there = [(name, each) for name, each in records(run_dir).items() if not name.startswith(".")]
    return {name for name, record in there if record["ran_on"]["host"] == machine}


def wait_for_more(run_dir: Path, machine: str) -> None:
    """Wait until a machine has run two more trials: one may have been on its way."""
    done = len(sealed_by(run_dir, machine))
    wait_for(lambda: len(sealed_by(run_dir, machine)) >= done + 2, f"{machine} runs nothing")


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has ended when the block does."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def only_run(results: Path) -> Path:
    """The run directory that appears in a folder."""
    wait_for(lambda: len(list(results.glob("*-e2e"))) == 1, "no run directory")
    return next(results.glob("*-e2e"))


def test_a_network_that_is_cut(nashbed: Nashbed, network: CableNetwork, tmp_path: Path) -> None:
    """First a worker's cable, shortly and then for long, then the client's for long."""
    scenario, told = sweep(nashbed, FORTY), tmp_path / "told"
    with ExitStack() as stack:
        other = str(tmp_path / "undisturbed")
        undisturbed = nashbed.start(
            "run", str(scenario), "--on", "local:1", "--out", other, "--no-report"
        )
        stack.callback(undisturbed.communicate)
        stack.enter_context(scheduler(network))
        stack.enter_context(worker(network, "far"))
        run = client(network, told, "run", str(scenario), "--out", str(nashbed.results))
        stack.enter_context(ended(run))
        run_dir = only_run(nashbed.results)
        a_short_cut(network, run_dir, told)
        stack.enter_context(a_long_cut(network, run_dir, told))
        assert run.poll() is None
        the_clients_cut(network, run, run_dir, told)
        resumed = client(network, told, "resume", str(run_dir))
        stack.enter_context(ended(resumed))
        assert resumed.wait(PATIENCE_S) == 0, told.read_text()
    assert undisturbed.returncode == 0
    assert digests(run_dir) == digests(only_run(tmp_path / "undisturbed"))


def a_short_cut(network: CableNetwork, run_dir: Path, told: Path) -> None:
    """In the middle of a trial: TCP sends again what was lost, and nobody notices."""
    wait_for_more(run_dir, "far")
    network.pull("far")
    time.sleep(SHORT_S)
    network.plug("far")
    wait_for_more(run_dir, "far")
    assert "is gone" not in told.read_text()


@contextmanager
def a_long_cut(network: CableNetwork, run_dir: Path, told: Path) -> Iterator[None]:
    """The trial runs on the other machine, and the first takes part again; until the block ends."""
    network.pull("far")
    wait_for(lambda: "is gone" in told.read_text(), "nobody noticed that a worker is cut off")
    with worker(network, "near"):
        wait_for_more(run_dir, "near")
        network.plug("far")
        wait_for_more(run_dir, "far")
        yield


def the_clients_cut(
    network: CableNetwork, run: subprocess.Popen[bytes], run_dir: Path, told: Path
) -> None:
    """The client gives up, with one line and what to do; what was sealed is kept."""
    network.pull("laptop")
    assert run.wait(PATIENCE_S) == EXIT_HOST, told.read_text()
    lines = told.read_text().splitlines()
    assert sum("the cluster's scheduler is gone" in line for line in lines) == 1, lines
    assert any(f"to continue: nashbed resume {run_dir}" in line for line in lines), lines
    assert "Traceback" not in told.read_text()
    network.plug("laptop")
    wait_for(lambda: network.reaches("laptop", "server", PORT), "the laptop's cable does not work")
