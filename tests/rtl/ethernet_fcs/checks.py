"""In the simulator: the FCS against zlib's CRC-32, for every length of the last beat."""

import random
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from tests.rtl.models import fcs
from tests.rtl.streams import fewer, start


async def feed(dut: Any, frames: list[bytes], busy: float) -> list[bytes]:
    """Give frames, beat by beat; returns the FCS of each."""
    width = len(dut.data) // 8
    latency = 3 + len(dut.count)
    ends: list[bool] = []
    found: list[bytes] = []

    async def cycle(data: bytes, valid: bool, last: bool) -> None:
        dut.data.value = int.from_bytes(data + random.randbytes(width - len(data)), "little")
        dut.count.value, dut.valid.value, dut.last.value = len(data), valid, last
        moves = False
        while not moves:
            moves = random.random() < busy
            dut.enable.value = moves
            await RisingEdge(dut.clk)
        ends.append(valid and last)
        if len(ends) > latency and ends[-1 - latency]:
            found.append(int(dut.fcs.value).to_bytes(4, "little"))

    for frame in frames:
        for at in range(0, len(frame), width):
            while random.random() > busy:
                await cycle(b"", False, False)
            await cycle(frame[at : at + width], True, at + width >= len(frame))
    for _ in range(latency + 1):
        await cycle(b"", False, False)
    return found


@cocotb.test()
@cocotb.parametrize(busy=[1.0, 0.6])
async def every_length(dut: Any, busy: float) -> None:
    await start(dut)
    width = len(dut.data) // 8
    lengths = [*range(1, 2 * width + 2), *(random.randint(1, 200) for _ in range(fewer(100)))]
    frames = [random.randbytes(length) for length in lengths]
    assert await feed(dut, frames, busy) == [fcs(frame) for frame in frames]
