"""In the simulator: beats in by one clock, the same beats out by another, in their order."""

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from tests.rtl.streams import FULL, fewer

DEPTH = 16
PERIODS_PS = ((8000, 10002), (10002, 8000), (8000, 64018), (64018, 8000), (8000, 8000))
"""Of the clock that writes and of the one that reads."""
PACES = tuple(product((1.0, 0.5), repeat=2)) if FULL else ((1.0, 1.0), (0.5, 0.5))
"""How often each side is ready."""


async def begin(dut: Any, periods: tuple[int, int]) -> None:
    """Both clocks, and a reset that both see."""
    dut.s_rst.value = dut.m_rst.value = 1
    dut.s_valid.value = dut.m_ready.value = 0
    for clock, period in zip((dut.s_clk, dut.m_clk), periods, strict=True):
        cocotb.start_soon(Clock(clock, period, unit="ps").start())
        # No edge of one clock at the same time as one of the other
        await Timer(1, unit="ps")
    await ClockCycles(dut.s_clk, 20)
    await ClockCycles(dut.m_clk, 4)
    dut.s_rst.value = dut.m_rst.value = 0
    await ClockCycles(dut.s_clk, 4)


async def give(dut: Any, beats: list[int], pace: float) -> None:
    """Offer beats; where none is offered, rubbish is."""
    for beat in beats:
        while random.random() > pace:
            dut.s_valid.value, dut.s_beat.value = 0, random.getrandbits(len(dut.s_beat))
            await RisingEdge(dut.s_clk)
        dut.s_valid.value, dut.s_beat.value = 1, beat
        await RisingEdge(dut.s_clk)
        while dut.s_ready.value == 0:
            await RisingEdge(dut.s_clk)
    dut.s_valid.value = 0


async def take(dut: Any, count: int, pace: float) -> list[int]:
    taken: list[int] = []
    while len(taken) < count:
        dut.m_ready.value = random.random() < pace
        await RisingEdge(dut.m_clk)
        if dut.m_valid.value == 1 and dut.m_ready.value == 1:
            taken.append(int(dut.m_beat.value))
    dut.m_ready.value = 0
    return taken


@cocotb.test()
@cocotb.parametrize(("periods", PERIODS_PS), (("giving", "taking"), PACES))
async def the_same_beats(dut: Any, periods: Any, giving: float, taking: float) -> None:
    await begin(dut, periods)
    beats = [random.getrandbits(len(dut.s_beat)) for _ in range(fewer(20 * DEPTH))]
    cocotb.start_soon(give(dut, beats, giving))
    assert await take(dut, len(beats), taking) == beats
    await ClockCycles(dut.m_clk, 10)
    assert dut.m_valid.value == 0


@cocotb.test()
@cocotb.parametrize(periods=PERIODS_PS)
async def it_holds_its_depth_and_waits(dut: Any, periods: Any) -> None:
    """DEPTH beats and the one in the output's register; then the sender waits."""
    await begin(dut, periods)
    beats = [random.getrandbits(len(dut.s_beat)) for _ in range(DEPTH + 2)]
    taken = await accepted(dut, beats, lambda: ClockCycles(dut.m_clk, 8))
    assert taken == DEPTH + 1
    assert await take(dut, taken, 1.0) == beats[:taken]


async def accepted(dut: Any, beats: list[int], wait: Callable[[], Any]) -> int:
    """How many beats are taken while nothing leaves."""
    count = 0
    for beat in beats:
        dut.s_valid.value, dut.s_beat.value = 1, beat
        await RisingEdge(dut.s_clk)
        if dut.s_ready.value == 1:
            count += 1
        dut.s_valid.value = 0
        await wait()
        await ClockCycles(dut.s_clk, 8)
    return count


@cocotb.test()
async def a_beat_is_offered_in_the_fourth_cycle(dut: Any) -> None:
    """Three edges of the reader's clock see the pointer and fetch; by the fourth it may leave."""
    await begin(dut, (8000, 10002))
    dut.m_ready.value = 1
    for _ in range(50):
        dut.s_valid.value, dut.s_beat.value = 1, random.getrandbits(len(dut.s_beat))
        await RisingEdge(dut.s_clk)
        dut.s_valid.value = 0
        edges = 0
        while True:
            await RisingEdge(dut.m_clk)
            edges += 1
            if dut.m_valid.value == 1:
                break
        assert edges == 4
        await ClockCycles(dut.s_clk, random.randint(5, 12))
