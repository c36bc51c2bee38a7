"""NICs that a run takes, and room for the frames that arrive: as they were before, in the end.

The state file says how everything was before anything is changed, so that a run that was killed
gives it back too.

The room is the kernel's backlog, the whole machine's setting. Frames for the hosts wait in the
backlog of the core that the flows run on. When the hypervisor takes that core away, a thousand
frames (the kernel's default) come together within 20 ms at 600 Mbit/s, and the rest is lost to
every trial that is running.
"""

import json
import logging
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...contract.errors import HostError
from ...contract.manifest import HostNic
from ...contract.model import ContractModel
from ..process import command
from ..process.clock import poll

LOG = logging.getLogger(__name__)

LINK_S = 20.0
"""What negotiating a link takes at most, several seconds at high speeds."""
MAX_BACKLOG = Path("/proc/sys/net/core/netdev_max_backlog")
ROOM_PACKETS = 16384
"""What comes in 0.2 s at 1 Gbit/s: longer than any pause that a trial passes with."""


class Pauses(ContractModel):
    """A NIC's flow control by PAUSE frames.

    Attributes:
        autonegotiate: Whether both ends of the cable agree on it.
        rx: Whether it obeys them.
        tx: Whether it sends them.
    """

    autonegotiate: bool
    rx: bool
    tx: bool

    @property
    def on(self) -> bool:
        """Whether anything pauses."""
        return self.rx or self.tx

    @property
    def words(self) -> list[str]:
        """What makes ethtool set it so."""
        settings = (("autoneg", self.autonegotiate), ("rx", self.rx), ("tx", self.tx))
        return [word for name, on in settings for word in (name, "on" if on else "off")]


LINK_CHANGES = 3
"""So often its link may come up with flow control."""
NO_PAUSES = Pauses(autonegotiate=False, rx=False, tx=False)


class NicBefore(ContractModel):
    """A NIC as it was before a run took it.

    Attributes:
        interface: Its interface.
        origin: The network namespace that it was in; empty: the one without a name, of nashbed.
        taken_to: The run's namespace that it is moved to.
        up: Whether it was up.
        mtu: Its MTU in bytes.
        addresses: Its own addresses with their prefix lengths, which it loses on the way.
        offloads: ethtool's features that can be switched, and whether they were wanted.
        rps_cpus: Cores of each receive queue, as the kernel writes them.
        qdisc: Kind of its root queueing discipline; its parameters are not kept.
        pauses: Its flow control; None: its driver has no such call.
    """

    interface: str
    origin: str
    taken_to: str
    up: bool
    mtu: int
    addresses: tuple[str, ...]
    offloads: dict[str, bool]
    rps_cpus: dict[str, str]
    qdisc: str
    pauses: Pauses | None = None


def look_at(interface: str, taken_to: str) -> NicBefore:
    """What a NIC is now.

    Args:
        interface: Its interface, in this process's namespace.
        taken_to: The namespace that it is to be moved to.

    Raises:
        HostError: There is no such interface.
    """
    origin = command.run(["ip", "netns", "identify"]).out.strip()
    shown = command.attempt(inside(origin, ["ip", "-j", "addr", "show", "dev", interface]))
    if shown.code != 0:
        raise HostError(
            f"interface {interface}: not on this machine; correct `ports` in the testbed file"
        )
    [link] = (link for link in json.loads(shown.out) if link)
    return NicBefore(
        interface=interface,
        origin=origin,
        taken_to=taken_to,
        up="UP" in link["flags"],
        mtu=link["mtu"],
        addresses=tuple(_own_addresses(link)),
        offloads=_offloads(origin, interface),
        rps_cpus=_rps_cpus(origin, interface),
        qdisc=link.get("qdisc", ""),
        pauses=_pauses(origin, interface),
    )


def give_back(nic: NicBefore) -> list[str]:
    """Move a NIC back and make it what it was; returns what of it is still elsewhere.

    A setting that its driver refuses is a warning: it must not keep other runs off the machine.
    """
    if _is_in(nic.taken_to, nic.interface):
        target = nic.origin or str(os.getpid())
        move = ["ip", "-n", nic.taken_to, "link", "set", nic.interface, "netns", target]
        if command.attempt(move).code != 0:
            return [f"interface {nic.interface} from network namespace {nic.taken_to}"]
    elif not _is_in(nic.origin, nic.interface):
        LOG.warning("interface %s is gone: nothing of it to restore", nic.interface)
        return []
    link = ["ip", "link", "set", nic.interface]
    _restore(nic, [*link, "mtu", str(nic.mtu)])
    _restore_offloads(nic)
    _restore_pauses(nic)
    _restore_rps(nic)
    _restore(nic, [*link, "up" if nic.up else "down"])
    for address in nic.addresses:
        _restore(nic, ["ip", "addr", "replace", address, "dev", nic.interface])
    _restore_qdisc(nic)
    return []


