"""A flow group: flows with the same base RTT, and what they send."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from .applications import UDP, Application, Media
from .course import StrategyName
from .dscp import Dscp
from .model import Name
from .path_changes import ChangingPath, check_loss, check_path, check_rtt
from .selection import Count
from .traffic import OF_MIX, ArrivalSpec, Connections, SizeSpec, check_size
from .units import Duration, Share, Size


class FlowGroup(ChangingPath):
    """Flows with the same base RTT.

    Attributes:
        name: The group's name, unique in the scenario.
        count: Number of flows, which send until the end, or `size`; left out where there are
            `arrivals`.
        base_rtt: Round-trip time without queueing.
        start_offset: How long after the common start this group's flows start.
        random_loss: Share of packets lost at random on the forward path, before the queue.
        dscp: The DSCP that its senders set (IP_TOS), by name (ef, af41, cs5, le) or as 0 to 63.
            Left out: none, which is 0.
        strategy: `of_mix`: its flows run the strategies that the mix says. A CCA by its name: they
            all run this one; the group then is no part of the mix, but background, and stands
            behind the groups of the mix.
        arrivals: Transfers that end come in place of flows that send until the end:
            `{poisson: 20/s}` or `{every: 50ms}`, from the group's start until the trial's end. They
            are background; `of_mix` draws the strategy of each with the shares of the mix.
        size: Bytes of a transfer, or of each flow of the `count`: `1MB`, `{lognormal: {median:
            20kB, sigma: 1.5}}`, or `{one_of: [2kB, 1MB]}`, or `{file: sizes.csv}`, a file with a
            size on each line.
        connections: `new`: each transfer has a connection of its own, with its handshake and end;
            `kept`: it takes an idle one of its group and strategy, if there is one. Left out: new.
        direction: `forward`; or `reverse`: the group's data takes the way of the others'
            acknowledgements, through the bottleneck on the way back, and its acknowledgements come
            through the queue. Its `strategy` is one of its own.
        app: What limits its flows besides the network. Left out: nothing, they send bulk data.
        udp: Its flows are paced datagrams without congestion control, and background.
    """

    name: Name
    count: Count = 0
    base_rtt: Duration
    start_offset: Duration = Duration(0)
    random_loss: Share = Share(0)
    dscp: Dscp | None = None
    strategy: StrategyName = OF_MIX
    arrivals: ArrivalSpec | None = None
    size: SizeSpec | None = None
    connections: Connections | None = None
    direction: Literal["forward", "reverse"] = "forward"
    app: Application | None = None
    udp: Media | None = None

    @property
    def mixed(self) -> bool:
        """Whether its flows are part of the mix; if not, they are background."""
        return self.runs == OF_MIX and self.arrivals is None

    @property
    def ends(self) -> bool:
        """Whether its flows send what `size` says, each from its start on."""
        return self.arrivals is None and self.size is not None

    @property
    def reverse(self) -> bool:
        """Whether its data takes the way of the others' acknowledgements."""
        return self.direction == "reverse"

    @property
    def runs(self) -> str:
        """Its strategy; of datagrams `udp`."""
        return self.strategy if self.udp is None else UDP

    @model_validator(mode="after")
    def _check(self) -> FlowGroup:
        _check_group(self)
        check_rtt("base_rtt", self.base_rtt)
        check_path(self, self.base_rtt)
        check_loss("random_loss", self.random_loss)
        _check_application(self)
        _check_direction(self)
        return self


def _check_group(group: FlowGroup) -> None:
    """A group has a number of flows that send until the end, or transfers that arrive.

    Raises:
        ValueError: It has both, neither, or half of one.
    """
    if isinstance(group.size, Size):
        check_size(group.size, "size")
    if group.arrivals is None:
        if group.connections is not None:
            raise ValueError("connections: is that of transfers; write `arrivals`, or remove it")
        if group.count == 0:
            raise ValueError("count: is 0 or missing; write how many flows, or the `arrivals`")
        return
    if group.count:
        raise ValueError("count: transfers come by `arrivals`; remove one of the two")
    if group.size is None:
        raise ValueError("size: is missing; write that of a transfer, e.g. 1MB")


def _check_direction(group: FlowGroup) -> None:
    """Data on the way of the others' acknowledgements is that of bulk flows in the background.

    Raises:
        ValueError: It is not.
    """
    if not group.reverse:
        return
    for key in ("arrivals", "size", "app", "udp"):
        if getattr(group, key) is not None:
            raise ValueError(
                f"direction: reverse is for flows that send until the end; remove `{key}`, or "
                "write `direction: forward`"
            )
    if group.strategy == "of_mix":
        raise ValueError(
            "direction: a mix competes in the queue of the way there; write a `strategy` of the "
            "group's own, e.g. cubic"
        )


def _check_application(group: FlowGroup) -> None:
    """What goes with an application, and with datagrams.

    Raises:
        ValueError: A key of the group does not.
    """
    key = "app" if group.app is not None else "udp"
    if group.size is not None and (group.app is not None or group.udp is not None):
        given = "size" if group.arrivals is None else "arrivals"
        raise ValueError(f"{key}: transfers are an application; remove `{given}`, or `{key}`")
    if group.udp is None:
        return
    if group.app is not None:
        raise ValueError("app: datagrams have no application; remove `app`, or `udp`")
    if group.strategy != "of_mix":
        raise ValueError(
            "strategy: datagrams have no congestion control; remove `strategy`, or `udp`"
        )


def most_flows(group: FlowGroup, longest_ns: int) -> int:
    """Flows of a group, or its transfers, in a trial, at the most."""
    if group.arrivals is None:
        return group.count
    return group.arrivals.most(max(0, longest_ns - group.start_offset.ns))
