"""Testbeds whose bottleneck is a switch: what they take, and what each mistake is told."""

from __future__ import annotations

import pytest
from nashbed.controlplane.config import parse_testbed
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.testbed import SwitchBmv2, SwitchTofino

VETHS = "{senders: {driver: af_packet}, switch: {driver: af_xdp}, telemetry: {driver: af_packet}}"
EMBEDDED = "{senders: {driver: af_xdp}, receivers: {driver: af_xdp}}"
SPEED = "speed: 25gbit"
CABLES = f"senders: {{port: 1, {SPEED}}}, receivers: {{port: 2, {SPEED}}}"
TOFINO = f"switch: {{grpc: 'lab:50052', ports: {{{CABLES}, telemetry: {{port: 3, {SPEED}}}}}}}"
NICS = VETHS.replace("}}", "}, receivers: {driver: kernel, host_iface: enp4s0}}")


def written(target: str, switch: str, ports: str) -> str:
    lines = ["name: b", f"target: {target}", switch, f"ports: {ports}"]
    return "\n".join([*lines, "capacity: {rate: 20mbit, lanes: 1}", ""])


def test_each_target_has_a_section_of_its_own() -> None:
    bmv2 = parse_testbed(written("bmv2", "switch: {thrift_port: 9095}", VETHS), "t").model
    assert bmv2.switch == SwitchBmv2(thrift_port=9095)
    assert list(bmv2.cabling.of_dataplane()) == ["senders", "switch", "telemetry"]
    tofino = parse_testbed(written("tofino", TOFINO, NICS), "t").model
    assert isinstance(tofino.switch, SwitchTofino)
    assert tofino.switch.ports.telemetry.port == 3
    assert "receivers" not in tofino.cabling.of_dataplane()


@pytest.mark.parametrize(
    ("target", "switch", "ports", "line"),
    [
        ("bmw", "", EMBEDDED, "t:2: target: 'bmw' is unknown; write 'dpdk', 'virtual', 'bmv2' or"),
        ("bmv2", "", VETHS, "t:1: key 'switch' is missing; target bmv2 needs it"),
        ("dpdk", "switch: {}", EMBEDDED, "t:3: switch: target dpdk has no switch of its own"),
        ("bmv2", "switch: {thrift_port: 0}", VETHS, "t:3: switch.thrift_port: 0: input should be"),
        ("bmv2", "switch: {log_level: x}", VETHS, "t:3: switch.log_level: 'x' is unknown; write"),
        ("bmv2", "switch: {thriftport: 1}", VETHS, "t:3: switch.thriftport: unknown key; did you"),
        ("bmv2", "switch: 3", VETHS, "t:3: switch: 3 is not allowed here; write keys and values"),
        ("tofino", "switch: {grpc: lab:1}", NICS, "t:3: switch: key 'ports' is missing; add it"),
        ("tofino", TOFINO.replace("3,", "2,"), NICS, "t:3: switch.ports: senders, receivers and"),
        ("tofino", TOFINO.replace("3,", "130,"), NICS, "t:3: switch.ports.telemetry: must be in"),
        ("tofino", TOFINO.replace("{grpc", "{burst: 1kB, grpc"), NICS, "t:3: switch.burst: 1kB"),
        ("tofino", TOFINO, VETHS, "t:4: ports: key 'receivers' is missing; add it: target tofino"),
        ("bmv2", "switch: {}", EMBEDDED, "t:4: ports: key 'switch' is missing; add it: target"),
        ("dpdk", "", VETHS, "t:4: ports: key 'receivers' is missing; add it: target dpdk has"),
        ("bmv2", "switch: {}", NICS, "t:4: ports.receivers: target bmv2 does not use this port"),
        (
            "dpdk",
            "",
            EMBEDDED.replace("rs: {driver: af_xdp}}", "rs: {driver: kernel, host_iface: a}}"),
            "t:4: ports.receivers.driver: with target dpdk write another driver",
        ),
        (
            "bmv2",
            "switch: {}",
            VETHS.replace("af_xdp", "tap"),
            "t:4: ports.switch.driver: 'tap' cannot reach simple_switch on this machine; write",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(
    target: str, switch: str, ports: str, line: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_testbed(written(target, switch, ports), "t")
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith(line)
