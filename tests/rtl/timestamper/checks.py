"""In the simulator: the whole core, its times predicted from the count of clock edges alone."""

import logging
import random
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiLiteBus, AxiLiteMaster
from tests.rtl.models import SECOND_FNS, TRAILER_BYTES, Clock, fcs, trailer
from tests.rtl.registers import register_map
from tests.rtl.streams import fewer, first_beats, never, often, random_frame, sink, source, start

NOMINAL = 4 << 32
CLOCK_LATENCY = 3
"""Cycles by which the clock's output is behind its first digit."""
DEVICE = 9
FRAMES = fewer(60)
REG = register_map()


def latencies(word: int) -> tuple[int, int, int]:
    """REG_LATENCY: transit, step, stamp."""
    return word >> 16, word >> 8 & 0xFF, word & 0xFF


class Core:
    """The design with its registers, and a model of its clock that counts edges."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        dut.s0_axis_tvalid.value = dut.s1_axis_tvalid.value = 0
        self.axil = AxiLiteMaster(AxiLiteBus.from_prefix(dut, "s_axil"), dut.clk, dut.rst)
        for each in (self.axil.read_if, self.axil.write_if):
            each.log.setLevel(logging.WARNING)
        self.clock = Clock(NOMINAL)

    async def begin(self) -> None:
        """Reset; the model ticks with every edge from the last one of the reset on."""
        await start(self.dut)
        self.clock.now = NOMINAL
        cocotb.start_soon(self._count())

    def shown(self) -> int:
        """What the clock shows in the cycle that ends now."""
        return max(0, self.clock.now - (1 + CLOCK_LATENCY) * NOMINAL)

    async def _count(self) -> None:
        while True:
            await RisingEdge(self.dut.clk)
            self.clock.tick()

    async def read(self, name: str, offset: int = 0) -> int:
        return int(await self.axil.read_dword(REG[name] + offset))

    async def write(self, name: str, value: int) -> None:
        await self.axil.write_dword(REG[name], value)

    async def now(self) -> int:
        """The clock by its registers, 2^-32 ns."""
        ns = await self.read("REG_NOW_NS")
        fns, low = await self.read("REG_NOW_FNS"), await self.read("REG_NOW_S")
        seconds = (await self.read("REG_NOW_S_HIGH") << 32) + low
        return seconds * SECOND_FNS + (ns << 32) + fns

    async def step(self, time: int) -> None:
        seconds, rest = divmod(time, SECOND_FNS)
        await self.write("REG_SET_NS", rest >> 32)
        await self.write("REG_SET_FNS", rest & 0xFFFFFFFF)
        await self.write("REG_SET_S", seconds & 0xFFFFFFFF)
        await self.write("REG_SET_S_HIGH", seconds >> 32)

    async def settle(self) -> None:
        """Wait until the clock shows what was written."""
        _, step, _ = latencies(await self.read("REG_LATENCY"))
        await ClockCycles(self.dut.clk, step)

    async def counter(self, port: int, name: str) -> int:
        return await self.read("REG_PORTS", port * REG["PORT_STRIDE"] + REG[name])


@cocotb.test()
async def words(dut: Any) -> None:
    """Type, version and shape; what is not there reads 0."""
    core = Core(dut)
    await core.begin()
    assert await core.read("REG_TYPE") == int.from_bytes(b"NBTS", "big")
    assert await core.read("REG_VERSION") == REG["VERSION_WORD"]
    assert await core.read("REG_SHAPE") == 2 << 16 | len(dut.s0_axis_tdata)
    assert await core.counter(2, "PORT_FRAMES") == 0
    assert int(await core.axil.read_dword(0x000C)) == 0


@cocotb.test()
async def times_by_counting_edges(dut: Any) -> None:
    """Both ports, one clock: every trailer is the count of edges times the period."""
    core = Core(dut)
    givers = [source(dut, f"s{p}_axis", idle) for p, idle in enumerate((never, often))]
    takers = [sink(dut, f"m{p}_axis", stall) for p, stall in enumerate((often, never))]
    seen: list[list[int]] = [[], []]
    await core.begin()
    for port in (0, 1):
        cocotb.start_soon(first_beats(dut, f"s{port}_axis", seen[port], core.shown))
    sent = [[random_frame(random.randint(1, 200)) for _ in range(FRAMES)] for _ in (0, 1)]
    for port in (0, 1):
        for frame in sent[port]:
            givers[port].send_nowait(frame)
    for port in (0, 1):
        for n, frame in enumerate(sent[port]):
            data = bytes(frame.tdata)
            found = await takers[port].recv()
            expected = trailer(data, DEVICE, port, seen[port][n], False)
            assert bytes(found.tdata) == data + expected
        await ClockCycles(dut.clk, 2)
        assert await core.counter(port, "PORT_FRAMES") == FRAMES
        assert await core.counter(port, "PORT_DROPPED") == 0
        assert await core.counter(port, "PORT_RUNTS") == sum(len(f.tdata) < 60 for f in sent[port])


@cocotb.test()
async def transit_is_what_the_register_says(dut: Any) -> None:
    """From the edge that takes a first beat to the first edge that could give it."""
    core = Core(dut)
    giver, taker = source(dut, "s0_axis", never), sink(dut, "m0_axis", never)
    await core.begin()
    transit, _, behind = latencies(await core.read("REG_LATENCY"))
    assert behind == 0, "times_by_counting_edges expects the time of the very cycle"
    came: list[int] = []
    went: list[int] = []
    for prefix, seen in (("s0_axis", came), ("m0_axis", went)):
        cocotb.start_soon(first_beats(dut, prefix, seen, lambda: core.clock.now // NOMINAL))
    for length in (1, 60, 64, 300):
        giver.send_nowait(random_frame(length))
        await taker.recv()
        await ClockCycles(dut.clk, 5)
    assert [b - a for a, b in zip(came, went, strict=True)] == [transit] * 4


@cocotb.test()
async def a_step_is_seen_when_the_register_says(dut: Any) -> None:
    """The edge that takes the write, then so many cycles until the set time is shown."""
    core = Core(dut)
    await core.begin()
    _, step, _ = latencies(await core.read("REG_LATENCY"))
    written: list[int] = []

    async def watch() -> None:
        while True:
            await RisingEdge(dut.clk)
            taken = dut.s_axil_awvalid.value == 1 and dut.s_axil_awready.value == 1
            if taken and int(dut.s_axil_awaddr.value) == REG["REG_SET_S_HIGH"]:
                written.append(core.clock.now // NOMINAL)

    shown: list[tuple[int, int]] = []

    async def show() -> None:
        while True:
            await RisingEdge(dut.clk)
            seconds = int(dut.timestamper_inst.ts_s.value)
            shown.append((core.clock.now // NOMINAL, seconds))

    cocotb.start_soon(watch())
    cocotb.start_soon(show())
    await core.step(77 * SECOND_FNS)
    await ClockCycles(dut.clk, 20)
    first = next(cycle for cycle, seconds in shown if seconds == 77)
    assert first - written[0] == step


def stamp(found: Any) -> tuple[int, int]:
    """Seconds and 2^-40 s of a frame's trailer."""
    tail = bytes(found.tdata[-TRAILER_BYTES:])
    assert tail[:4] == fcs(bytes(found.tdata[:-TRAILER_BYTES]))
    return int.from_bytes(tail[6:10], "big"), int.from_bytes(tail[10:15], "big")


