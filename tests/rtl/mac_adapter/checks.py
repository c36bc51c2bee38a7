"""In the simulator: a MAC's bytes to the core's beats and back, for frames that end anywhere."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from tests.rtl.streams import (
    PAIRS,
    PAUSES,
    fewer,
    never,
    random_frame,
    random_lengths,
    sink,
    source,
)

MAC_PS, CORE_PS = 8000, 10002
Pauses = Callable[[], Iterator[bool] | None]


async def begin(dut: Any) -> None:
    """Three clocks and a reset that all see."""
    dut.rst.value = 1
    dut.rx_valid.value = dut.rx_last.value = dut.rx_error.value = dut.tx_ready.value = 0
    periods = ((dut.rx_clk, MAC_PS), (dut.tx_clk, MAC_PS + 4), (dut.clk, CORE_PS))
    for clock, period in periods:
        cocotb.start_soon(Clock(clock, period, unit="ps").start())
        # No edge of one clock at the same time as one of another
        await Timer(1, unit="ps")
    await ClockCycles(dut.clk, 10)
    dut.rst.value = 0
    await ClockCycles(dut.clk, 3)


async def bytes_in(dut: Any, frames: list[tuple[bytes, bool]], idle: Pauses) -> None:
    """A MAC gives frames and whether their FCS was wrong; a byte between two frames is idle."""
    pauses = idle()
    for frame, error in frames:
        for at, byte in enumerate(frame):
            while pauses is not None and next(pauses):
                dut.rx_valid.value, dut.rx_data.value = 0, random.getrandbits(8)
                await RisingEdge(dut.rx_clk)
            last = at == len(frame) - 1
            dut.rx_valid.value, dut.rx_data.value, dut.rx_last.value = 1, byte, last
            dut.rx_error.value = last and error
            await RisingEdge(dut.rx_clk)
        dut.rx_valid.value = 0
        await RisingEdge(dut.rx_clk)


async def bytes_out(dut: Any, count: int, stall: Pauses) -> list[bytes]:
    """A MAC takes so many frames."""
    frames, frame, pauses = [], bytearray(), stall()
    while len(frames) < count:
        dut.tx_ready.value = pauses is None or not next(pauses)
        await RisingEdge(dut.tx_clk)
        if dut.tx_valid.value == 1 and dut.tx_ready.value == 1:
            frame.append(int(dut.tx_data.value))
            if dut.tx_last.value == 1:
                frames.append(bytes(frame))
                frame.clear()
    return frames


@cocotb.test()
@cocotb.parametrize(idle=PAUSES)
async def bytes_to_beats(dut: Any, idle: Any) -> None:
    """Every length, with one idle byte between frames: nothing is lost, the error is kept."""
    taker = sink(dut, "m_axis", never)
    await begin(dut)
    lengths = random_lengths(fewer(20))
    sent = [(random.randbytes(n), random.random() < 0.3) for n in lengths]
    cocotb.start_soon(bytes_in(dut, sent, idle))
    for frame, error in sent:
        found = await taker.recv()
        assert bytes(found.tdata) == frame
        users = found.tuser if isinstance(found.tuser, list) else [found.tuser]
        assert users[-1] == error
        assert not any(users[: -min(8, len(users))])
    assert taker.empty()


@cocotb.test()
@cocotb.parametrize((("idle", "stall"), PAIRS))
async def beats_to_bytes(dut: Any, idle: Any, stall: Any) -> None:
    """Every length, whoever waits for whom."""
    giver = source(dut, "s_axis", idle)
    await begin(dut)
    sent = [random_frame(n) for n in random_lengths(fewer(20))]
    for frame in sent:
        giver.send_nowait(frame)
    assert await bytes_out(dut, len(sent), stall) == [bytes(frame.tdata) for frame in sent]


@cocotb.test()
async def a_frame_never_pauses(dut: Any) -> None:
    """Where the core gives its beats one after another, the MAC gets a byte in every cycle."""
    giver = source(dut, "s_axis", never)
    await begin(dut)
    sent = [random_frame(n) for n in random_lengths(fewer(20))]
    for frame in sent:
        giver.send_nowait(frame)
    pauses: list[int] = []

    async def watch() -> None:
        inside = False
        while True:
            await RisingEdge(dut.tx_clk)
            if inside and dut.tx_valid.value == 0:
                pauses.append(1)
            if dut.tx_valid.value == 1:
                inside = dut.tx_last.value == 0

    cocotb.start_soon(watch())
    await bytes_out(dut, len(sent), never)
    assert not pauses