def raise_mtu(namespace: str, interface: str, mtu: int) -> None:
    """Have a NIC take longer frames than the hosts send.

    Raises:
        HostError: It cannot.
    """
    link = ["ip", "-n", namespace, "link", "set", interface, "mtu", str(mtu)]
    if command.attempt(link).code != 0:
        raise HostError(
            f"interface {interface}: takes no MTU of {mtu}, and a full packet with the trailers of "
            "time stamps needs it: it would vanish; use another NIC for `host_iface`"
        )


def stop_pausing(namespace: str, interface: str) -> None:
    """Switch a NIC's flow control off: a full ring loses frames, which is counted.

    With it a full ring silently pauses who sends, which looks like a queue. A NIC whose driver has
    no such call is left alone.

    Raises:
        HostError: It stays on.
    """
    before = _pauses(namespace, interface)
    if before is None or not (before.on or before.autonegotiate):
        return
    # Some drivers set it only when both ends agree on it, others only when they do not.
    for words in (NO_PAUSES.words, ["rx", "off", "tx", "off"]):
        command.attempt(inside(namespace, ["ethtool", "-A", interface, *words]))
        now = _pauses(namespace, interface)
        if now is not None and not now.on:
            return
    raise _stays_on(interface)


def _stays_on(interface: str) -> HostError:
    return HostError(
        f"interface {interface}: flow control (PAUSE frames) stays on: a full ring would pause who "
        f"sends; try `ethtool -A {interface} autoneg off rx off tx off`, or use another NIC"
    )


def await_link_without_pauses(namespace: str, interface: str) -> None:
    """Wait until a NIC has a link, on which nothing pauses.

    What was switched off before may be on again: when its link comes up, an e1000e takes what both
    ends of the cable once offered.

    Raises:
        HostError: It has no link, or its flow control stays on.
    """
    for _ in range(LINK_CHANGES):
        await_link(namespace, interface)
        now = _pauses(namespace, interface)
        if now is None or not now.on:
            return
        stop_pausing(namespace, interface)  # which may cost the link
    raise _stays_on(interface)


def as_set(namespace: str, interface: str) -> HostNic:
    """What a NIC of the hosts is set to now."""
    shown = command.run(inside(namespace, ["ip", "-j", "link", "show", "dev", interface])).out
    now = _pauses(namespace, interface)
    return HostNic(
        interface=interface,
        mtu=json.loads(shown)[0]["mtu"],
        pauses="unsupported" if now is None else "on" if now.on else "off",
    )


def link_downs(namespace: str, interface: str) -> int:
    """How often a NIC lost its link since it is there."""
    counter = f"/sys/class/net/{interface}/carrier_down_count"
    return int(command.run(inside(namespace, ["cat", counter])).out)


def await_link(namespace: str, interface: str, timeout_s: float = LINK_S) -> None:
    """Wait until a NIC that is up has a link.

    Raises:
        HostError: It has none.
    """
    carrier = inside(namespace, ["cat", f"/sys/class/net/{interface}/carrier"])
    poll(
        lambda: True if command.run(carrier).out.strip() == "1" else None,
        timeout_s,
        lambda: HostError(
            f"interface {interface}: no link in {timeout_s:g} s; is its cable plugged in, and does "
            "`ports` name what is at its other end?"
        ),
        interval_s=0.1,
    )


def inside(namespace: str, args: Sequence[str]) -> list[str]:
    """A command line in a network namespace.

    Args:
        namespace: Its name; empty: that of this process.
    """
    return ["ip", "netns", "exec", namespace, *args] if namespace else list(args)


def rps_files(namespace: str, interface: str) -> list[str]:
    """The files that say which cores process what each receive queue of an interface received."""
    queues = f"/sys/class/net/{interface}/queues"
    names = command.run(inside(namespace, ["ls", queues])).out.split()
    return [f"{queues}/{name}/rps_cpus" for name in names if name.startswith("rx-")]


def _is_in(namespace: str, interface: str) -> bool:
    shown = command.attempt(inside(namespace, ["ip", "link", "show", "dev", interface]))
    return shown.code == 0


