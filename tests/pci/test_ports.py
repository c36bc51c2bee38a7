"""The data plane's ports on emulated PCI NICs: what arrives, how long it is, who notices what."""

import struct
from collections.abc import Iterator

import pytest
from tests.pci.machine import Machine, address

pytestmark = [pytest.mark.pci, pytest.mark.dataplane]

PORTS = {name: address(name, 0) for name in ("senders", "receivers")}
ENDS = {name: address(name, 1) for name in PORTS}
DRIVERS = {"e1000e": "e1000e", "vmxnet3": "vmxnet3", "virtio": "virtio-pci"}
"""Kind of machine -> the kernel's driver of the data plane's NICs."""
NARROW = "0000:00:14.0"
MTU = 1564
START_S = 200
"""Ten seconds on an idle machine; with `BOOT_S` less than the 600 that pytest gives a test."""
SOMEBODY = bytes.fromhex("020000000099")
"""No NIC has this address."""
ETHERNET, IPV4 = 14, 20


def frame(length: int, number: int) -> str:
    """An IPv4 packet that belongs to no lane, as long as it may be; the rest is a trailer."""
    packet = min(length - ETHERNET, 1500)
    addresses = bytes([192, 0, 2, 1, 192, 0, 2, 2])
    header = struct.pack("!BBHHHBBH", 0x45, 0, packet, number, 0, 64, 17, 0) + addresses
    filled = bytes((number + i) % 256 for i in range(length - ETHERNET - IPV4))
    return (SOMEBODY + bytes(6) + b"\x08\x00" + header + filled).hex()


def stats(machine: Machine) -> dict[str, dict[str, int]]:
    ports: dict[str, dict[str, int]] = machine.call("ask", op="stats")["ports"]
    return ports


def test_a_nic_is_bound_used_and_given_back(machine: Machine) -> None:
    kernels = DRIVERS[machine.kind]
    addresses = list(PORTS.values())
    ours = ["uio_pci_generic", *(["vfio-pci"] if machine.kind == "e1000e" else [])]
    machine.call("bind", addresses=addresses, name="")
    for name in ours:
        assert machine.call("bind", addresses=addresses, name=name) == [name, name]
        machine.call("prepare_ends", addresses=list(ENDS.values()))
        assert machine.call("start_dataplane", START_S, ports=PORTS) == ""
        assert machine.call("stop_dataplane") == 0
        assert machine.call("bind", addresses=addresses, name="") == [kernels, kernels]
        for each in addresses:
            assert machine.call("interface", address=each)


def test_a_nic_without_room_for_trailers_is_refused(machine: Machine) -> None:
    if machine.kind != "virtio":
        pytest.skip("only virtio-net can be made to take no long frames")
    machine.call("bind", addresses=[NARROW, PORTS["receivers"]], name="uio_pci_generic")
    said = machine.call("start_dataplane", START_S, ports=PORTS | {"senders": NARROW})
    assert said.startswith("4: ")
    assert f"{NARROW}: takes packets of up to 1500 bytes" in said
    assert f"has {MTU}" in said


@pytest.fixture(scope="module")
def running(machine: Machine) -> Iterator[Machine]:
    """A data plane between the ends of the cables."""
    machine.call("bind", addresses=list(PORTS.values()), name="uio_pci_generic")
    machine.call("prepare_ends", addresses=list(ENDS.values()))
    assert machine.call("start_dataplane", START_S, ports=PORTS) == ""
    yield machine
    assert machine.call("stop_dataplane") == 0


def test_frames_arrive_whole_and_in_order(running: Machine) -> None:
    """Up to a full one with trailers of 64 bytes; none is for the NIC that takes it."""
    lengths = (60, 61, 590, 1514, 1518, 1519, 1530, 1534, 1578)
    frames = [frame(lengths[i % len(lengths)], i) for i in range(20 * len(lengths))]
    for first in range(0, len(frames), 20):
        sent = frames[first : first + 20]
        arguments = {"here": ENDS["senders"], "there": ENDS["receivers"], "frames": sent}
        assert running.call("exchange", **arguments) == sent
    counted = stats(running)
    assert counted["senders"]["rx_packets"] == counted["receivers"]["tx_packets"]
    assert counted["receivers"]["tx_packets"] >= len(frames)
    for port in counted.values():
        assert (port["rx_dropped"], port["tx_dropped"], port["rx_no_mbuf"]) == (0, 0, 0)


def test_short_frames_leave_padded(running: Machine) -> None:
    """virtio at the senders hands over what is sent; others pad it before we see it."""
    errors = running.call("receive_errors", address=ENDS["receivers"])
    before = stats(running)["receivers"]["tx_bytes"]
    sent = [frame(length, length) for length in (42, 59)]
    arguments = {"here": ENDS["senders"], "there": ENDS["receivers"], "frames": sent}
    arrived = running.call("exchange", **arguments)
    assert arrived == [each.ljust(120, "0") for each in sent]
    assert stats(running)["receivers"]["tx_bytes"] - before >= 120
    assert running.call("receive_errors", address=ENDS["receivers"]) == errors


def test_what_is_told_of_the_ports(running: Machine) -> None:
    pauses = "off" if running.kind == "e1000e" else "unsupported"
    for port in running.call("ask", op="hello")["ports"].values():
        assert (port["mtu"], port["pauses"]) == (MTU, pauses)


@pytest.mark.parametrize("port", PORTS)
def test_a_link_that_is_lost_is_counted(running: Machine, port: str) -> None:
    before = {name: counted["link_downs"] for name, counted in stats(running).items()}
    running.set_cable(port, plugged=False)
    running.wait_until(lambda: stats(running)[port]["link_downs"] == before[port] + 1)
    running.set_cable(port, plugged=True)
    # Up again, it is no second loss.
    running.call("await_link", address=ENDS[port])
    after = {name: counted["link_downs"] for name, counted in stats(running).items()}
    assert after == before | {port: before[port] + 1}
