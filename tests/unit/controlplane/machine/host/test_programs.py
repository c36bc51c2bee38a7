"""A session with a switch: names, cables, ports, and the command line of the switch program."""

import sys
from pathlib import Path

import pytest
from nashbed.controlplane.config import load_testbed, parse_testbed
from nashbed.controlplane.contract.errors import HostError, TargetError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.host import preflight
from nashbed.controlplane.machine.host.layout import make_layout
from nashbed.controlplane.machine.host.local_session import LocalSession
from nashbed.controlplane.machine.host.programs import switch_command
from nashbed.controlplane.machine.host.session import SessionRequest
from nashbed.controlplane.machine.paths import CONFIGS
from nashbed.controlplane.machine.process.managed import Process

TOFINO = """\
name: lab
target: tofino
switch:
  grpc: tofino.lab:50052
  ports:
    senders: {port: 1, speed: 10gbit}
    receivers: {port: 2, speed: 10gbit}
    telemetry: {port: 3, speed: 10gbit}
ports:
  senders: {driver: af_xdp}
  switch: {driver: pci, address: "0000:03:00.0"}
  telemetry: {driver: pci, address: "0000:03:00.1"}
  receivers: {driver: kernel, host_iface: enp4s0f0}
capacity: {rate: 10gbit, lanes: 1}
"""


@pytest.fixture
def bmv2() -> Testbed:
    return load_testbed(CONFIGS / "testbeds" / "bmv2.yaml").model


def with_switch(testbed: Testbed, **changes: object) -> Testbed:
    assert testbed.switch is not None
    return testbed.model_copy(update={"switch": testbed.switch.model_copy(update=changes)})


def test_the_switch_program_stands_between_data_plane_and_receivers(bmv2: Testbed) -> None:
    layout = make_layout("ab12", bmv2, cores=2, lanes=1, groups=1)
    assert layout.namespaces == ("nbab12-snd", "nbab12-rcv", "nbab12-dp", "nbab12-sw")
    assert layout.switch_interfaces == ("nbi0", "nbr1", "nbt0")
    assert layout.senders[0].peer_namespace == "nbab12-dp"
    assert layout.receivers[0].peer_namespace == "nbab12-sw"
    assert [(cable.port, cable.dp) for cable in layout.cables] == [
        ("switch", "nbi1"),
        ("telemetry", "nbt1"),
    ]


def test_the_data_planes_ports(bmv2: Testbed, tmp_path: Path) -> None:
    assert LocalSession(SessionRequest("ab12", tmp_path, bmv2, 1, 1, 10**6)).ports() == {
        "senders": {"driver": "af_packet", "iface": "nbs1"},
        "switch": {"driver": "af_packet", "iface": "nbi1"},
        "telemetry": {"driver": "af_packet", "iface": "nbt1"},
    }


def test_a_switch_elsewhere_needs_nothing_here_but_nics(tmp_path: Path) -> None:
    testbed = parse_testbed(TOFINO, "lab.yaml").model
    session = LocalSession(SessionRequest("ab12", tmp_path, testbed, 1, 1, 10**6))
    assert session.layout.switch == ""
    assert session.layout.cables == ()
    assert session.layout.receivers[0].interface == "enp4s0f0"
    assert session.ports() == {
        "senders": {"driver": "af_xdp", "iface": "nbs1"},
        "switch": {"driver": "pci", "address": "0000:03:00.0"},
        "telemetry": {"driver": "pci", "address": "0000:03:00.1"},
    }
    preflight.require_switch(testbed)
    with pytest.raises(TargetError, match="switch: not started"):
        session.connect_switch(1.0)


def program(folder: Path, usage: str) -> str:
    """A simple_switch that tells its options."""
    path = folder / "simple_switch"
    path.write_text(f"#!/bin/sh\necho '{usage}'\n")
    path.chmod(0o755)
    return str(path)


def test_the_command_line(bmv2: Testbed, tmp_path: Path) -> None:
    """A build without notifications does not know the option for them."""
    layout = make_layout("ab12", bmv2, cores=2, lanes=1, groups=1)
    place = program(tmp_path, "--thrift-port arg  --notifications-addr arg")
    bmv2 = with_switch(bmv2, program=place)
    words = switch_command(bmv2, layout, Path("a.json"), Path("/run/x"), ("--priority-queues", "2"))
    assert words == [
        *("nice", "-n", "-20", place, "-i", "0@nbi0", "-i", "1@nbr1", "-i", "2@nbt0"),
        *("--thrift-port", "9090", "--notifications-addr", "ipc:///run/x/notifications.ipc"),
        *("a.json", "--", "--priority-queues", "2"),
    ]
    program(tmp_path, "--thrift-port arg")
    loud = with_switch(bmv2, log_level="debug", thrift_port=9095)
    words = switch_command(loud, layout, Path("a.json"), Path("/run/x"), ())
    assert words[10:] == ["--thrift-port", "9095", "--log-console", "-L", "debug", "a.json"]


def test_a_missing_program_says_how_to_get_it(bmv2: Testbed) -> None:
    with pytest.raises(HostError) as caught:
        preflight.require_switch(with_switch(bmv2, program="no_such_switch"))
    assert caught.value.message == (
        "no_such_switch: not on PATH, and testbed 'bmv2' runs it; it is part of "
        "p4lang's behavioral-model: install package p4lang-bmv2, or set switch.program"
    )


def test_its_end_is_the_targets_failure() -> None:
    script = 'import sys; sys.exit("Could not bind")'
    process = Process("switch", [sys.executable, "-c", script])
    process.wait_exit(60)
    failure = process.failure("ended")
    assert isinstance(failure, TargetError)
    assert failure.message == "switch ended (exit code 1): Could not bind"
