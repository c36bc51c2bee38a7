"""Packets as they left the bottleneck, or were dropped, as pcapng with comments for each packet."""

from importlib.metadata import version
from pathlib import Path

from nashbed.controlplane.contract.records import KIND_DROPPED, MARK_CE

from .capture_file import CaptureFile
from .headers import LARGEST, Frames
from .marks import reason_of
from .selection import Selection

SUFFIX = "pcapng"
OUT, DROPPED = 0, 1
SYNTHESISED = (
    "Headers are made from postcards. Measured: times, frame lengths, TCP sequence numbers, flags, "
    "payload lengths, flow numbers, and that the bottleneck set CE, where it can; ECT(0) then "
    "stands for any other ECN-capable packet. Made up: MAC and IP addresses and ports (10.1.0.1 + "
    "flow, port 10000 + flow, to 10.2.0.1 + flow, port 5201), TTL, IP ID, TCP acknowledgement "
    "number, window, checksum and options; UDP, of flows that are datagrams, has no checksum. "
    "Payload is not kept; acknowledgements crossed no bottleneck."
)


def application() -> str:
    """What wrote a file, as the file says it."""
    return f"nashbed {version('nashbed')}"


def _fate(kind: int, marks: int) -> str:
    """What the bottleneck did to a packet, other than to send it on."""
    if kind == KIND_DROPPED:
        return f"; why: {reason_of(marks)}"
    return "; CE set here" if marks & MARK_CE else ""


def write_pcapng(chosen: Selection, path: Path) -> dict[str, int]:
    """Write the packets; a departure has the time when its last bit left, a drop that of the drop.

    Returns:
        What -> how many.

    Raises:
        RunError: There are no postcards.
    """
    record = chosen.trial.record
    counts = [0, 0]
    chosen.need_postcards()
    comment = f"nashbed trial {record.id}. t0 is {chosen.base_ns} ns since 1970. {SYNTHESISED}"
    with path.open("wb", buffering=1 << 20) as raw:
        file = CaptureFile(raw, comment, application())
        speed = record.applied.rate_bps
        file.interface("bottleneck", "packets that left the queue", speed, LARGEST)
        file.interface("dropped", "packets that the queue dropped", speed, LARGEST)
        for cards in chosen.chosen_postcards("packets"):
            frames, base = Frames(cards, chosen.datagrams), chosen.base_ns
            columns = (
                "kind",
                "flow",
                "packet_bytes",
                "queue_bytes",
                "enqueue_ns",
                "dequeue_ns",
                "seq",
                "marks",
            )
            rows = zip(*(cards[name].tolist() for name in columns), strict=True)
            for n, (kind, flow, size, queue, enqueue, dequeue, seq, marks) in enumerate(rows):
                where = DROPPED if kind == KIND_DROPPED else OUT
                counts[where] += 1
                text = (
                    f"{'dropped' if where else 'left'} after {dequeue - enqueue} ns in the queue; "
                    f"arrived at {enqueue} ns after t0, {queue} B before it; "
                    f"{chosen.name(flow)}, postcard {seq}{_fate(kind, marks)}"
                )
                file.packet(where, base + dequeue, frames.frame(n), size, text.encode())
    return {"departed packets": counts[OUT], "dropped packets": counts[DROPPED]}
