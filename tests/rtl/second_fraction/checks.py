"""In the simulator: the division by 10^9 against Python's."""

import random
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from tests.rtl.models import fraction

END = 10**9 << 16
LATENCY = 6


def times() -> list[int]:
    """In 2^-16 ns: the ends, every edge of the result that is easily hit, random ones."""
    edges = [-(-(k * END) // 2**40) for k in (1, 2, 3, 2**39, 2**40 - 1)]
    around = [edge + d for edge in edges for d in (-1, 0, 1)]
    return [0, 1, END - 1, *around, *(random.randrange(END) for _ in range(500))]


@cocotb.test()
async def exact(dut: Any) -> None:
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    expected: list[int] = []
    found: list[Any] = []
    for time in [*times(), *[0] * LATENCY]:
        dut.ns.value, dut.fns.value = time >> 16, time & 0xFFFF
        dut.enable.value = 1
        await RisingEdge(dut.clk)
        expected.append(fraction(time << 16))
        found.append(dut.fraction.value)
    assert [int(each) for each in found[LATENCY:]] == expected[:-LATENCY]


@cocotb.test()
async def waits(dut: Any) -> None:
    """Nothing moves in cycles that are not enabled."""
    cocotb.start_soon(Clock(dut.clk, 4, unit="ns").start())
    expected, found = [], []
    for time in [*times()[:100], *[0] * LATENCY]:
        dut.ns.value, dut.fns.value = time >> 16, time & 0xFFFF
        while True:
            enable = random.randint(0, 1)
            dut.enable.value = enable
            await RisingEdge(dut.clk)
            if enable:
                break
        expected.append(fraction(time << 16))
        found.append(dut.fraction.value)
    assert [int(each) for each in found[LATENCY:]] == expected[:-LATENCY]
