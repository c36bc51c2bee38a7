"""The shield moves what may run everywhere, and puts all of it back."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from nashbed.controlplane.machine.host import cores as module
from nashbed.controlplane.machine.host.cores import Shield, lower_shield, parse_cores, raise_shield

IDLE = [sys.executable, "-c", "input()"]


@pytest.mark.parametrize(
    ("text", "cores"), [("0", {0}), ("0-1\n", {0, 1}), ("0-2,5,7-8", {0, 1, 2, 5, 7, 8})]
)
def test_cores_are_read_as_the_kernel_writes_them(text: str, cores: set[int]) -> None:
    assert parse_cores(text) == cores


@pytest.fixture
def two_cores() -> list[int]:
    online = sorted(parse_cores(module.ONLINE.read_text()))
    if len(online) < 2:
        pytest.skip("a machine with one core has nothing to shield")
    return online


def idle_process(cores: set[int]) -> subprocess.Popen[bytes]:
    """A process that waits for its input to end, allowed on these cores."""
    process = subprocess.Popen(IDLE, stdin=subprocess.PIPE)
    os.sched_setaffinity(process.pid, cores)
    return process


@pytest.fixture
def processes(
    two_cores: list[int], monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Shield, dict[str, subprocess.Popen[bytes]]]]:
    """Three processes, the only tasks that the shield sees, and a shield for the last core."""
    online, core = set(two_cores), two_cores[-1]
    started = {
        "anywhere": idle_process(online),
        "on the core": idle_process({core}),
        "off the core": idle_process(online - {core}),
    }
    monkeypatch.setattr(module, "_tasks", lambda: iter([p.pid for p in started.values()]))
    plan = module.plan_shield((core,))
    assert plan is not None
    try:
        # The machine's own mask stays out of it.
        yield plan.model_copy(update={"workqueue_mask": ""}), started
    finally:
        for process in started.values():
            process.communicate()


def test_only_what_may_run_everywhere_is_moved_and_moved_back(
    processes: tuple[Shield, dict[str, subprocess.Popen[bytes]]],
) -> None:
    shield, started = processes
    before = {name: os.sched_getaffinity(p.pid) for name, p in started.items()}
    raise_shield(shield)
    assert os.sched_getaffinity(started["anywhere"].pid) == shield.rest
    assert os.sched_getaffinity(started["on the core"].pid) == before["on the core"]
    lower_shield(shield)
    assert {name: os.sched_getaffinity(p.pid) for name, p in started.items()} == before


def test_what_a_moved_task_started_is_put_back_too(
    processes: tuple[Shield, dict[str, subprocess.Popen[bytes]]],
) -> None:
    shield, started = processes
    raise_shield(shield)
    os.sched_setaffinity(started["on the core"].pid, shield.rest)  # as a child would inherit it
    lower_shield(shield)
    assert os.sched_getaffinity(started["on the core"].pid) == set(shield.online)


@pytest.mark.parametrize(
    ("cores", "rest"), [((3,), {0, 1, 2}), ((1, 3), {0, 2}), ((0, 1, 2, 3), None), ((4,), None)]
)
def test_a_shield_needs_a_core_for_the_others(
    cores: tuple[int, ...],
    rest: set[int] | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    online = tmp_path / "online"
    online.write_text("0-3\n")
    monkeypatch.setattr(module, "ONLINE", online)
    plan = module.plan_shield(cores)
    assert (None if plan is None else plan.rest) == rest
