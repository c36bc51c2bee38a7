"""What C, P4 and Python share: shared.json, typed.

The one place of every limit, address, register name and record layout that stands on more than one
side. Python takes it from here, the C programs from a header that the build generates of the same
file (hosts/common/shared_header.py), and tests hold the P4 sources and artefacts against it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Final, Literal

FILE: Final = Path(__file__).with_name("shared.json")
_shared = json.loads(FILE.read_bytes())
FLOW_REGISTERS: Final[tuple[str, ...]] = tuple(_shared["flow_registers"])
"""The per-flow registers by the names that answers and tables have, in their order."""
DROP_REASONS: Final[tuple[str, ...]] = tuple(_shared["drop_reasons"])
"""Why a packet was dropped, by number (`enum drop_reason` in hosts/dpdk/core/aqm.h);
analysis/metrics/losses.py says it in words."""
CONTROL_PORT: Final = 5201
"""Port of the control connections of iperf3 processes: iperf3's own."""
FIRST_CONTROL_SENDER_PORT: Final = 9000
"""Port from which process 0 connects; process n uses this port + n."""


@dataclass(frozen=True)
class Constants:
    """Single values; in C and P4 they have the same names in capitals.

    Attributes:
        rate_bps_max: Highest rate that a lane can be set to, in bit/s. The arithmetic is exact up
            to it; what a machine carries is its testbed's capacity.
        limit_max: Largest drop-tail limit, in its unit.
        overhead_bytes_max: Most bytes that a rate counts for each packet besides the frame.
        cell_bytes_max: Largest cell of a limit in cells.
        lanes_max: Lanes of a data plane.
        groups_per_lane: Flow groups of a lane.
        flow_capacity_max: Entries of the data plane's flow table, over all lanes.
        flow_entries_per_call: Flow table entries of one request.
        queues_max: Queues of a lane.
        queue_by_dscp: A flow's queue where the DSCP of each of its packets chooses it.
        queue_packets_min: Least packets that all queues and delay lines together have memory for.
        queue_packets_max: Most of them.
        memory_mib_max: Largest memory of the data plane.
        core_max: Highest number of a core.
        loops_max: Most packet loops: DPDK has 32 ports, and each loop may have two of its own.
        duration_ns_max: Longest trial.
        clock_bits: Width of a time on the switch clock, which wraps.
        ethernet_bytes: An Ethernet header.
        frame_bytes_min: Shortest frame without FCS.
        frame_bytes_max: Longest frame without FCS (MTU 1500).
        trailers_bytes_max: Behind it, where taps stamp times: NICs have room for so much.
        postcard_ethertype: Of a frame with a postcard in it.
        senders_network: Lane L, group G sends from this network's L.(G+1).
        receivers_network: Likewise, where it sends to.
        sink_port: TCP port of every sink.
        first_sender_port: Port of flow 0 of every lane; flow n sends from this port + n.
        postcard_version: First byte of a postcard.
        postcard_version_queues: First byte of one that a queue_postcard follows.
        postcard_departed: Kind of a postcard: the packet left the queue.
        postcard_dropped: Kind of a postcard: the packet was dropped.
        mark_ce: Of a postcard's marks: the bottleneck has set CE in the packet.
        mark_capable: The packet was ECN-capable when it arrived.
        mark_reason: Why it was dropped: the bits of that number.
        histogram_shift: A bin of the queueing-delay histogram is 2 to this power ns long.
        histogram_bins_log2: A lane has 2 to this power bins; the last one takes what is longer.
        disturbance_bin_ns: A disturbance_record covers so much time.
        pause_least_ns: Shorter pauses of the data plane's loop are not recorded.
        return_bin_ns: A return_record covers so much time.
        probe_echo: Flag of a probe's scheduled frame: the reflector sends it back.
        exit_config: Exit code: the configuration is wrong.
        exit_target: Exit code: the target refused or failed.
        exit_host: Exit code: the machine lacks something.
        exit_internal: Exit code: a mistake of ours.
        flow_samples_file: A sender's flow_sample records.
        goodput_file: A sink's goodput_record records.
        transfers_file: A sender's transfer_record records, where it has transfers.
        reads_file: A sink's goodput_record records of each read of a connection that is kept.
        segments_file: A sender's segment_record records, where it has video.
        sent_file: A sender's sent_datagram records, where it has datagrams.
        arrived_file: A sink's arrived_datagram records, likewise.
        probed_file: A prober's probed records.
        seen_file: A reflector's seen records.
        postcards_file: A replay's postcards.
        summary_file: A replay's summary.
        disturbances_file: A lane's disturbance_record records.
        pauses_file: The loop's pause_record records.
        return_queue_file: A lane's return_record records, where the way back has a queue.
    """

    rate_bps_max: int
    limit_max: int
    overhead_bytes_max: int
    cell_bytes_max: int
    lanes_max: int
    groups_per_lane: int
    flow_capacity_max: int
    flow_entries_per_call: int
    queues_max: int
    queue_by_dscp: int
    queue_packets_min: int
    queue_packets_max: int
    memory_mib_max: int
    core_max: int
    loops_max: int
    duration_ns_max: int
    clock_bits: int
    ethernet_bytes: int
    frame_bytes_min: int
    frame_bytes_max: int
    trailers_bytes_max: int
    postcard_ethertype: int
    senders_network: str
    receivers_network: str
    sink_port: int
    first_sender_port: int
    postcard_version: int
    postcard_version_queues: int
    postcard_departed: int
    postcard_dropped: int
    mark_ce: int
    mark_capable: int
    mark_reason: int
    histogram_shift: int
    histogram_bins_log2: int
    disturbance_bin_ns: int
    pause_least_ns: int
    return_bin_ns: int
    probe_echo: int
    exit_config: int
    exit_target: int
    exit_host: int
    exit_internal: int
    flow_samples_file: str
    goodput_file: str
    transfers_file: str
    reads_file: str
    segments_file: str
    sent_file: str
    arrived_file: str
    probed_file: str
    seen_file: str
    postcards_file: str
    summary_file: str
    disturbances_file: str
    pauses_file: str
    return_queue_file: str


