"""The kernel's work on each core, from files as /proc has them."""

from __future__ import annotations

from pathlib import Path

from nashbed.controlplane.contract.strain import CoreLoad
from nashbed.controlplane.machine.host.counters import (
    Backlog,
    KernelCounts,
    StrainCounts,
    load_between,
    read_backlogs,
    read_kernel_counts,
    read_ticks,
    strain_between,
)
from nashbed.controlplane.machine.process.table import threads_named

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


def test_threads_are_found_by_name(tmp_path: Path) -> None:
    for pid, name in ((7, "ksoftirqd/0"), (19, "ksoftirqd/11"), (20, "kworker/0:1")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "comm").write_text(f"{name}\n")
    (tmp_path / "21").mkdir()
    assert threads_named("ksoftirqd/", tmp_path) == {"ksoftirqd/0": 7, "ksoftirqd/11": 19}
