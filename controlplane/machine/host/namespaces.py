"""Make and remove the namespaces and interfaces of a layout."""

from __future__ import annotations

import json
from collections import Counter

from ...contract.errors import HostError
from ...contract.model import JsonObject
from ...contract.shared import receiver_address, sender_address
from ..process import command
from ..process.clock import poll
from .counters import FILES
from .layout import MTU, HostSide, Layout
from .nics import await_link_without_pauses, inside, raise_mtu, rps_files, stop_pausing

HELD_PACKETS = 10_000
OFFLOADS = ("tso", "gso", "gro", "lro", "tx")


def existing_namespaces() -> set[str]:
    """Names of all network namespaces."""
    out = command.run(["ip", "-j", "netns", "list"]).out.strip()
    return {entry["name"] for entry in json.loads(out or "[]")}


def refuse_foreign(layout: Layout) -> None:
    """Raise HostError when a name of ours is taken by somebody else."""
    for name in existing_namespaces() & set(layout.namespaces):
        raise HostError(
            f"network namespace {name} already exists and belongs to no known run; "
            f"remove it with `ip netns del {name}` or use another results folder"
        )


def create(layout: Layout) -> None:
    """Make the namespaces and, for virtual ports, the veth pairs."""
    for name in layout.namespaces:
        command.run(["ip", "netns", "add", name])
        command.run(["ip", "-n", name, "link", "set", "lo", "up"])
        set_sysctls(name, {"net.ipv6.conf.all.disable_ipv6": "1",
                           "net.ipv6.conf.default.disable_ipv6": "1"})  # fmt: skip
    for side in layout.sides:
        if side.peer:
            _make_veth((side.namespace, side.interface), (side.peer_namespace, side.peer))
            _bring_up(side.peer_namespace, side.peer)
        elif side.is_nic:
            _take_nic(side)
    for cable in layout.cables:
        _make_veth((layout.dp, cable.dp), (layout.switch, cable.switch))
        _bring_up(layout.dp, cable.dp)
        _bring_up(layout.switch, cable.switch)
    for interface in layout.switch_interfaces if layout.switch else ():
        _steer(layout.switch, interface, layout.cores)


def _take_nic(side: HostSide) -> None:
    """Move a NIC; it is up before the other end of its cable, which waits for the link."""
    command.run(["ip", "link", "set", side.interface, "netns", side.namespace])
    raise_mtu(side.namespace, side.interface, side.mtu)
    stop_pausing(side.namespace, side.interface)
    command.run(["ip", "-n", side.namespace, "link", "set", side.interface, "up"])


def _make_veth(here: tuple[str, str], there: tuple[str, str]) -> None:
    (namespace, interface), (peer_namespace, peer) = here, there
    pair = [interface, "netns", namespace, "type", "veth", "peer", "name", peer]
    command.run(["ip", "link", "add", *pair, "netns", peer_namespace])


def _bring_up(namespace: str, interface: str) -> None:
    _offloads_off(namespace, interface)
    command.run(["ip", "-n", namespace, "link", "set", interface, "mtu", str(MTU), "up"])


def adopt_taps(layout: Layout) -> None:
    """Move the interfaces that a TAP data plane makes into the hosts' namespaces."""
    for side in layout.sides:
        if side.port is None or side.port.driver != "tap":
            continue
        _wait_for(layout.dp, side.interface)
        command.run(["ip", "-n", layout.dp, "link", "set", side.interface, "netns", side.namespace])


def _wait_for(namespace: str, interface: str) -> None:
    args = ["ip", "-n", namespace, "link", "show", "dev", interface]
    poll(
        lambda: True if command.attempt(args).code == 0 else None,
        10.0,
        lambda: HostError(f"interface {interface} did not appear in {namespace}"),
        interval_s=0.1,
    )


def configure(layout: Layout, sysctls: dict[str, str], qdisc: str = "") -> None:
    """Give the hosts' interfaces addresses, neighbours and settings.

    Args:
        qdisc: What queues before each, as tc names it; empty: a FIFO before those that need one.
    """
    for namespace in layout.hosts.values():
        set_sysctls(namespace, sysctls)
    for side in layout.sides:
        _offloads_off(side.namespace, side.interface)
        link = ["ip", "-n", side.namespace, "link", "set", side.interface, "mtu", str(side.mtu)]
        command.run([*link, *(["address", side.mac] if side.mac else [])])
        if qdisc:
            _set_qdisc(side.namespace, side.interface, qdisc)
        elif side.peer:
            _hold_back(side.namespace, side.interface)
        command.run(["ip", "-n", side.namespace, "link", "set", side.interface, "up"])
        _steer(side.namespace, side.interface, layout.receive_cores(side))
    for side in layout.sides:
        if side.is_nic:
            await_link_without_pauses(side.namespace, side.interface)
    for senders, receivers in zip(layout.senders, layout.receivers, strict=True):
        _address(senders, receivers, layout)
        _address(receivers, senders, layout)


