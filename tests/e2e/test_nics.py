"""NICs of the machine that a run takes are given back as they were, by it or after its death.

In a network namespace of the test's own; veth interfaces with several queues play the NICs.
"""

import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.manifest import HostNic
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.host import namespaces, runs
from nashbed.controlplane.machine.host.layout import NIC_MTU, Layout, make_layout
from nashbed.controlplane.machine.host.nics import NicBefore, as_set, await_link, look_at, raise_mtu
from nashbed.controlplane.machine.host.runs import StateFile, own_state
from nashbed.controlplane.machine.paths import CONFIGS
from tests.support.netns import inside

pytestmark = pytest.mark.root

DEAD = 2**22 + 1
"""A process id that no process has."""
NICS = ("nic0", "nic1")
QUEUES = 3


def shell(command: str) -> str:
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"{command}: {run.stderr}"
    return run.stdout


@pytest.fixture
def machine() -> Iterator[str]:
    """A namespace with two NICs, set as no run would set them."""
    name = f"nbnic-{uuid.uuid4().hex[:8]}"
    shell(f"ip netns add {name}")
    for number, nic in enumerate(NICS):
        sides = f"{nic} numrxqueues {QUEUES} type veth peer name far{number}"
        shell(f"ip -n {name} link add {sides}")
        shell(f"ip -n {name} link set far{number} up")
    shell(f"ip -n {name} link set nic0 mtu 9000 up")
    shell(f"ip -n {name} addr add 192.0.2.1/24 dev nic0")
    shell(f"ip netns exec {name} ethtool -K nic0 gro on tx-udp-segmentation off")
    queues = "/sys/class/net/nic0/queues"
    shell(f"ip netns exec {name} sh -c 'echo 1 > {queues}/rx-1/rps_cpus'")
    shell(f"ip -n {name} link set nic1 mtu 1400")  # and down
    yield name
    shell(f"ip netns del {name}")


@pytest.fixture
def testbed() -> Testbed:
    bed = load_testbed(CONFIGS / "testbeds" / "pci.example.yaml").model
    ports = {
        side: getattr(bed.ports, side).model_copy(update={"host_iface": nic})
        for side, nic in zip(("senders", "receivers"), NICS, strict=True)
    }
    return bed.model_copy(update={"ports": bed.ports.model_copy(update=ports)})


def taken(layout: Layout, folder: Path) -> tuple[NicBefore, ...]:
    """What a run does with its NICs until it is killed; returns what they were before."""
    nics = tuple(look_at(side.interface, side.namespace) for side in layout.sides)
    state = own_state("fe01", folder / "run").model_copy(
        update={"pid": DEAD, "namespaces": layout.namespaces, "nics": nics}
    )
    StateFile(state, folder)
    namespaces.create(layout)
    namespaces.configure(layout, {"net.ipv4.tcp_ecn": "0"})
    return nics


def test_a_dead_runs_nics_are_as_they_were(machine: str, testbed: Testbed, tmp_path: Path) -> None:
    layout = make_layout("fe01", testbed, cores=3, lanes=1, groups=1)
    try:
        nics = inside(machine, lambda: taken(layout, tmp_path))
        during = [look(side.namespace, side.interface) for side in layout.sides]
        told = [as_set(side.namespace, side.interface) for side in layout.sides]
    finally:
        inside(machine, lambda: runs.remove_dead_runs(tmp_path))
    assert [nic.mtu for nic in during] == [NIC_MTU, NIC_MTU]
    # veth has no flow control.
    assert told == [HostNic(interface=nic, mtu=NIC_MTU, pauses="unsupported") for nic in NICS]
    for before, taken_nic in zip(nics, during, strict=True):
        assert taken_nic.up
        assert taken_nic.offloads != before.offloads
        assert set(taken_nic.rps_cpus.values()) == {"3"}, "cores 0 and 1 of every queue"
        assert len(taken_nic.rps_cpus) == QUEUES
    assert [nic.origin for nic in nics] == [machine, machine]
    assert (nics[0].mtu, nics[0].up, nics[0].addresses) == (9000, True, ("192.0.2.1/24",))
    assert set(nics[0].rps_cpus.values()) == {"0", "1"}
    after = [inside(machine, lambda n=nic: look_at(n.interface, n.taken_to)) for nic in nics]
    assert after == list(nics)
    assert not set(layout.namespaces) & namespaces.existing_namespaces()


def test_a_run_that_died_before_it_took_its_nics(
    machine: str, testbed: Testbed, tmp_path: Path
) -> None:
    nic = inside(machine, lambda: look_at("nic0", "nbfe01-snd"))
    state = own_state("fe01", tmp_path / "run").model_copy(update={"pid": DEAD, "nics": (nic,)})
    StateFile(state, tmp_path)
    inside(machine, lambda: runs.remove_dead_runs(tmp_path))
    assert inside(machine, lambda: look_at("nic0", "nbfe01-snd")) == nic


def test_a_nic_that_is_not_there_is_named(machine: str) -> None:
    with pytest.raises(HostError, match=r"interface eth7: not on this machine; correct `ports`"):
        inside(machine, lambda: look_at("eth7", "nbfe01-snd"))


def test_a_nic_without_a_link_is_named(machine: str) -> None:
    shell(f"ip -n {machine} link set far0 down")
    with pytest.raises(HostError, match=r"interface nic0: no link in 0.2 s; is its cable plugged"):
        await_link(machine, "nic0", 0.2)


def test_a_nic_that_takes_no_long_frames_is_refused(machine: str) -> None:
    with pytest.raises(HostError, match=r"interface nic0: takes no MTU of 70000"):
        raise_mtu(machine, "nic0", 70_000)


def look(namespace: str, interface: str) -> NicBefore:
    return inside(namespace, lambda: look_at(interface, ""))
