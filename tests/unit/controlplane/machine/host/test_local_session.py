"""Names, checks and clean-up of the session, as far as they need no root."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.scenario_keys import Hosts
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
    assert (layout.senders[0].interface, layout.senders[0].peer) == ("nbs0", "nbs1")
    assert (layout.receivers[0].interface, layout.receivers[0].peer) == ("nbr0", "nbr1")
    assert layout.cores == (0, 2, 3)
    assert sender_address(63, 15) == "10.64.63.16"
    assert receiver_address(0, 0) == "10.65.0.1"


def with_cores(testbed: Testbed, *cores: int) -> Testbed:
    """The testbed with packet loops on these cores."""
    plane = testbed.dataplane.model_copy(update={"cores": cores})
    return testbed.model_copy(update={"dataplane": plane})


def test_each_packet_loop_has_a_pair_of_interfaces_on_either_side() -> None:
    testbed = with_cores(load_testbed(TESTBEDS / "embedded.yaml").model, 3, 1)
    layout = make_layout("ab12", testbed, cores=4, lanes=5, groups=1)
    assert layout.namespaces == ("nbab12-snd", "nbab12-rcv", "nbab12-dp")
    assert [(side.loop, side.interface, side.peer) for side in layout.sides] == [
        (0, "nbs0", "nbs1"), (1, "nbs2", "nbs3"), (0, "nbr0", "nbr1"), (1, "nbr2", "nbr3"),
    ]  # fmt: skip
    assert len({side.mac for side in layout.sides}) == 4
    assert (layout.loop_cores, layout.cores) == ((3, 1), (0, 2))
    assert [list(layout.lanes_of(loop)) for loop in range(2)] == [[0, 2, 4], [1, 3]]
    assert [layout.at_lane("rcv", lane).interface for lane in range(3)] == ["nbr0", "nbr2", "nbr0"]


def test_a_lane_has_its_addresses_and_routes_at_its_loops_interface(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written: dict[str, list[str]] = {}

    def run(args: Sequence[str], text: str = "") -> Completed:
        if "-batch" in args:
            written.setdefault(args[2], []).extend(text.splitlines())
        out = "rx-0 tx-0" if "ls" in args else '[{"address": "02:00:00:00:00:01"}]'
        return Completed(tuple(args), 0, out, "")

    monkeypatch.setattr(command, "run", run)
    testbed = with_cores(load_testbed(TESTBEDS / "embedded.yaml").model, 0, 1)
    namespaces.configure(make_layout("ab12", testbed, cores=3, lanes=3, groups=1), {})
    mac = "lladdr 02:00:00:00:00:01 nud permanent dev"
    assert sorted(written["nbab12-snd"]) == [
        "addr add 10.64.0.1/32 dev nbs0", "addr add 10.64.1.1/32 dev nbs2",
        "addr add 10.64.2.1/32 dev nbs0",
        f"neigh replace 10.65.0.1 {mac} nbs0", f"neigh replace 10.65.1.1 {mac} nbs2",
        f"neigh replace 10.65.2.1 {mac} nbs0",
        "route add 10.65.0.1 dev nbs0 src 10.64.0.1 mtu 1500",
        "route add 10.65.1.1 dev nbs2 src 10.64.1.1 mtu 1500",
        "route add 10.65.2.1 dev nbs0 src 10.64.2.1 mtu 1500",
    ]  # fmt: skip
    assert sorted(line for line in written["nbab12-rcv"] if line.startswith("route")) == [
        "route add 10.64.0.1 dev nbr0 src 10.65.0.1 mtu 1500",
        "route add 10.64.1.1 dev nbr2 src 10.65.1.1 mtu 1500",
        "route add 10.64.2.1 dev nbr0 src 10.65.2.1 mtu 1500",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("loops", "cores", "senders", "receivers"),
    [
        ((1, 2), 4, [(0, 3), (0, 3)], [(0, 3), (0, 3)]),
        ((1, 2), 3, [(0,), (0,)], [(1,), (2,)]),  # each loop does its receivers' half
        ((0, 1), 2, [(0, 1), (0, 1)], [(0, 1), (0, 1)]),  # they sleep, and share all cores
    ],
)
def test_on_which_cores_each_loops_sides_receive(
    loops: tuple[int, ...],
    cores: int,
    senders: list[tuple[int, ...]],
    receivers: list[tuple[int, ...]],
) -> None:
    testbed = with_cores(load_testbed(TESTBEDS / "embedded.yaml").model, *loops)
    layout = make_layout("ab12", testbed, cores, lanes=2, groups=1)
    assert [layout.receive_cores(side) for side in layout.senders] == senders
    assert [layout.receive_cores(side) for side in layout.receivers] == receivers


def test_a_qdisc_is_looked_for_among_symbols_and_modules(tmp_path: Path) -> None:
    symbols, modules = tmp_path / "kallsyms", tmp_path / "modules.dep"
    symbols.write_text("0000000000000000 t fq_codel_enqueue\n")
    modules.write_text("kernel/net/sched/sch_fq_pie.ko.xz: \n")
    preflight.require_qdisc("fq_codel", symbols, modules)
    with pytest.raises(
        HostError, match=r"^hosts\.qdisc: this machine's kernel .* has no fq \(CONF"
    ):
        preflight.require_qdisc("fq", symbols, modules)
    modules.write_text("kernel/net/sched/sch_fq.ko.xz: \n")
    preflight.require_qdisc("fq", symbols, modules)
    with pytest.raises(HostError, match="has no pfifo_fast"):
        preflight.require_qdisc("pfifo_fast", tmp_path / "none", tmp_path / "none")


@pytest.mark.parametrize(
    ("loops", "loop", "service", "problem"),
    [
        ((0, 2), "poll", 0, "dataplane.cores has core 2, but this machine has cores 0 to 1"),
        ((1,), "poll", 7, "dataplane.service_core has core 7, but this machine has cores 0 to 1"),
        ((0, 1), "poll", 0, "dataplane.cores has all 2 cores of this machine, and no core is left"),
        ((0, 1), "sleep", 0, ""),
        ((1,), "poll", 0, ""),
    ],
)
def test_cores_are_checked_before_anything_is_touched(
    loops: tuple[int, ...],
    loop: str,
    service: int,
    problem: str,
    testbed: Testbed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    update = {"cores": loops, "loop": loop, "service_core": service}
    plane = testbed.dataplane.model_copy(update=update)
    bed = testbed.model_copy(update={"dataplane": plane})
    if not problem:
        preflight.require_cores(bed)
        return
    with pytest.raises(HostError) as caught:
        preflight.require_cores(bed)
    assert problem in caught.value.message


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
    testbed = with_cores(testbed, min(1, cores - 1))
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


@pytest.mark.parametrize(
    ("file", "senders", "receivers"),
    [
        ("embedded", ["nbs1", "nbs3"], ["nbr1", "nbr3"]),
        ("tap", ["nbs0", "nbs2"], ["nbr0", "nbr2"]),
    ],
)
def test_each_packet_loop_has_a_device_at_every_port(
    file: str, senders: list[str], receivers: list[str], tmp_path: Path
) -> None:
    testbed = with_cores(load_testbed(TESTBEDS / f"{file}.yaml").model, 1, 2)
    ports = LocalSession(SessionRequest("ab12", tmp_path, testbed, 2, 1, 10**6)).ports()
    assert [ports[name]["iface"] for name in ("senders", "receivers")] == [senders, receivers]


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

    def __init__(self, ccas: Sequence[CFile], state: StateFile | None) -> None:
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

    def register(ccas: Sequence[CFile], state: StateFile | None) -> HeldCcas:
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
    cca = CFile("bbr3", Path("bbr3.c"), "")
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
