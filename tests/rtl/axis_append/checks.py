"""In the simulator: frames with a tail of their own behind them."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from tests.rtl.streams import PAIRS, fewer, random_lengths, sink, start

TAIL_BYTES = 16


async def drive(dut: Any, frames: list[bytes], tails: list[bytes], idle: Any) -> None:
    """Give frames beat by beat; everything else on the wires is rubbish."""
    width = len(dut.s_axis_tdata) // 8
    pauses = idle()
    for frame, tail in zip(frames, tails, strict=True):
        for at in range(0, len(frame), width):
            while pauses is not None and next(pauses):
                dut.s_axis_tvalid.value = 0
                await RisingEdge(dut.clk)
            beat, last = frame[at : at + width], at + width >= len(frame)
            rubbish = random.randbytes(width - len(beat))
            dut.s_axis_tdata.value = int.from_bytes(beat + rubbish, "little")
            dut.s_axis_tcount.value = len(beat)
            dut.s_axis_tlast.value = last
            dut.s_axis_tuser.value = last and frame[0] & 1
            shown = tail if last else random.randbytes(TAIL_BYTES)
            dut.s_axis_tail.value = int.from_bytes(shown, "little")
            dut.s_axis_tvalid.value = 1
            await RisingEdge(dut.clk)
            while dut.s_axis_tready.value == 0:
                await RisingEdge(dut.clk)
    dut.s_axis_tvalid.value = 0


@cocotb.test()
@cocotb.parametrize((("idle", "stall"), PAIRS))
async def tails(dut: Any, idle: Any, stall: Any) -> None:
    dut.s_axis_tvalid.value = 0
    taker = sink(dut, "m_axis", stall)
    await start(dut)
    frames = [random.randbytes(length) for length in random_lengths(fewer(100))]
    tails = [random.randbytes(TAIL_BYTES) for _ in frames]
    cocotb.start_soon(drive(dut, frames, tails, idle))
    for frame, tail in zip(frames, tails, strict=True):
        found = await taker.recv()
        assert bytes(found.tdata) == frame + tail
        user = found.tuser if isinstance(found.tuser, list) else [found.tuser]
        assert user[-1] == frame[0] & 1
    assert taker.empty()
