"""Names, checks and clean-up of the session, as far as they need no root."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.cca import CcaFile
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.scenario import Hosts
from nashbed.controlplane.contract.shared import receiver_address, sender_address
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import Size
from nashbed.controlplane.machine.host import local_session as session_module
from nashbed.controlplane.machine.host import namespaces, preflight, runs
from nashbed.controlplane.machine.host.layout import make_layout
from nashbed.controlplane.machine.host.local_session import LocalSession
from nashbed.controlplane.machine.host.runs import StateFile, own_state
from nashbed.controlplane.machine.host.session import SessionRequest, host_sysctls
from nashbed.controlplane.machine.paths import CONFIGS, artefact, built
from nashbed.controlplane.machine.process import command
from nashbed.controlplane.machine.process.command import Completed

TESTBEDS = CONFIGS / "testbeds"


def test_names_and_addresses() -> None:
    testbed = load_testbed(TESTBEDS / "embedded.yaml").model
    layout = make_layout("ab12", testbed, cores=4, lanes=2, groups=1)
    assert layout.namespaces == ("nbab12-snd", "nbab12-rcv", "nbab12-dp")
    assert (layout.senders.interface, layout.senders.peer) == ("nbs0", "nbs1")
    assert (layout.receivers.interface, layout.receivers.peer) == ("nbr0", "nbr1")
    assert layout.cores == (0, 2, 3)
    assert sender_address(63, 15) == "10.64.63.16"
    assert receiver_address(0, 0) == "10.65.0.1"


@pytest.mark.parametrize(
    ("file", "cores", "senders", "receivers"),
    [
        ("embedded", 2, "1", "2"),  # one core is left: it cannot do both hosts' receive work
        ("embedded", 1, "1", "1"),
        ("embedded", 4, "d", "d"),
        ("embedded", 34, "3,fffffffd", "3,fffffffd"),
        ("af_packet", 2, "1", "2"),
        ("tap", 2, "1", "1"),
        ("bmv2", 2, "1", "1"),  # the switch sends to the receivers, not the packet loop
    ],
)
def test_on_which_cores_each_side_receives(
    file: str, cores: int, senders: str, receivers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    testbed = load_testbed(TESTBEDS / f"{file}.yaml").model
    testbed = testbed.model_copy(
        update={"dataplane": testbed.dataplane.model_copy(update={"core": min(1, cores - 1)})}
    )
    written = {}

    def run(args: Sequence[str], text: str = "") -> Completed:
        if "tee" in args:
            written[args[3]] = ([file.split("/")[4] for file in args[5:]], text)
        if "ls" in args:
            return Completed(tuple(args), 0, "rx-0 tx-0", "")
        return Completed(tuple(args), 0, '[{"address": "02:00:00:00:00:01"}]', "")

    monkeypatch.setattr(command, "run", run)
    namespaces.configure(make_layout("ab12", testbed, cores, lanes=1, groups=1), {})
    assert written == {
        "nbab12-snd": (["nbs0"], f"{senders}\n"),
        "nbab12-rcv": (["nbr0"], f"{receivers}\n"),
    }


VETH = ("nbs1", "nbr1")


@pytest.mark.parametrize(
    ("file", "driver", "key", "devices"),
    [
        ("embedded", "af_xdp", "iface", VETH),
        ("af_packet", "af_packet", "iface", VETH),
        ("tap", "tap", "iface", ("nbs0", "nbr0")),
        ("pci.example", "pci", "address", ("0000:03:00.0", "0000:03:00.1")),
    ],
)
def test_ports_of_every_testbed(
    file: str, driver: str, key: str, devices: tuple[str, str], tmp_path: Path
) -> None:
    testbed = load_testbed(TESTBEDS / f"{file}.yaml").model
    session = LocalSession(SessionRequest("ab12", tmp_path, testbed, 1, 1, 10**6))
    assert session.ports() == {
        "senders": {"driver": driver, key: devices[0]},
        "receivers": {"driver": driver, key: devices[1]},
    }


def test_socket_buffers_hold_four_windows() -> None:
    assert host_sysctls(10**7)["net.ipv4.tcp_rmem"] == "4096 131072 40000000"
    assert host_sysctls(1)["net.ipv4.tcp_wmem"] == "4096 16384 6291456"


def test_socket_buffers_are_those_that_the_scenario_wants() -> None:
    ubuntu = Hosts(wmem_max=Size(4 * 2**20), rmem_max=Size(6 * 2**20))
    sysctls = host_sysctls(10**8, ubuntu)
    assert sysctls["net.ipv4.tcp_wmem"] == "4096 16384 4194304"
    assert sysctls["net.ipv4.tcp_rmem"] == "4096 131072 6291456"
    senders = host_sysctls(10**7, Hosts(wmem_max=Size(4 * 2**20)))
    assert senders["net.ipv4.tcp_rmem"] == host_sysctls(10**7)["net.ipv4.tcp_rmem"]


def meminfo(folder: Path, free: int) -> Path:
    path = folder / "meminfo"
    path.write_text(f"MemTotal: 1 kB\nHugePages_Free: {free}\nHugepagesize: 2048 kB\n")
    return path


def test_huge_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, testbed: Testbed) -> None:
    read = preflight.free_huge_pages
    monkeypatch.setattr(preflight, "free_huge_pages", lambda: read(meminfo(tmp_path, 512)))
    preflight.require_huge_pages(testbed)
    monkeypatch.setattr(preflight, "free_huge_pages", lambda: read(meminfo(tmp_path, 511)))
    with pytest.raises(HostError) as caught:
        preflight.require_huge_pages(testbed)
    assert caught.value.message == (
        "511 huge pages of 2 MiB are free, 512 are needed; run `make hugepages`, or set "
        "dataplane.huge_pages: false in the testbed file"
    )
    plain = testbed.dataplane.model_copy(update={"huge_pages": False})
    preflight.require_huge_pages(testbed.model_copy(update={"dataplane": plain}))


def test_what_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="not built; run `make build`"):
        built(tmp_path / "nashbed-dataplane")
    with pytest.raises(HostError, match=r"bottleneck\.spec: missing; restore it from git"):
        artefact("dpdk/bottleneck.spec", tmp_path)


def test_a_live_run_is_left_alone(tmp_path: Path) -> None:
    parent = own_state("abcd", tmp_path / "run").model_copy(update={"pid": 1, "start": 0})
    from nashbed.controlplane.machine.process.table import start_time

    StateFile(parent.model_copy(update={"start": start_time(1)}), tmp_path)
    with pytest.raises(HostError, match=r"another run \(pid 1, .*run\) is using this machine"):
        runs.remove_dead_runs(tmp_path)


def test_a_dead_run_is_removed(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    dead = own_state("abcd", tmp_path / "run").model_copy(
        update={"pid": 2**22 + 1, "scratch": str(scratch)}
    )
    StateFile(dead, tmp_path)
    assert [state.id for state in runs.remove_dead_runs(tmp_path)] == ["abcd"]
    assert not scratch.exists()
    assert list(tmp_path.glob("*.json")) == []


def test_a_damaged_state_file_is_not_guessed_at(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{")
    with pytest.raises(HostError, match="the state file is damaged"):
        runs.remove_dead_runs(tmp_path)


class HeldCcas:
    """A stand-in for nashbed-cc."""

    def __init__(self, ccas: Sequence[CcaFile], state: StateFile | None) -> None:
        self.maps = {cca.name: 40 for cca in ccas}
        self.closed = False

    def require_held(self) -> None:
        if self.closed:
            raise HostError("nashbed-cc ended in mid-trial")

    def close(self) -> None:
        self.closed = True


def test_ccas_are_held_from_open_to_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, testbed: Testbed
) -> None:
    made: list[HeldCcas] = []

    def register(ccas: Sequence[CcaFile], state: StateFile | None) -> HeldCcas:
        made.append(HeldCcas(ccas, state))
        return made[-1]

    for module, name in (
        (preflight, "check_before_cleanup"), (preflight, "require_huge_pages"),
        (runs, "remove_dead_runs"), (runs, "remove_run"),
        (namespaces, "refuse_foreign"), (namespaces, "create"),
        (session_module, "raise_shield"), (session_module, "raise_backlog"),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, lambda *_: [])
    monkeypatch.setattr(session_module, "RegisteredCcas", register)
    monkeypatch.setattr(session_module, "STATE_DIR", tmp_path)
    monkeypatch.setattr(session_module, "StateFile", lambda state: StateFile(state, tmp_path))
    cca = CcaFile("bbr3", Path("bbr3.c"), "")
    request = SessionRequest("ab12", tmp_path, testbed, 1, 1, 10**6, ccas=(cca,))
    session = LocalSession(request)
    assert session.cca_maps == {}
    session.open()
    assert session.cca_maps == {"bbr3": 40}
    session.require_targets()
    made[0].close()
    with pytest.raises(HostError, match="nashbed-cc ended in mid-trial"):
        session.require_targets()
    session.close()
    assert session.cca_maps == {}
    session.require_targets()
