"""What the flow generator is told: the configuration file of nashbed-flows."""

from typing import Annotated, Literal

from pydantic import Field

from ..applications import DATAGRAM_BYTES, MOST_RUNGS
from ..dscp import HIGHEST
from ..model import ContractModel, Count, InC
from ..shared import CONSTANTS

MS = 10**6
HOUR_NS = 3600 * 10**9
IN_C = InC(is_signed=True)
Time = Annotated[int, Field(ge=0, le=CONSTANTS.duration_ns_max), IN_C]
Period = Annotated[int, Field(ge=MS, le=HOUR_NS), IN_C]
Group = Annotated[int, Field(ge=0, le=CONSTANTS.groups_per_lane - 1)]
Control = Annotated[str, Field(min_length=1, max_length=15)]
"""TCP_CA_NAME_MAX of the kernel, less one."""
Port = Annotated[int, Field(ge=1, le=65535)]


class ToldApplication(ContractModel):
    """What limits the flows of a group; its times count from its flow's planned start.

    Attributes:
        group: The group; one without an application sends bulk data.
        kind: `rate`: it writes at a constant rate. `on_off`: bulk data, and nothing, by turns.
            `video`: segments, one after the other, as a player asks for them. `udp`: paced
            datagrams without any congestion control.
        rate_bps: Of `rate`; of `udp`, 0: each interval has one packet.
        on_ns: Of `on_off`: for how long it is on.
        off_ns: For how long it is off.
        segment_ns: Of `video`: length of a segment.
        buffer_ns: The most video that the player's buffer holds.
        packet_bytes: Of `udp`: the largest payload.
        every_ns: Of `udp`: interval between frames; 0: the rate spaces packets.
        ladder: Of `video`: bitrates in bit/s, ascending.
    """

    group: Group
    kind: Literal["rate", "on_off", "video", "udp"]
    rate_bps: Annotated[int, Field(ge=0, le=CONSTANTS.rate_bps_max)] = 0
    on_ns: Time = 0
    off_ns: Time = 0
    segment_ns: Time = 0
    buffer_ns: Time = 0
    packet_bytes: Annotated[int, Field(ge=0, le=DATAGRAM_BYTES[1])] = 0
    every_ns: Time = 0
    ladder: Annotated[
        tuple[Annotated[int, Field(ge=1, le=CONSTANTS.rate_bps_max)], ...],
        Field(max_length=MOST_RUNGS),
    ] = ()


class Connection(ContractModel):
    """Both ends of a connection.

    Attributes:
        src: IPv4 address of its sender.
        sport: Port of its sender.
        dst: IPv4 address of its sink.
        dport: Port of its sink.
    """

    src: Annotated[str, InC("sockaddr_in", member="source", kind="sockaddr_ipv4")]
    sport: Annotated[Port, InC("sockaddr_in", member="source", kind="sockaddr_port")]
    dst: Annotated[str, InC("sockaddr_in", member="destination", kind="sockaddr_ipv4")]
    dport: Annotated[Port, InC("sockaddr_in", member="destination", kind="sockaddr_port")]


class ToldFlow(Connection):
    """A flow.

    Attributes:
        flow: Its number.
        group: Its flow group.
        cc: Its CCA.
        start_ns: Its start after t0, before the end; not used with control connections.
        process: Position of its control connection, where there are any.
        ecn: Whether it asks for ECN.
        dscp: DSCP of its sender's packets.
        bytes: It is a transfer of so many, which comes at its start; 0: bulk data.
        kept: Whether its connection may carry further transfers of its group and CCA.
    """

    flow: Annotated[int, Field(ge=0, le=CONSTANTS.flow_capacity_max - 1)]
    group: Group
    cc: Control
    start_ns: Time
    process: Annotated[int, Field(ge=0, le=63)] = 0
    ecn: bool = False
    dscp: Annotated[int, Field(ge=0, le=HIGHEST)] = 0
    bytes: Count = 0
    kept: bool = False


class ControlState(ContractModel):
    """A CCA of eBPF, whose state is in the sockets' storage.

    Attributes:
        cc: The CCA.
        map_id: Number of that eBPF map, as the loader of CCAs reports it.
    """

    cc: Control
    map_id: Annotated[int, Field(ge=0, le=2**30)]


class GeneratorConfig(ContractModel):
    """One role in one trial.

    Attributes:
        role: `sender` or `sink`.
        duration_ns: Data is written from t0 until exactly so much later; with control connections
            from each process's own start.
        span_ns: The longest time from t0 to the last flow's end.
        sample_ns: Period of TCP_INFO.
        interval_ns: Interval of goodput.
        drain_ns: How long the sink counts after the end.
        progress_ns: How often the sink reports what has arrived; 0: never.
        read_bytes: The sink reads a flow when so many wait: at most half of a new socket's receive
            buffer (tcp_rmem), so that SO_RCVLOWAT does not enlarge that.
        read_interval_ns: The sink instead reads all flows so often, which thins ACKs; 0: by
            `read_bytes`.
        connect_timeout_ns: For all flows together.
        out: An existing directory; files of an earlier run there are overwritten.
        controls: The control connection of each iperf3 process; none: every flow starts at a time
            of its own.
        control_states: CCAs of eBPF.
        applications: What limits flows, one for a group.
        flows: The flows; numbers and senders are unique.
    """

    role: Literal["sender", "sink"]
    duration_ns: Annotated[Time, Field(ge=MS)]
    span_ns: Time
    sample_ns: Period
    interval_ns: Period
    drain_ns: Annotated[Time, Field(le=HOUR_NS)]
    progress_ns: Time = 0
    read_bytes: Annotated[int, Field(ge=1, le=64 << 10)]
    read_interval_ns: Annotated[Time, Field(le=10**9)] = 0
    connect_timeout_ns: Period
    out: Annotated[str, Field(min_length=1)]
    controls: Annotated[tuple[Connection, ...], Field(max_length=64)] = ()
    control_states: Annotated[tuple[ControlState, ...], Field(max_length=32)] = ()
    applications: Annotated[
        tuple[ToldApplication, ...],
        Field(max_length=CONSTANTS.groups_per_lane),
    ] = ()
    flows: Annotated[
        tuple[ToldFlow, ...], Field(min_length=1, max_length=CONSTANTS.flow_capacity_max)
    ]
