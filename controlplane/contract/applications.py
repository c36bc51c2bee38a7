"""Flows that an application limits: a rate, on and off, a video player, and paced datagrams."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, model_validator

from .model import ContractModel, JsonObject
from .shared import CONSTANTS
from .units import Duration, Rate, Size, base_units

UDP: Final = "udp"
"""What stands for a strategy of flows of datagrams, which have none."""
UDP_PROTOCOL: Final = 17
TCP_PROTOCOL: Final = 6
DATAGRAM_BYTES: Final = (12, 1472)
"""Least and largest payload: the header of a datagram, and what a frame of 1514 bytes carries."""
DATAGRAM_HEADERS_BYTES: Final = 14 + 20 + 8
MOST_RUNGS: Final = 16
LEAST_GAP_NS: Final = 10_000
LEAST_TIME_NS: Final = 10**6
MOST_FRAME_BYTES: Final = 1_000_000


def _check_time(key: str, time: Duration) -> None:
    if time.ns < LEAST_TIME_NS:
        raise ValueError(f"{key}: {time} is too short; write 1ms or more")
    if time.ns > CONSTANTS.duration_ns_max:
        raise ValueError(f"{key}: {time} is longer than any trial; write at most 24h")


class Video(ContractModel):
    """A player that chooses its bitrate by its buffer.

    It is BBA-0 of Huang, Johari, McKeown, Trunnell and Watson (A Buffer-Based Approach to Rate
    Adaptation, SIGCOMM 2014, algorithm 1). When it asks for a segment, its buffer holds at most
    `buffer` less one segment, which is 100 % here. Up to 37.5 % (the reservoir) it takes the
    lowest rung, from 90 % on (the end of the cushion) the highest. In between a straight line maps
    the buffer to a rate; the player keeps its rung until that rate reaches the next higher one or
    falls to the next lower one.

    Attributes:
        ladder: The bitrates, ascending, at most 16.
        segment: Length of a segment; it has bitrate times length.
        buffer: The most video that the player's buffer holds: two segments or more.
    """

    ladder: Annotated[tuple[Rate, ...], Field(min_length=1, max_length=MOST_RUNGS)]
    segment: Duration
    buffer: Duration

    @model_validator(mode="after")
    def _check(self) -> Video:
        if self.ladder[0].bps == 0:
            raise ValueError("ladder.0: must be more than 0; write e.g. 1mbit")
        for i in range(1, len(self.ladder)):
            if self.ladder[i].bps <= self.ladder[i - 1].bps:
                raise ValueError(
                    f"ladder.{i}: {self.ladder[i]} is not above {self.ladder[i - 1]}; write the "
                    "bitrates in ascending order"
                )
        _check_time("segment", self.segment)
        _check_time("buffer", self.buffer)
        if self.buffer.ns < 2 * self.segment.ns:
            raise ValueError(
                f"buffer: {self.buffer} has no room for two segments of {self.segment}; write "
                f"{Duration(2 * self.segment.ns)} or more"
            )
        return self

    def told(self) -> JsonObject:
        """What the flow generator is told."""
        times = base_units(segment=self.segment, buffer=self.buffer)
        return {"kind": "video", "ladder": [rung.bps for rung in self.ladder], **times}


class Application(ContractModel):
    """What limits the flows of a group besides the network: `rate`, `on` and `off`, or `video`.

    Attributes:
        rate: The application produces data at this rate (payload). It is written every 10 ms, or
            each time that 1448 bytes have come together if that takes longer. What the network
            does not take at once waits: none is thrown away.
        on: From the flow's start it sends as much as it can for so long,
        off: then nothing for so long, and so on. What it had written before, at most 128 kB, is
            still sent in this time.
        video: Segments of video, as a player asks for them.
    """

    rate: Rate | None = None
    on: Duration | None = None
    off: Duration | None = None
    video: Video | None = None

    @model_validator(mode="after")
    def _check(self) -> Application:
        chosen = [
            name
            for name, keys in {"rate": ("rate",), "on": ("on", "off"), "video": ("video",)}.items()
            if any(getattr(self, key) is not None for key in keys)
        ]
        if len(chosen) != 1:
            raise ValueError(
                "write one application: {rate: 5mbit}, {on: 2s, off: 3s}, or {video: ...}"
            )
        if self.rate is not None and self.rate.bps == 0:
            raise ValueError("rate: must be more than 0; write e.g. 5mbit")
        if chosen == ["on"]:
            self._check_on_off()
        return self

    def _check_on_off(self) -> None:
        for key in ("on", "off"):
            value: Duration | None = getattr(self, key)
            if value is None:
                raise ValueError(f"{key}: is missing; write both, e.g. {{on: 2s, off: 3s}}")
            _check_time(key, value)

    @property
    def pauses(self) -> bool:
        """Whether its flows are silent at times of their own accord."""
        return self.rate is None

    def must_send(self, begin_ns: int, end_ns: int) -> bool:
        """Whether it has data to send at some time in a span from its flow's start on.

        Args:
            begin_ns: Beginning of the span, after the flow's start.
        """
        if self.rate is not None:
            return True
        if self.on is None or self.off is None:
            return False
        into = max(0, begin_ns) % (self.on.ns + self.off.ns)
        next_on = 0 if into < self.on.ns else self.on.ns + self.off.ns - into
        return max(0, begin_ns) + next_on < end_ns

    def told(self) -> JsonObject:
        """What the flow generator is told."""
        if self.video is not None:
            return self.video.told()
        kind = "on_off" if self.rate is None else "rate"
        return {"kind": kind, **base_units(rate=self.rate, on=self.on, off=self.off)}


class Media(ContractModel):
    """Paced datagrams without any congestion control: `packet` with `every`, `rate` or both.

    Attributes:
        rate: Rate of the payload. With `every`, each interval begins with a frame of what the rate
            makes of an interval, in packets of `packet` and a smaller one for the rest. Without
            `every` packets are spaced by it.
        packet: The largest payload of a packet, 12B to 1472B; its frame has 42 bytes more.
        every: Interval between frames; without `rate` each has one packet.
    """

    rate: Rate | None = None
    packet: Size
    every: Duration | None = None

    @model_validator(mode="after")
    def _check(self) -> Media:
        least, most = DATAGRAM_BYTES
        if not least <= self.packet.bytes <= most:
            raise ValueError(
                f"packet: {self.packet} is out of range; write {least}B to {most}B, which fills a "
                "frame of 1514 bytes"
            )
        if self.rate is None and self.every is None:
            raise ValueError("rate: is missing; write a rate, an interval (`every`), or both")
        if self.rate is not None and self.rate.bps == 0:
            raise ValueError("rate: must be more than 0; write e.g. 1mbit")
        if self.every is not None:
            _check_time("every", self.every)
        if self.frame_bytes > MOST_FRAME_BYTES:
            raise ValueError(
                f"every: a frame of {self.rate} has {self.frame_bytes} bytes; write a shorter "
                f"interval, so that it has at most {Size(MOST_FRAME_BYTES)}"
            )
        if self.gap_ns < LEAST_GAP_NS:
            raise ValueError(
                f"rate: {self.rate} sends a packet of {self.packet} every {self.gap_ns} ns; write "
                "larger packets or a lower rate, so that it is 10us or more"
            )
        return self

    @property
    def frame_bytes(self) -> int:
        """Payload of an interval."""
        if self.rate is None or self.every is None:
            return self.packet.bytes
        return self.rate.bps * self.every.ns // (8 * 10**9)

    def packets(self, time_ns: int) -> int:
        """The most packets of a flow in a time."""
        per_frame = -(-self.frame_bytes // self.packet.bytes) + 1
        return (time_ns // (self.every.ns if self.every else self.gap_ns) + 1) * per_frame

    @property
    def gap_ns(self) -> int:
        """Mean time from one packet to the next."""
        if self.rate is None:
            return 0 if self.every is None else self.every.ns
        return self.packet.bytes * 8 * 10**9 // self.rate.bps

    def told(self) -> JsonObject:
        """What the flow generator is told."""
        quantities = base_units(packet=self.packet, rate=self.rate, every=self.every)
        return {"kind": "udp", **quantities}
