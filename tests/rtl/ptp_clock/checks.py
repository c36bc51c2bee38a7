"""In the simulator: the clock against whole-number arithmetic, cycle by cycle."""

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from tests.rtl.models import SECOND_FNS, Clock
from tests.rtl.streams import start

NOMINAL = (4 << 32) + 0x1234
LATENCY = 3


class Driven:
    """The clock of the design beside its model, which is LATENCY cycles ahead."""

    def __init__(self, dut: Any) -> None:
        self.dut, self.model, self.seconds = dut, Clock(NOMINAL), 0
        self.ahead = deque([0] * LATENCY)

    async def begin(self) -> None:
        """Reset both; the model stands at the cycle that comes."""
        self.dut.set_valid.value = 0
        self.dut.period_valid.value = 0
        await start(self.dut)
        self.model.now = 0

    def read(self) -> int:
        """The design's time, 2^-32 ns."""
        fns = (int(self.dut.ts_ns.value) << 32) + int(self.dut.ts_fns.value)
        assert fns < SECOND_FNS
        return int(self.dut.ts_s.value) * SECOND_FNS + fns

    async def run(self, cycles: int) -> None:
        for _ in range(cycles):
            self.ahead.append(self.model.now)
            await RisingEdge(self.dut.clk)
            self.model.tick()
            assert self.read() == self.ahead.popleft()
            self.seconds += int(self.dut.pps.value)

    async def steer(self, period: int) -> None:
        """Another period, from the next cycle on."""
        self.dut.period_ns.value, self.dut.period_fns.value = period >> 32, period & 0xFFFFFFFF
        self.dut.period_valid.value = 1
        self.model.period = period
        await self.run(1)
        self.dut.period_valid.value = 0

    async def step(self, time: int) -> None:
        seconds, rest = divmod(time, SECOND_FNS)
        self.dut.set_s.value, self.dut.set_ns.value = seconds, rest >> 32
        self.dut.set_fns.value = rest & 0xFFFFFFFF
        self.dut.set_valid.value = 1
        await self.run(1)
        self.model.now = time
        self.dut.set_valid.value = 0


async def begun(dut: Any) -> Driven:
    """A clock after reset; its first cycles are past."""
    driven = Driven(dut)
    await driven.begin()
    driven.model.tick()
    return driven


@cocotb.test()
async def counts_periods(dut: Any) -> None:
    driven = await begun(dut)
    await driven.run(500)


@cocotb.test()
async def seconds_and_fraction_wrap(dut: Any) -> None:
    """From just below a second, below 2^32 seconds (its low word), and below the end of time."""
    driven = await begun(dut)
    for seconds in (0, 2**32 - 1, 5):
        driven.seconds = 0
        for below in (1, NOMINAL - 1, NOMINAL, NOMINAL + 1, 20 * NOMINAL + 7):
            await driven.step((seconds + 1) * SECOND_FNS - below)
            await driven.run(30)
        assert driven.seconds == 5
    await driven.step(2**48 * SECOND_FNS - NOMINAL)
    await driven.run(1)
    driven.model.now %= 2**48 * SECOND_FNS
    await driven.run(10)


@cocotb.test()
async def a_second_ends_exactly(dut: Any) -> None:
    """A period that divides the second: the time is 0 ns, not 1,000,000,000."""
    driven = await begun(dut)
    await driven.steer(4 << 32)
    await driven.step(3 * SECOND_FNS - (8 << 32))
    await driven.run(10)


@cocotb.test()
async def steered_in_mid_run(dut: Any) -> None:
    driven = await begun(dut)
    for _ in range(60):
        await driven.steer(NOMINAL + random.randint(-(1 << 31), 1 << 31))
        await driven.run(random.randint(0, 12))
    await driven.steer(0)
    await driven.run(5)
    await driven.steer((255 << 32) + 0xFFFFFFFF)
    await driven.run(5)