@dataclass(frozen=True)
class Program:
    """Names and numbers of a target's compiled P4 program, as its interface has them.

    Attributes:
        flow_capacity: Entries of its flow table.
        lane_capacity: Lanes that it has registers for.
        constants: Those of its P4 constants that the other side uses too.
        unshaped: Why a packet is not shaped: the reasons of index 1, 2 and so on.
        tables: Name in the sources -> name of the flow table and of its action.
        registers: Name in the sources -> name of a register or a counter.
    """

    flow_capacity: int
    lane_capacity: int
    constants: Mapping[str, int]
    unshaped: tuple[str, ...]
    tables: Mapping[str, str]
    registers: Mapping[str, str]


@dataclass(frozen=True)
class RecordField:
    """A whole number in a record.

    Attributes:
        signed: Whether it is signed (two's complement).
        bits: Its width, whole bytes.
        count: How many of them stand side by side.
    """

    name: str
    signed: bool
    bits: int
    count: int


@dataclass(frozen=True)
class Record:
    """A binary record: its fields side by side, without padding.

    Attributes:
        byte_order: Of every field; a big-endian record is one that P4 writes or reads.
    """

    byte_order: Literal["big", "little"]
    fields: tuple[RecordField, ...]

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return sum(field.bits // 8 * field.count for field in self.fields)


def _constants(values: dict[str, int | str]) -> Constants:
    return Constants(**{name: _value(value) for name, value in values.items()})


def _value(value: int | str) -> Any:
    return int(value, 16) if isinstance(value, str) and value.startswith("0x") else value


def _program(values: Mapping[str, Any]) -> Program:
    return Program(**{**values, "unshaped": tuple(values["unshaped"])})


def _field(values: Mapping[str, Any]) -> RecordField:
    kind, count = values["type"], values.get("count", 1)
    return RecordField(values["name"], signed=kind[0] == "i", bits=int(kind[1:]), count=count)


def _record(values: Mapping[str, Any]) -> Record:
    return Record(values["byte_order"], tuple(_field(field) for field in values["fields"]))


CONSTANTS: Final = _constants(_shared["constants"])
PROGRAMS: Final[Mapping[str, Program]] = {
    target: _program(values) for target, values in _shared["programs"].items()
}
"""Target -> its P4 program."""
RECORDS: Final[Mapping[str, Record]] = {
    name: _record(values) for name, values in _shared["records"].items()
}
"""Name -> binary record; in C it is a struct of this name."""
SINK_PORT: Final = CONSTANTS.sink_port
FIRST_SENDER_PORT: Final = CONSTANTS.first_sender_port
"""Port of flow 0 of every lane; flow n sends from this port + n."""
SENDERS_NETWORK: Final = IPv4Network(CONSTANTS.senders_network)
RECEIVERS_NETWORK: Final = IPv4Network(CONSTANTS.receivers_network)


def lane_network(network: IPv4Network, lane: int) -> IPv4Network:
    """The /24 of either network that is a lane's."""
    return IPv4Network((int(network.network_address) | lane << 8, 24))


def sender_address(lane: int, group: int) -> str:
    """Address of a lane's flow group at the senders."""
    return _address(SENDERS_NETWORK, lane, group)


def receiver_address(lane: int, group: int) -> str:
    """Address of a lane's flow group at the receivers."""
    return _address(RECEIVERS_NETWORK, lane, group)


def _address(network: IPv4Network, lane: int, group: int) -> str:
    return str(network.network_address + (lane << 8 | group + 1))
