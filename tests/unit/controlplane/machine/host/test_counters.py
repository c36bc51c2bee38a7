"""What a kernel counts, from files as /proc has them: losses, pressure, and its work by core."""

import json
from types import SimpleNamespace

import pytest
from nashbed.controlplane.config import load_testbed
from nashbed.controlplane.contract.trial import CoreLoad
from nashbed.controlplane.machine.host import counters, namespaces
from nashbed.controlplane.machine.host import local_session as session_module
from nashbed.controlplane.machine.host.counters import (
    LOSSES,
    PRESSURE,
    Backlog,
    KernelCounts,
    StrainCounts,
    load_between,
    lost,
    parse,
    read_backlogs,
    read_kernel_counts,
    read_ticks,
    strain_between,
    strained,
)
from nashbed.controlplane.machine.host.local_session import LocalSession
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.machine.paths import CONFIGS
from nashbed.controlplane.machine.process.command import Completed

NETSTAT = """\
TcpExt: PruneCalled RcvPruned OfoPruned TCPRcvCollapsed TCPBacklogDrop TCPRcvQDrop DelayedACKs
TcpExt: 1 2 3 4 5 6 7
IpExt: InNoRoutes InOctets
IpExt: 8 9
"""
SNMP = """\
Ip: Forwarding InHdrErrors InDiscards OutDiscards
Ip: 2 10 11 12
Icmp: InMsgs
Icmp: 13
IcmpMsg: InType3
IcmpMsg: 14
Tcp: MaxConn InErrs
Tcp: -1 15
"""


def test_lines_come_in_pairs() -> None:
    found = parse(NETSTAT + SNMP)
    assert list(found) == ["TcpExt", "IpExt", "Ip", "Icmp", "IcmpMsg", "Tcp"]
    assert found["TcpExt"]["DelayedACKs"] == 7
    assert found["Tcp"] == {"MaxConn": -1, "InErrs": 15}


def test_thrown_away_segments_are_losses_and_full_buffers_are_pressure() -> None:
    assert lost("rcv", NETSTAT + SNMP) == {
        "rcv RcvPruned": 2,
        "rcv OfoPruned": 3,
        "rcv TCPBacklogDrop": 5,
        "rcv TCPRcvQDrop": 6,
        "rcv InHdrErrors": 10,
        "rcv InDiscards": 11,
        "rcv OutDiscards": 12,
        "rcv InErrs": 15,
    }
    assert strained("snd", NETSTAT + SNMP) == {"snd PruneCalled": 1, "snd TCPRcvCollapsed": 4}


def test_no_counter_is_both() -> None:
    names = [set().union(*kind.values()) for kind in (LOSSES, PRESSURE)]
    assert not names[0] & names[1]


QDISCS = [
    {"kind": "noqueue", "dev": "lo", "root": True, "drops": 9},
    {"kind": "mq", "dev": "nbs0", "root": True, "drops": 7},
    {"kind": "pfifo", "handle": "0:", "dev": "nbs0", "parent": ":1", "drops": 7},
    {"kind": "clsact", "handle": "ffff:", "dev": "nbs0", "parent": "ffff:fff1", "drops": 20},
    {"kind": "noqueue", "dev": "nbt1", "root": True, "drops": 0},
]


def test_a_queue_with_others_below_it_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def run(args: list[str]) -> Completed:
        asked.append(args)
        return Completed(args, 0, json.dumps(QDISCS), "")

    monkeypatch.setattr(namespaces.command, "run", run)
    drops = namespaces.qdisc_drops("nbab12-snd")
    assert drops == {"nbs0_qdisc_dropped": 27, "nbt1_qdisc_dropped": 0}
    assert asked == [["tc", "-n", "nbab12-snd", "-s", "-j", "qdisc", "show"]]


