"""Names and numbers of p4src/bmv2, as its compiled program has them."""

from ...contract import shared
from ...contract.shared import CONSTANTS, PROGRAMS

_BMV2 = PROGRAMS["bmv2"]

PORT_RECEIVERS = _BMV2.constants["PORT_RECEIVERS"]
PORT_TELEMETRY = _BMV2.constants["PORT_TELEMETRY"]
QUEUE_SHAPED = _BMV2.constants["QUEUE_SHAPED"]
QUEUES = 1 + _BMV2.constants["QUEUE_UNSHAPED"]
SWITCH_OPTIONS = ("--priority-queues", str(QUEUES))
"""Options of simple_switch; the program needs a shaped and an unshaped queue for each port."""

MIRROR_SESSION = _BMV2.constants["MIRROR_SESSION"]
FLOW_TABLE = _BMV2.tables["flow_table"]
TO_QUEUE = _BMV2.tables["to_queue"]

LIMIT_BYTES = _BMV2.registers["limit_bytes"]
SLOT_NS = _BMV2.registers["slot_ns"]

FLOW_REGISTERS = {
    name: _BMV2.registers[name]
    for name in sorted(shared.FLOW_REGISTERS, key=lambda name: name.startswith("arrived"))
    if name in _BMV2.registers
}
"""Per flow, in the order of reading: arrivals last, so that arrived - departed - dropped is
never less than what is in the queue."""

UNCOUNTED = tuple(name for name in shared.FLOW_REGISTERS if name not in _BMV2.registers)
"""What never happens there: its queue marks no packet."""

HISTOGRAM = _BMV2.registers["delay_histogram"]
HISTOGRAM_BIN_NS = 1 << CONSTANTS.histogram_shift

UNSHAPED_PACKETS = _BMV2.registers["unshaped_packets"]
UNSHAPED_BYTES = _BMV2.registers["unshaped_bytes"]
UNSHAPED_REASONS = _BMV2.unshaped
"""From index 1 on."""

LANE_STATE = tuple(
    _BMV2.registers[name]
    for name in (
        "queue_bytes",
        "on_link_bytes",
        "on_link_until_ns",
        "last_event_ns",
        "lane_postcards",
    )
)
"""What a reset zeroes besides the per-flow registers and the histogram."""
