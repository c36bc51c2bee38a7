"""In the simulator: a port under random time, so that only the right cycle's will do."""

import random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from tests.rtl.models import MIN_FRAME_BYTES, SECOND_FNS, TRAILER_BYTES, trailer
from tests.rtl.streams import (
    FULL,
    PAIRS,
    fewer,
    never,
    random_frame,
    random_lengths,
    sink,
    source,
    start,
)

DEVICE, PORT = 0x5A, 7
STALLED = 60 if FULL else 30
"""Frames, of 790 bytes in the mean: more than the FIFO has room for."""


class RandomTime:
    """Another time in every cycle, unrelated to the one before."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.now = dut, 0
        self._draw()

    def _draw(self) -> None:
        seconds, ns, fns = random.getrandbits(32), random.randrange(10**9), random.getrandbits(16)
        self.dut.ts_s.value, self.dut.ts_ns.value, self.dut.ts_fns.value = seconds, ns, fns
        self.now = seconds * SECOND_FNS + (ns << 32) + (fns << 16)

    async def run(self, seen: list[int]) -> None:
        """Draw for ever; note the times of first beats."""
        first, dut = True, self.dut
        while True:
            await RisingEdge(dut.clk)
            if dut.s_axis_tvalid.value == 1 and dut.s_axis_tready.value == 1:
                if first:
                    seen.append(self.now)
                first = dut.s_axis_tlast.value == 1
            self._draw()


async def check(found: Any, sent: Any, time: int) -> None:
    """A frame left as it came, with the trailer that the model says and its error."""
    error = bool(sent.tuser[-1])
    frame = bytes(sent.tdata)
    assert bytes(found.tdata) == frame + trailer(frame, DEVICE, PORT, time, error)
    user = found.tuser if isinstance(found.tuser, list) else [found.tuser]
    assert user[-1] == int(error)


@cocotb.test()
@cocotb.parametrize((("idle", "stall"), PAIRS))
async def every_frame(dut: Any, idle: Any, stall: Any) -> None:
    """Short, runt, full and jumbo frames, with and without errors."""
    giver, taker, seen = source(dut, "s_axis", idle), sink(dut, "m_axis", stall), []
    time = RandomTime(dut)
    await start(dut)
    cocotb.start_soon(time.run(seen))
    sent = [random_frame(n, error=random.random() < 0.2) for n in random_lengths(fewer(40))]
    for frame in sent:
        giver.send_nowait(frame)
    for n, frame in enumerate(sent):
        await check(await taker.recv(), frame, seen[n])
    await ClockCycles(dut.clk, 5)
    assert taker.empty()
    assert len(seen) == len(sent)
    assert dut.frames.value == len(sent)
    assert dut.dropped.value == 0
    assert dut.errors.value == sum(frame.tuser[-1] for frame in sent)
    assert dut.runts.value == sum(len(frame.tdata) < MIN_FRAME_BYTES for frame in sent)


@cocotb.test()
async def a_stalled_sink(dut: Any) -> None:
    """Held back, or dropped and counted: never a wrong frame, none lost without a word."""
    giver, taker, seen = source(dut, "s_axis", never), sink(dut, "m_axis", never), []
    time = RandomTime(dut)
    await start(dut)
    cocotb.start_soon(time.run(seen))
    taker.pause = True
    sent = [random_frame(random.randint(60, 1514)) for _ in range(STALLED)]
    for frame in sent:
        giver.send_nowait(frame)
    await ClockCycles(dut.clk, STALLED * 120)
    dropping = dut.DROP_WHEN_FULL.value == 1
    assert giver.idle() == dropping
    taker.pause = False
    await giver.wait()
    await ClockCycles(dut.clk, 2300)
    times = {bytes(frame.tdata): t for frame, t in zip(sent, seen, strict=True)}
    found = [taker.recv_nowait() for _ in range(taker.count())]
    for each in found:
        frame = bytes(each.tdata[:-TRAILER_BYTES])
        assert bytes(each.tdata) == frame + trailer(frame, DEVICE, PORT, times[frame], False)
    assert dut.frames.value == len(found)
    assert dut.frames.value.to_unsigned() + dut.dropped.value.to_unsigned() == len(sent)
    assert (dut.dropped.value.to_unsigned() > 0) == dropping