def _own_addresses(link: Mapping[str, Any]) -> Iterable[str]:
    """Addresses that somebody gave it: the kernel and DHCP clients make theirs again."""
    for address in link.get("addr_info", ()):
        if address.get("scope") == "global" and not address.get("dynamic"):
            yield f"{address['local']}/{address['prefixlen']}"


def _offloads(namespace: str, interface: str) -> dict[str, bool]:
    told = command.run(inside(namespace, ["ethtool", "--json", "-k", interface])).out
    [features] = json.loads(told)
    return {
        name: feature["requested"]
        for name, feature in features.items()
        if isinstance(feature, dict) and feature["requested"] is not None and not feature["fixed"]
    }


def _rps_cpus(namespace: str, interface: str) -> dict[str, str]:
    files = rps_files(namespace, interface)
    told = command.run(inside(namespace, ["cat", *files])).out.split() if files else []
    return dict(zip(files, told, strict=True))


def _restore_offloads(nic: NicBefore) -> None:
    now = _offloads(nic.origin, nic.interface)
    for name, wanted in nic.offloads.items():
        if now.get(name) != wanted:
            switch = "on" if wanted else "off"
            _restore(nic, ["ethtool", "-K", nic.interface, name, switch])


def _pauses(namespace: str, interface: str) -> Pauses | None:
    told = command.attempt(inside(namespace, ["ethtool", "-a", interface]))
    if told.code != 0:
        return None
    # Not by --json: ethtool 6.1, Debian 12's, says true there of all that the driver knows.
    said = dict(re.findall(r"^(Autonegotiate|RX|TX):\s+(on|off)$", told.out, re.MULTILINE))
    return Pauses(
        autonegotiate=said.get("Autonegotiate") == "on",
        rx=said.get("RX") == "on",
        tx=said.get("TX") == "on",
    )


def _restore_pauses(nic: NicBefore) -> None:
    if nic.pauses is not None and _pauses(nic.origin, nic.interface) != nic.pauses:
        _restore(nic, ["ethtool", "-A", nic.interface, *nic.pauses.words])


def _restore_rps(nic: NicBefore) -> None:
    files: dict[str, list[str]] = defaultdict(list)
    for file, cores in nic.rps_cpus.items():
        files[cores].append(file)
    for cores, of_cores in files.items():
        _restore(nic, ["tee", *of_cores], cores + "\n")


def _restore_qdisc(nic: NicBefore) -> None:
    """Its root's kind; moving a NIC has given it the kernel's default."""
    told = command.run(inside(nic.origin, ["ip", "-j", "link", "show", "dev", nic.interface])).out
    if nic.qdisc and json.loads(told)[0].get("qdisc", "") != nic.qdisc:
        root = ["dev", nic.interface, "root", nic.qdisc]
        _restore(nic, ["tc", "qdisc", "replace", *root])


def _restore(nic: NicBefore, args: Sequence[str], text: str | None = None) -> None:
    done = command.attempt(inside(nic.origin, args), text=text)
    if done.code != 0:
        words = " ".join(args)
        LOG.warning("interface %s is not as it was: `%s` failed", nic.interface, words)


class RaisedBacklog(ContractModel):
    """What a raised backlog changes, enough to undo it.

    Attributes:
        before: Packets that it took before.
    """

    before: int


def plan_backlog() -> RaisedBacklog | None:
    """What raising the backlog would change; None where it is large enough, or cannot be read."""
    before = _backlog()
    return RaisedBacklog(before=before) if before is not None and before < ROOM_PACKETS else None


def raise_backlog(backlog: RaisedBacklog) -> None:
    """Make room; where that is not allowed, lost frames are counted and trials judged by them."""
    if _set_backlog(ROOM_PACKETS):
        LOG.info("backlog of each core: %d packets, before %d", ROOM_PACKETS, backlog.before)


def lower_backlog(backlog: RaisedBacklog) -> None:
    """Put back what was there, unless somebody else has changed it meanwhile."""
    if _backlog() == ROOM_PACKETS:
        _set_backlog(backlog.before)


def _backlog() -> int | None:
    try:
        return int(MAX_BACKLOG.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _set_backlog(packets: int) -> bool:
    try:
        MAX_BACKLOG.write_text(f"{packets}\n", encoding="utf-8")
    except OSError as error:
        LOG.warning("%s: cannot be set to %d: %s", MAX_BACKLOG, packets, error.strerror)
        return False
    return True
