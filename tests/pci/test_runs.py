# SPDX-License-Identifier: Apache-2.0
"""Whole runs on emulated PCI NICs: a cable that is pulled, and what is given back after any end.

The machine is emulated instruction by instruction, so nothing is said of its times.
"""

from __future__ import annotations

import signal
from typing import Any

import pytest
from tests.pci.machine import Machine, address

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
title: Two flows, one cable
description: One trial, long enough to pull a cable
bottleneck: {rate: 5mbit, buffer: 2bdp}
flows:
  - {name: main, count: 2, base_rtt: 40ms}
strategies: [cubic, reno]
duration: %s
warmup: 1s
trials: 1
seed: 1
max_attempts: 1
sweep: {mixes: [1]}
"""
TESTBED = """
name: emulated
target: dpdk
dataplane:
  {core: 1, service_core: 0, shield: false, loop: poll, memory: 640MiB, queue_packets: 16384}
ports:
  senders: {driver: pci, address: "%(senders)s", host_iface: %(here)s}
  receivers: {driver: pci, address: "%(receivers)s", host_iface: %(there)s}
capacity: {rate: 10mbit, lanes: 1}
"""
START_S = 200
END_S = 200
TARGET_ERROR, INTERRUPTED = 3, 130


@pytest.fixture
def before(machine: Machine) -> dict[str, Any]:
    """The kernel's NICs before a run takes them, with settings that a run does not make."""
    machine.call("bind", addresses=list(DATA_PLANES.values()), name="uio_pci_generic")
    for end in ENDS.values():
        machine.call("reset_end", address=end)
    return settings(machine)


def settings(machine: Machine) -> dict[str, Any]:
    return {end: machine.call("settings", address=place) for end, place in ENDS.items()}


def start(machine: Machine, duration: str) -> int:
    """Start a run and wait until its flows send; the data plane's process."""
    here, there = (machine.call("interface", address=end) for end in ENDS.values())
    testbed = TESTBED % {**DATA_PLANES, "here": here, "there": there}
    machine.call("start_run", scenario=SCENARIO % duration, testbed=testbed)
    process: int = machine.call("await_flows", START_S + 20, timeout_s=START_S)
    return process


def test_a_cable_that_is_pulled_in_mid_trial(machine: Machine, before: dict[str, Any]) -> None:
    start(machine, "12s")
    machine.set_cable("receivers", plugged=False)
    machine.call("sleep", seconds=1)
    machine.set_cable("receivers", plugged=True)
    ended = machine.call("end_run", END_S + 20, timeout_s=END_S)
    [trial] = ended["trials"]
    gates = {gate["name"]: gate for gate in trial["gates"]}
    assert not trial["valid"]
    assert not gates["links_up"]["passed"]
    assert "port receivers 1" in gates["links_up"]["detail"]
    assert gates["conservation"]["passed"], gates["conservation"]
    [manifest] = ended["manifests"]
    for port in manifest["ports"].values():
        assert (port["mtu"], port["pauses"]) == (1564, "off")
        assert (port["host_nic"]["mtu"], port["host_nic"]["pauses"]) == (1564, "off")
    assert settings(machine) == before


def test_a_run_keeps_order_and_loses_nothing(machine: Machine, before: dict[str, Any]) -> None:
    start(machine, "4s")
    ended = machine.call("end_run", END_S + 20, timeout_s=END_S)
    [trial] = ended["trials"]
    gates = {gate["name"]: gate for gate in trial["gates"]}
    for name in ("links_up", "conservation", "postcards_complete", "congestion_control"):
        assert gates[name]["passed"], gates[name]
    assert settings(machine) == before


def test_an_interrupted_run_gives_the_nics_back(machine: Machine, before: dict[str, Any]) -> None:
    start(machine, "300s")
    ended = machine.call("end_run", END_S + 20, timeout_s=END_S, stop=signal.SIGINT)
    assert ended["status"] == INTERRUPTED, ended["log"]
    assert settings(machine) == before


def test_a_killed_data_plane_gives_the_nics_back(machine: Machine, before: dict[str, Any]) -> None:
    process = start(machine, "300s")
    machine.call("kill", process=process)
    ended = machine.call("end_run", END_S + 20, timeout_s=END_S)
    assert ended["status"] == TARGET_ERROR, ended["log"]
    assert settings(machine) == before
