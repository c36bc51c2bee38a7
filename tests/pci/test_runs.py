"""Whole runs on emulated PCI NICs: a cable that is pulled, and what is given back after any end.

The machine is emulated instruction by instruction, so nothing is said of its times.
"""

import signal
import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.pci.machine import Machine, MachineError, address

pytestmark = [
    pytest.mark.pci,
    pytest.mark.dataplane,
    # It has flow control and PAUSE frames, which the others do not.
    pytest.mark.parametrize("machine", ["e1000e"], indirect=True, scope="session"),
]

ENDS = {name: address(name, 1) for name in ("senders", "receivers")}
DATA_PLANES = {name: address(name, 0) for name in ENDS}
SCENARIO = """
name: pulled
title: Two flows, two cables
description: One trial undisturbed, one with a cable pulled, one without an end
bottleneck: {rate: 5mbit, buffer: 2bdp}
flows:
  - {name: main, count: 2, base_rtt: 40ms}
strategies: [cubic, reno]
duration: 10s
warmup: 1s
trials: 3
seed: 1
max_attempts: 1
sweep: {mixes: [1]}
"""
TESTBED = """
name: emulated
target: dpdk
dataplane:
  {cores: [1], service_core: 0, shield: false, loop: poll, memory: 640MiB, queue_packets: 16384}
ports:
  senders: {driver: pci, address: "%(senders)s", host_iface: %(here)s}
  receivers: {driver: pci, address: "%(receivers)s", host_iface: %(there)s}
capacity: {rate: 10mbit, lanes: 1}
"""
ON_TIME = {
    *("round_trips", "paused", "responses", "lateness", "loop_gap", "link_busy", "sampling"),
}
"""Gates that judge how late something was: an emulated machine may fail them."""
TARGET_ERROR, INTERRUPTED = 3, 130
RUN_S = 400
"""For each step of a run, in our time; some 30 s on an idle machine."""


def before_and_started(machine: Machine) -> dict[str, Any]:
    """Start a run; the kernel's NICs before it takes them, with settings that it does not make."""
    machine.call("bind", addresses=list(DATA_PLANES.values()), name="uio_pci_generic")
    for end in ENDS.values():
        machine.call("reset_end", address=end)
    before = settings(machine)
    here, there = (machine.call("interface", address=end) for end in ENDS.values())
    testbed = TESTBED % {**DATA_PLANES, "here": here, "there": there}
    machine.call("start_run", scenario=SCENARIO, testbed=testbed)
    return before


def settings(machine: Machine) -> dict[str, Any]:
    """What a run has to give back."""
    kernels = {end: machine.call("settings", address=place) for end, place in ENDS.items()}
    drivers = machine.call("drivers", addresses=list(DATA_PLANES.values()))
    return kernels | {"drivers": drivers}


def await_flows(machine: Machine, trials: int) -> None:
    """Wait until so many trials of the run are complete and the next one's flows send."""
    _follow(machine, lambda run: run["trials"] == trials and run["starts"])
    machine.call("sleep", seconds=4)


def await_end(machine: Machine) -> dict[str, Any]:
    """Wait for the end of the run; its status, its log and what it recorded."""
    status = _follow(machine, lambda run: run["status"] is not None)
    recorded: dict[str, Any] = machine.call("recorded")
    return status | recorded


def _follow(machine: Machine, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    deadline = time.monotonic() + RUN_S
    while not done(run := machine.call("run_state")):
        late = time.monotonic() > deadline
        if late or run["status"] is not None:
            problem = f"not within {RUN_S} s" if late else f"ended with {run['status']}"
            raise MachineError(f"{problem}; the run said\n{run['log']}\n{machine.console()}")
        time.sleep(0.5)
    return run


@pytest.fixture(scope="module")
def interrupted(machine: Machine) -> dict[str, Any]:
    """What is left of a run whose second trial lost a link and whose third was interrupted."""
    before = before_and_started(machine)
    await_flows(machine, trials=1)
    machine.set_cable("receivers", plugged=False)
    machine.call("sleep", seconds=3)  # longer than it takes anyone to look
    machine.set_cable("receivers", plugged=True)
    await_flows(machine, trials=2)
    machine.call("signal_run", number=signal.SIGINT)
    return await_end(machine) | {"before": before, "after": settings(machine)}


def gates(trial: dict[str, Any]) -> dict[str, Any]:
    return {gate["name"]: gate for gate in trial["gates"]}


def test_a_trial_keeps_order_and_loses_nothing(interrupted: dict[str, Any]) -> None:
    judged = gates(interrupted["trials"][0])
    assert set(judged) > ON_TIME
    failed = [each for name, each in judged.items() if name not in ON_TIME and not each["passed"]]
    assert failed == []


def test_a_link_that_is_lost_in_mid_trial_fails_its_gate(interrupted: dict[str, Any]) -> None:
    trial = interrupted["trials"][1]
    judged = gates(trial)
    assert not trial["valid"]
    assert not judged["links_up"]["passed"]
    assert "port receivers 1" in judged["links_up"]["detail"]
    for name in ("conservation", "postcards_complete"):
        assert judged[name]["passed"], judged[name]


def test_a_run_records_how_its_ports_are_set(interrupted: dict[str, Any]) -> None:
    [manifest] = interrupted["manifests"]
    for port in manifest["ports"].values():
        assert (port["mtu"], port["pauses"]) == (1564, "off")
        assert (port["host_nic"]["mtu"], port["host_nic"]["pauses"]) == (1564, "off")


def test_an_interrupted_run_gives_everything_back(interrupted: dict[str, Any]) -> None:
    assert interrupted["status"] == INTERRUPTED, interrupted["log"]
    assert len(interrupted["trials"]) == 2
    assert interrupted["after"] == interrupted["before"]


def test_a_killed_data_plane_gives_everything_back(machine: Machine) -> None:
    before = before_and_started(machine)
    await_flows(machine, trials=0)
    machine.call("kill", program="nashbed-dataplane")
    ended = await_end(machine)
    assert ended["status"] == TARGET_ERROR, ended["log"]
    assert settings(machine) == before
