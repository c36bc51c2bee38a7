"""Names and numbers of p4src/bmv2, as its compiled program has them."""

from __future__ import annotations

PORT_RECEIVERS = 1
PORT_TELEMETRY = 2
QUEUE_SHAPED = 0
QUEUES = 2
SWITCH_OPTIONS = ("--priority-queues", str(QUEUES))
"""Of simple_switch itself; the program needs a shaped and an unshaped queue for each port."""

CLONE_POSTCARD = 1
FLOW_TABLE = "BottleneckIngress.flow_table"
TO_QUEUE = "BottleneckIngress.to_queue"

LIMIT_BYTES = "limit_bytes"
SLOT_NS = "slot_ns"

FLOW_REGISTERS = {
    "dropped_packets": "BottleneckIngress.dropped_packets",
    "dropped_bytes": "BottleneckIngress.dropped_bytes",
    "departed_packets": "BottleneckEgress.departed_packets",
    "departed_bytes": "BottleneckEgress.departed_bytes",
    "in_queue_bytes": "in_queue_bytes",
    "peak_queue_bytes": "BottleneckEgress.peak_queue_bytes",
    "arrived_packets": "BottleneckIngress.arrived_packets",
    "arrived_bytes": "BottleneckIngress.arrived_bytes",
}
"""Per flow, in the order of reading: arrivals last, so that arrived - departed - dropped is
never less than what is in the queue."""

HISTOGRAM = "BottleneckEgress.delay_histogram"
HISTOGRAM_BIN_NS = 1 << 20

UNSHAPED_PACKETS = "BottleneckIngress.unshaped_packets"
UNSHAPED_BYTES = "BottleneckIngress.unshaped_bytes"
UNSHAPED_REASONS = ("reverse", "unknown", "malformed")
"""From index 1 on."""

LANE_STATE = (
    "queue_bytes",
    "on_link_bytes",
    "on_link_until_ns",
    "clock_ns",
    "BottleneckEgress.lane_postcards",
)
"""What a reset zeroes besides the per-flow registers and the histogram."""
