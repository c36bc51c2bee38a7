"""Testbed files: switches, virtual time, taps."""

import pytest
from nashbed.controlplane.config import load_testbed, parse_testbed
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.testbed import Guest, SwitchBmv2, SwitchTofino
from nashbed.controlplane.contract.units import Size
from nashbed.controlplane.machine.paths import DEFAULT_TESTBED
from tests.unit.controlplane.conftest import TESTBED

VETHS = "{senders: {driver: af_packet}, switch: {driver: af_xdp}, telemetry: {driver: af_packet}}"
EMBEDDED = "{senders: {driver: af_xdp}, receivers: {driver: af_xdp}}"
SPEED = "speed: 25gbit"
CABLES = f"senders: {{port: 1, {SPEED}}}, receivers: {{port: 2, {SPEED}}}"
TOFINO = f"switch: {{grpc: 'lab:50052', ports: {{{CABLES}, telemetry: {{port: 3, {SPEED}}}}}}}"
NICS = VETHS.replace("}}", "}, receivers: {driver: kernel, host_iface: enp4s0}}")
NEEDS_NOTHING = "name: v\ntarget: virtual\n"
REAL = "name: r\nports: {senders: {driver: tap}, receivers: {driver: tap}}\n"
NONE = "target virtual has none, for every trial has a machine of its own; remove it"
TAPS = """\
capture:
  before: {file: "a-{trial}.pcap", clock: card}
  behind: {file: "b-{trial}.pcap", format: %s}
"""


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
        ("bmv2", "switch: 3", VETHS, "t:3: switch: 3 is not allowed here; write {program: ...}"),
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


def test_packet_loops_deal_the_lanes_out() -> None:
    plane = parse_testbed(
        REAL + "dataplane: {cores: [2, 1, 5], memory: 2GiB}\n", "t"
    ).model.dataplane
    assert (plane.cores, plane.loops) == ((2, 1, 5), 3)
    assert plane.loop_packets == plane.queue_packets // 3
    assert parse_testbed(REAL, "t").model.dataplane.cores == (1,)


TWO_LOOPS = "dataplane: {cores: [1, 2], memory: 2GiB}"
NIC = "{driver: pci, address: '0000:03:00.0', host_iface: a}"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            REAL + "dataplane: {cores: 1}",
            "t:3: dataplane.cores: 1 is not allowed here; write",
        ),
        (REAL + "dataplane: {cores: []}", "t:3: dataplane.cores: [] has 0; write at least 1"),
        (REAL + "dataplane: {core: 1}", "t:3: dataplane.core: unknown key; did you mean 'cores'?"),
        (
            REAL + "dataplane: {cores: [1, 2, 1]}",
            "t:3: dataplane.cores: core 1 is named twice; each packet loop needs its own",
        ),
        (
            REAL + "dataplane: {cores: [1, 2], lanes: 1, memory: 2GiB}",
            "t:3: dataplane.cores: 2 packet loops for 1 lanes (dataplane.lanes), and a lane is one",
        ),
        (
            REAL + "dataplane: {cores: [1, 2]}",
            "t:3: dataplane.memory: 1.073741824GB is too small for queue_packets: 131072 and 2 "
            "packet loops; write at least ",
        ),
        (
            f"name: r\nports: {{senders: {NIC}, receivers: {{driver: tap}}}}\n{TWO_LOOPS}",
            "t:3: dataplane.cores: 2 packet loops, and each needs a NIC of its own, but "
            "ports.senders is a single one; name one core",
        ),
        (
            written("bmv2", "switch: {}", VETHS) + TWO_LOOPS,
            "t:6: dataplane.cores: 2 packet loops, but one cable leads to the switch of target "
            "bmv2; name one core",
        ),
        (
            written("tofino", TOFINO, NICS) + TWO_LOOPS,
            "t:6: dataplane.cores: 2 packet loops, but one cable leads to the switch of target",
        ),
    ],
)
def test_a_mistake_about_packet_loops_is_one_line_with_its_place(text: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_testbed(text + "\n", "t")
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith(line)


def test_a_virtual_testbed_needs_nothing_but_its_target() -> None:
    bed = parse_testbed(NEEDS_NOTHING, "t").model
    assert bed.is_virtual
    assert bed.virtual == Guest(kernel="", memory=None)
    assert not bed.states_capacity
    assert not parse_testbed(REAL, "t").model.is_virtual


def test_its_guests_may_be_chosen() -> None:
    bed = parse_testbed(f'{NEEDS_NOTHING}virtual: {{kernel: "6.12", memory: 256MiB}}\n', "t").model
    assert bed.virtual == Guest(kernel="6.12", memory=Size(256 * 2**20))


def test_the_shipped_one_is_virtual() -> None:
    assert load_testbed(DEFAULT_TESTBED).model.is_virtual


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (NEEDS_NOTHING + "virtual: {kernel: 6.12}", "t:3: virtual.kernel: 6.12 is a number; write"),
        (NEEDS_NOTHING + 'virtual: {kernel: "6.x"}', "t:3: virtual.kernel: '6.x' is not allowed"),
        (NEEDS_NOTHING + "virtual: {kernal: a}", "t:3: virtual.kernal: unknown key; did you mean"),
        (NEEDS_NOTHING + "virtual: 3", "t:3: virtual: 3 is not allowed here; write keys and valu"),
        (NEEDS_NOTHING + "virtual: {memory: 65MB}", "t:3: virtual.memory: 65MB must be whole MiB"),
        (NEEDS_NOTHING + "virtual: {memory: 1MiB}", "t:3: virtual.memory: 1.048576MB must be"),
        (NEEDS_NOTHING + "ports: {senders: {driver: tap}}", f"t:3: ports: {NONE}"),
        (NEEDS_NOTHING + "dataplane: {cores: [1]}", f"t:3: dataplane: {NONE}"),
        (NEEDS_NOTHING + "switch: {}", f"t:3: switch: {NONE}"),
        (
            NEEDS_NOTHING + "capture: {before: {file: a}, behind: {file: b}}",
            f"t:3: capture: {NONE}",
        ),
        (REAL + "virtual: {}", "t:3: virtual: target dpdk runs in real time; remove it"),
        ("name: r", "t:1: key 'ports' is missing; add it: target dpdk has ports senders, recei"),
    ],
)
def test_a_mistake_about_virtual_time_is_one_line_with_its_place(text: str, line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_testbed(text + "\n", "t")
    assert "\n" not in caught.value.message
    assert caught.value.message.startswith(line)


def test_taps() -> None:
    bed = parse_testbed(TESTBED + TAPS % "exablaze", "lab.yaml").model
    assert bed.capture is not None
    assert (bed.capture.before.format, bed.capture.before.clock) == ("auto", "card")
    assert (bed.capture.behind.format, bed.capture.behind.clock) == ("exablaze", "")
    assert parse_testbed(TESTBED, "lab.yaml").model.capture is None


def test_an_unknown_format_has_its_place() -> None:
    with pytest.raises(ConfigError, match=r"lab\.yaml:8: capture\.behind\.format") as raised:
        parse_testbed(TESTBED + TAPS % "hpt", "lab.yaml")
    assert len(raised.value.message.splitlines()) == 1
