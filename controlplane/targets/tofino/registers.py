"""What P4 and the traffic manager counted: queries, and the numbers in their answers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...contract.errors import TargetError
from ...contract.model import JsonObject
from ...contract.shared import CONSTANTS, PROGRAMS
from .info import Change, Query

_TOFINO = PROGRAMS["tofino"]
BYTE_COUNT_WRAP = _TOFINO.constants["BYTE_COUNT_WRAP"]
"""Where a byte count's low word wraps."""
HISTOGRAM = _TOFINO.registers["delay_histogram"]
HISTOGRAM_BINS = 1 << CONSTANTS.histogram_bins_log2
HISTOGRAM_BIN_NS = 1 << CONSTANTS.histogram_shift
UNSHAPED = _TOFINO.registers["unshaped_packets"]
UNSHAPED_REASONS = _TOFINO.unshaped
"""From index 1 on."""
CLOCK = _TOFINO.registers["clock"]
_PACKETS = "$COUNTER_SPEC_PKTS"


@dataclass(frozen=True)
class FlowCount:
    """A count of each flow, in packets by a counter and in bytes by a register."""

    name: str

    @property
    def counter(self) -> str:
        """The counter of packets."""
        return _TOFINO.registers[f"{self.name}_packets"]

    @property
    def register(self) -> str:
        """The register of bytes."""
        return _TOFINO.registers[f"{self.name}_bytes"]

    def queries(self, flows: range) -> list[Query]:
        """The entries of some flows: all counters, then all registers."""
        return [counter_query(self.counter, flow) for flow in flows] + [
            Query(self.register, {"$REGISTER_INDEX": flow}) for flow in flows
        ]

    def values(self, entries: Sequence[JsonObject]) -> dict[str, list[int]]:
        """Packets and bytes of each flow, from the answers to `queries`."""
        half = len(entries) // 2
        return {
            f"{self.name}_packets": [packets(entry) for entry in entries[:half]],
            f"{self.name}_bytes": [byte_count(e, self.register) for e in entries[half:]],
        }

    def zeros(self, flows: range) -> list[Change]:
        """Changes that set both to 0."""
        words: dict[str, int | str | bool] = {
            f"{self.register}.low": 0,
            f"{self.register}.high": 0,
        }
        return [zero_counter(self.counter, flow) for flow in flows] + [
            Change("modify", self.register, {"$REGISTER_INDEX": flow}, words) for flow in flows
        ]


FLOW_COUNTS = (FlowCount("arrived"), FlowCount("departed"), FlowCount("dropped"))


def counter_query(counter: str, index: int) -> Query:
    """One entry of a counter."""
    return Query(counter, {"$COUNTER_INDEX": index})


def zero_counter(counter: str, index: int) -> Change:
    """A change that sets a counter's packets to 0."""
    return Change("modify", counter, {"$COUNTER_INDEX": index}, {_PACKETS: 0})


def histogram_indices(lane: int) -> range:
    """Where a lane's bins are."""
    return range(lane * HISTOGRAM_BINS, (lane + 1) * HISTOGRAM_BINS)


def packets(entry: JsonObject) -> int:
    """Packets of a counter, of all pipes."""
    return _sum(entry, _PACKETS)


def byte_count(entry: JsonObject, register: str) -> int:
    """Bytes of a register of two words, of all pipes."""
    high, low = _sum(entry, f"{register}.high"), _sum(entry, f"{register}.low")
    return high * BYTE_COUNT_WRAP + low


def in_queue_bytes(flows: dict[str, list[int]]) -> list[int]:
    """Each flow's bytes between arrival and departure or drop.

    Ingress and egress share no register here, so it is the difference of readings taken one
    after the other: exact when the queue is empty, and never below 0.
    """
    parts = (flows["arrived_bytes"], flows["departed_bytes"], flows["dropped_bytes"])
    return [max(0, a - d - x) for a, d, x in zip(*parts, strict=True)]


def whole(entry: JsonObject, name: str) -> int:
    """A whole number out of an entry."""
    value = entry.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise TargetError(f"switch: {name} is {value!r}, expected a whole number")
    return value


def _sum(entry: JsonObject, name: str) -> int:
    values: Iterable[Any] = entry[name] if isinstance(entry.get(name), list) else [entry.get(name)]
    return sum(whole({name: value}, name) for value in values)