class Machine:
    """Answers the commands of a session; notes what each namespace was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def run(self, args: list[str]) -> Completed:
        if args[:3] == ["ip", "netns", "exec"]:
            assert args[4:] == ["cat", "/proc/net/netstat", "/proc/net/snmp"]
            self.asked.append((args[3], "counters"))
            return Completed(args, 0, NETSTAT + SNMP, "")
        assert args[1] == "-n"
        what = "queues" if args[0] == "tc" else args[-1]
        self.asked.append((args[2], what))
        device = {"snd": "nbs0", "rcv": "nbr0", "dp": "nbs1"}[args[2].partition("-")[2]]
        queues = [{"dev": device, "root": True, "drops": 3}]
        links = [{"stats64": {"rx": {"dropped": 1, "errors": 0}, "tx": {"dropped": 2}}}]
        return Completed(args, 0, json.dumps(queues if args[0] == "tc" else links), "")


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    machine = Machine()
    monkeypatch.setattr(namespaces.command, "run", machine.run)
    return machine


@pytest.fixture
def session(machine: Machine, tmp_path) -> LocalSession:  # type: ignore[no-untyped-def]
    testbed = load_testbed(CONFIGS / "testbeds" / "embedded.yaml").model
    return LocalSession(SessionRequest("ab12", tmp_path, testbed, 1, 1, 10**6))


def test_a_session_asks_both_hosts_and_every_queue(session: LocalSession, machine: Machine) -> None:
    losses = session.host_losses()
    assert losses["snd TCPBacklogDrop"] == losses["rcv TCPBacklogDrop"] == 5
    assert (losses["nbs0_tx_dropped"], losses["nbr1_rx_dropped"]) == (2, 1)
    assert [losses[f"{name}_qdisc_dropped"] for name in ("nbs0", "nbr0", "nbs1")] == [3, 3, 3]
    hosts = ("nbab12-snd", "nbab12-rcv")
    assert {where for where, what in machine.asked if what == "counters"} == set(hosts)
    assert {where for where, what in machine.asked if what == "queues"} == {*hosts, "nbab12-dp"}


def test_a_session_tells_pressure_and_load(
    session: LocalSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = counters.KernelCounts({}, {}, {})
    monkeypatch.setattr(session_module, "read_kernel_counts", lambda: counts)
    strain = session.host_strain()
    assert strain.pressure == {
        "snd PruneCalled": 1, "snd TCPRcvCollapsed": 4,
        "rcv PruneCalled": 1, "rcv TCPRcvCollapsed": 4,
    }  # fmt: skip
    assert strain.kernel is counts
    assert strain.flow_cores == session.layout.cores


ZEROS = " 00000000" * 8
SOFTNET = f"0000a3f1 00000002 0000001a{ZEROS} 00000005 00000003 00000004 00000001\n"
OLD = f"0000a3f1 00000002 0000001a{ZEROS}\n0000a3f1 00000001 0000000b{ZEROS}\n"
# user nice system idle iowait irq softirq steal guest guest_nice
STAT = (
    "cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 0 0 0 {idle} 0 0 0 0 0 0\n"
    "cpu3 10 0 10 {idle} 0 5 {softirq} {steal} 0 0\nintr 5\n"
)


def test_a_line_names_its_core() -> None:
    assert read_backlogs(SOFTNET) == {3: Backlog(dropped=2, squeezed=26, waiting=5)}


def test_lines_of_old_kernels_are_in_the_order_of_cores() -> None:
    assert read_backlogs(OLD) == {0: Backlog(2, 26, 0), 1: Backlog(1, 11, 0)}


def counts(squeezed: int, dropped: int, ksoftirqd_ns: int, stat: str) -> KernelCounts:
    backlogs = {0: Backlog(0, 0, 0), 3: Backlog(dropped, squeezed, waiting=squeezed // 10)}
    return KernelCounts(backlogs, {3: ksoftirqd_ns}, read_ticks(stat))


def test_the_load_is_what_happened_in_between() -> None:
    before = counts(10, 1, 5 * 10**9, STAT.format(idle=100, softirq=20, steal=4))
    after = counts(30, 4, 7 * 10**9, STAT.format(idle=150, softirq=60, steal=14))
    # Core 3: 50 ticks idle, 40 in softirq, 10 stolen.
    assert load_between(before, after, flow_cores=(1, 3)) == (
        CoreLoad(
            core=0, flows=False, squeezed=0, dropped=0, waiting=0, ksoftirqd_ns=0, softirq=0.0,
            steal=0.0,
        ),
        CoreLoad(
            core=3, flows=True, squeezed=20, dropped=3, waiting=3, ksoftirqd_ns=2 * 10**9,
            softirq=0.4, steal=0.1,
        ),
    )  # fmt: skip
    strain = strain_between(
        StrainCounts({"a": 1}, before), StrainCounts({"a": 3, "b": 4}, after, (3,))
    )
    assert strain.pressure == {"a": 2, "b": 4}
    assert strain.cores is not None
    assert [core.flows for core in strain.cores] == [False, True]


def test_without_counts_there_is_no_load() -> None:
    assert strain_between(StrainCounts({}), StrainCounts({})).cores is None


def test_this_machine_has_a_line_for_each_core() -> None:
    found = read_kernel_counts()
    assert found.backlogs.keys() == found.ticks.keys()


def test_each_cores_softirq_thread_is_found_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {7: "ksoftirqd/0", 19: "ksoftirqd/11", 20: "kworker/0:1", 21: None}
    there = [SimpleNamespace(pid=pid, info={"name": name}) for pid, name in names.items()]
    monkeypatch.setattr(counters.psutil, "process_iter", lambda attributes: iter(there))
    counters.ksoftirqd.cache_clear()
    assert counters.ksoftirqd() == {0: 7, 11: 19}
    counters.ksoftirqd.cache_clear()


def test_a_syn_that_came_again_is_no_loss() -> None:
    """Three of the four errors were SYNs that reached an established connection."""
    netstat = "TcpExt: TCPSYNChallenge\nTcpExt: 3\n"
    assert lost("snd", netstat + "Tcp: MaxConn InErrs\nTcp: -1 4\n") == {"snd InErrs": 1}
