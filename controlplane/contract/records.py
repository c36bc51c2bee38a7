"""Binary records as numpy types: what the data plane, the flow generator and the probe write.

Their layouts are shared.json's, from which the C structs are generated too; golden files (for the
probe: whole exchanges) hold both together.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .shared import CONSTANTS, RECORDS, RecordField

POSTCARD_VERSION: Final = CONSTANTS.postcard_version
POSTCARD_VERSION_QUEUES: Final = CONSTANTS.postcard_version_queues
KIND_DEPARTED: Final = CONSTANTS.postcard_departed
KIND_DROPPED: Final = CONSTANTS.postcard_dropped
MARK_CE: Final = CONSTANTS.mark_ce
MARK_CAPABLE: Final = CONSTANTS.mark_capable
MARK_REASON: Final = CONSTANTS.mark_reason
"""Bits of a postcard's marks. All of them are 0 of a packet that is not ECN-capable and left, or
found no room: so postcards have the bytes that they had before there were marks."""
CLOCK_WRAP_NS: Final = 1 << CONSTANTS.clock_bits
"""Times on the switch clock are modulo this."""


THREE_BYTES: Final = 24
"""Bits of what P4 reserves; numpy has no such number."""


def _dtype(name: str) -> np.dtype[Any]:
    record = RECORDS[name]
    order = ">" if record.byte_order == "big" else "<"
    return np.dtype([part for field in record.fields for part in _parts(field, order)])


def _parts(field: RecordField, order: str) -> list[tuple[str, str, tuple[int, ...]]]:
    """A field as numpy has it; a time of 48 bits is two fields, `join_u48` joins them."""
    if field.bits == CONSTANTS.clock_bits:
        stem = field.name.removesuffix("_ns")
        return [(f"{stem}_high", f"{order}u2", ()), (f"{stem}_low", f"{order}u4", ())]
    if field.bits == THREE_BYTES:
        return [(field.name, "u1", (3,))]
    shape = (field.count,) if field.count > 1 else ()
    return [(field.name, f"{order}{'i' if field.signed else 'u'}{field.bits // 8}", shape)]


POSTCARD = _dtype("postcard")
"""One postcard, 40 bytes, big-endian as P4 lays it out. Times are ns on the switch clock."""

QUEUE_POSTCARD = _dtype("queue_postcard")
"""What stands behind each postcard of a lane with several queues, 8 bytes, big-endian."""

POSTCARD_OF_QUEUES = np.dtype(
    [*POSTCARD.descr, *((name, *rest) for name, *rest in QUEUE_POSTCARD.descr)]
)
"""One postcard of such a lane, 48 bytes: version POSTCARD_VERSION_QUEUES, else as POSTCARD."""

BIN = _dtype("bin_record")
"""One flow in one time bin, 56 bytes. Bin n covers [n, n+1) bin lengths of the switch clock as it
would be without its wrap; n has its lowest 32 bits."""

FLOW_SAMPLE = _dtype("flow_sample")
"""One TCP_INFO sample of one flow, 176 bytes (store/columns.py says what each field is).
BBR's gains are in 1/256; all bbr_ fields are zero where has_bbr is 0."""

GOODPUT = _dtype("goodput_record")
"""Bytes that a sink read from one flow in the interval that ends at t_ns."""

TRANSFER = _dtype("transfer_record")
"""One transfer that came, 24 bytes; CLOCK_MONOTONIC, and 0 where it was never acknowledged."""

SEGMENT = _dtype("segment_record")
"""One segment of a video, 56 bytes; CLOCK_MONOTONIC, and 0 where it never came."""

SENT_DATAGRAM = _dtype("sent_datagram")
"""One datagram that a sender sent, 24 bytes."""

ARRIVED_DATAGRAM = _dtype("arrived_datagram")
"""One datagram that a sink received, 16 bytes."""

DISTURBANCE = _dtype("disturbance_record")
"""How a lane's frames were held up in one bin of `disturbance_bin_ns`, 72 bytes."""

PAUSE = _dtype("pause_record")
"""A time in which the data plane's loop did not run, 16 bytes."""

RETURN_QUEUE = _dtype("return_record")
"""The queue of the way back in one bin of `return_bin_ns`, 56 bytes."""

PROBE_SCHEDULE = _dtype("scheduled")
"""One frame that nashbed-probe is to send, 16 bytes; at_ns counts from its start."""

PROBE_ECHO: Final = CONSTANTS.probe_echo
"""Flag of a scheduled frame: the reflector sends it back."""

PROBED = _dtype("probed")
"""What became of a scheduled frame, 32 bytes, 0 where it did not happen (CLOCK_MONOTONIC)."""

SEEN = _dtype("seen")
"""One datagram that a reflector received, 24 bytes."""


def join_u48(high: NDArray[Any], low: NDArray[Any]) -> NDArray[np.int64]:
    """Join the halves of a 48-bit big-endian number.

    Args:
        high: Upper 16 bits, any shape.
        low: Lower 32 bits, the same shape.
    """
    return (high.astype(np.int64) << 32) | low.astype(np.int64)