def _address(here: HostSide, there: HostSide, layout: Layout) -> None:
    own, other = sender_address, receiver_address
    if here.side == "rcv":
        own, other = other, own
    places = [
        (lane, group) for lane in layout.lanes_of(here.loop) for group in range(layout.groups)
    ]
    mac = hardware_address(there)
    lines = [f"addr add {own(*place)}/32 dev {here.interface}" for place in places]
    # A NIC takes longer frames than TCP is to send. A socket that names no address has its group's.
    lines += [
        f"route add {other(*place)} dev {here.interface} src {own(*place)} mtu {MTU}"
        for place in places
    ]
    lines += [
        f"neigh replace {other(*place)} lladdr {mac} nud permanent dev {here.interface}"
        for place in places
    ]
    command.run(["ip", "-n", here.namespace, "-batch", "-"], text="\n".join(lines) + "\n")


def hardware_address(side: HostSide) -> str:
    """MAC address of a side's interface."""
    return str(_link(side.namespace, side.interface)["address"])


def _link(namespace: str, interface: str) -> JsonObject:
    args = ["ip", "-n", namespace, "-j", "-s", "link", "show", "dev", interface]
    links: list[JsonObject] = json.loads(command.run(args).out)
    return links[0]


def link_losses(namespace: str, interface: str) -> dict[str, int]:
    """Packets that an interface lost, by direction and kind."""
    stats = _link(namespace, interface).get("stats64", {})
    return {
        f"{direction}_{kind}": int(stats.get(direction, {}).get(kind, 0))
        for direction in ("rx", "tx")
        for kind in ("dropped", "errors")
    }


def qdisc_drops(namespace: str) -> dict[str, int]:
    """Packets that the queues and filters of a namespace's interfaces dropped.

    A queue with others below it counts theirs too; one that filters what arrives has the handle
    ffff: and is no part of another.
    """
    listed = command.run(["tc", "-n", namespace, "-s", "-j", "qdisc", "show"]).out.strip()
    drops: Counter[str] = Counter()
    for qdisc in json.loads(listed or "[]"):
        if qdisc["dev"] != "lo" and (qdisc.get("root") or qdisc["handle"] == "ffff:"):
            drops[f"{qdisc['dev']}_qdisc_dropped"] += int(qdisc["drops"])
    return dict(drops)


def protocol_counters(namespace: str) -> str:
    """What a namespace's TCP and IP count, as /proc has it."""
    return command.run(["ip", "netns", "exec", namespace, "cat", *FILES]).out


def _offloads_off(namespace: str, interface: str) -> None:
    switches = [word for name in OFFLOADS for word in (name, "off")]
    command.run(["ip", "netns", "exec", namespace, "ethtool", "-K", interface, *switches])


def _hold_back(namespace: str, interface: str) -> None:
    """Give a veth interface a queue, so that it holds packets back when its peer's ring is full.

    Without one the kernel drops them, and TCP takes a burst of its own for congestion. The queue
    is empty otherwise: the ring holds 256 packets that wait for the processor.
    """
    _set_qdisc(namespace, interface, "pfifo", "limit", str(HELD_PACKETS))


def _set_qdisc(namespace: str, interface: str, *words: str) -> None:
    command.run(["tc", "-n", namespace, "qdisc", "replace", "dev", interface, "root", *words])


def root_qdisc(namespace: str, interface: str) -> str:
    """The kind of queue discipline that an interface has."""
    listed = command.run(["tc", "-n", namespace, "-j", "qdisc", "show", "dev", interface]).out
    return str(next(each["kind"] for each in json.loads(listed) if each.get("root")))


def _steer(namespace: str, interface: str, cores: tuple[int, ...]) -> None:
    """Have received frames of every queue processed on some cores, whichever core sent them.

    Without that the sender's core does the kernel's receive work for what it sends (softirq).
    """
    mask = f"{sum(1 << core for core in cores):x}"
    # Bitmaps are written in groups of 32 bits, the highest first.
    groups = [mask[max(0, end - 8) : end] for end in range(len(mask), 0, -8)][::-1]
    files = rps_files(namespace, interface)
    command.run(inside(namespace, ["tee", *files]), text=",".join(groups) + "\n")


def set_sysctls(namespace: str, values: dict[str, str]) -> None:
    """Change settings of a namespace's kernel, in their order."""
    settings = [f"{name}={value}" for name, value in values.items()]
    command.run(["ip", "netns", "exec", namespace, "sysctl", "-q", "-w", *settings])


def remove(namespaces: tuple[str, ...], interfaces: tuple[tuple[str, str], ...]) -> list[str]:
    """Remove interfaces, then namespaces; returns what could not be removed.

    Interfaces go first: a socket that is still closing keeps a namespace alive after its
    name is gone, and with it the interfaces.
    """
    problems = []
    present = existing_namespaces()
    for namespace, interface in interfaces:
        if namespace in present:
            command.attempt(["ip", "-n", namespace, "link", "del", interface])
    for name in namespaces:
        if name in present and command.attempt(["ip", "netns", "del", name]).code != 0:
            problems.append(f"network namespace {name}")
    return problems