@cocotb.test()
async def steered_and_stepped_by_software(dut: Any) -> None:
    """Set to just below a second, the stamps go over it; another period is seen in them."""
    core = Core(dut)
    giver, taker = source(dut, "s0_axis", never), sink(dut, "m0_axis", never)
    await core.begin()
    start_time = (2**32 + 41) * SECOND_FNS - 300 * NOMINAL
    await core.step(start_time)
    await core.settle()
    for _ in range(30):
        giver.send_nowait(random_frame(120))
    stamps = [stamp(await taker.recv()) for _ in range(30)]
    assert [s for s, _ in stamps] == sorted(s for s, _ in stamps)
    assert stamps[0][0] == 40
    await ClockCycles(dut.clk, 300)
    read = await core.now()
    assert start_time + 300 * NOMINAL < read < start_time + 3000 * NOMINAL
    slow = NOMINAL - (1 << 29)
    await core.write("REG_PERIOD_FNS", slow & 0xFFFFFFFF)
    await core.write("REG_PERIOD_NS", slow >> 32)
    await core.settle()
    first = await core.now()
    await ClockCycles(dut.clk, 1000)
    second = await core.now()
    cycles, rest = divmod(second - first, slow)
    assert rest == 0, "a whole number of the new periods"
    assert 1000 <= cycles < 1100
    for _ in range(3):
        giver.send_nowait(random_frame(80))
        assert stamp(await taker.recv())[0] == 41
