"""In the simulator: what goes in comes out, or is dropped whole and said so."""

import random
from itertools import product
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge
from tests.rtl.streams import FULL, fewer, start

DEPTH = 16
PACES = (
    tuple(product((0.0, 0.5), (0.0, 0.5, 0.9))) if FULL else ((0.0, 0.9), (0.5, 0.5), (0.5, 0.0))
)
"""How often the sender pauses, and the receiver."""


class Bench:
    """Frames of random beats in, frames out, drops counted."""

    def __init__(self, dut: Any, idle: float, stall: float) -> None:
        self.dut, self.idle, self.stall = dut, idle, stall
        self.out: list[list[int]] = []
        self.drops = 0
        self.quiet = 0

    async def begin(self) -> None:
        self.dut.in_valid.value, self.dut.out_ready.value = 0, 0
        await start(self.dut)
        cocotb.start_soon(self._watch())

    async def _watch(self) -> None:
        dut, frame = self.dut, []
        while True:
            dut.out_ready.value = random.random() >= self.stall
            await RisingEdge(dut.clk)
            self.drops += int(dut.dropped.value)
            took = dut.in_valid.value == 1 and dut.in_ready.value == 1
            gave = dut.out_valid.value == 1 and dut.out_ready.value == 1
            self.quiet = 0 if took or gave else self.quiet + 1
            if gave:
                frame.append(int(dut.out_beat.value))
                if dut.out_last.value == 1:
                    self.out.append(frame)
                    frame = []

    async def send(self, frame: list[int]) -> bool:
        """Give a frame; whether every beat was taken at once."""
        dut, at_once = self.dut, True
        for at, beat in enumerate(frame):
            while random.random() < self.idle:
                dut.in_valid.value = 0
                await RisingEdge(dut.clk)
            dut.in_beat.value, dut.in_last.value = beat, at == len(frame) - 1
            dut.in_valid.value = 1
            await RisingEdge(dut.clk)
            while dut.in_ready.value == 0:
                at_once = False
                await RisingEdge(dut.clk)
        dut.in_valid.value = 0
        return at_once

    async def drain(self) -> None:
        """Until nothing moves any more, with nobody in the way."""
        self.stall, self.quiet = 0.0, 0
        while self.quiet < 3 * DEPTH:
            await RisingEdge(self.dut.clk)


def frames(count: int, longest: int) -> list[list[int]]:
    """Random beats; all differ, so that a frame is known by them."""
    return [
        [random.getrandbits(32) for _ in range(random.randint(1, longest))] for _ in range(count)
    ]


@cocotb.test()
@cocotb.parametrize((("idle", "stall"), PACES))
async def in_order(dut: Any, idle: float, stall: float) -> None:
    """Holding back, all arrives; dropping, whole frames in order, and each loss is told."""
    bench = Bench(dut, idle, stall)
    await bench.begin()
    sent = frames(fewer(150), 2 * DEPTH)
    waited = [not await bench.send(frame) for frame in sent]
    await bench.drain()
    if dut.DROP_WHEN_FULL.value == 0:
        assert bench.out == sent
        assert bench.drops == 0
        assert any(waited) or stall <= idle
        return
    assert not any(waited)
    assert len(bench.out) + bench.drops == len(sent)
    rest = iter(sent)
    assert all(frame in rest for frame in bench.out), "whole frames, in the order sent"
    longest = [frame for frame in sent if len(frame) > DEPTH + 1]
    assert longest, "some frames must be longer than the FIFO"
    assert bench.drops >= len(longest)


@cocotb.test()
async def all_of_it_is_used(dut: Any) -> None:
    """It takes DEPTH beats, and two in the registers behind them, before it is full."""
    bench = Bench(dut, 0.0, 1.0)
    await bench.begin()
    beats = [[n] for n in range(DEPTH + 2)]
    for beat in beats:
        assert await bench.send(beat)
    if dut.DROP_WHEN_FULL.value == 1:
        await bench.send([99])
        await bench.send([100])
    else:
        dut.in_valid.value = 1
        await RisingEdge(dut.clk)
        await RisingEdge(dut.clk)
        assert dut.in_ready.value == 0
        dut.in_valid.value = 0
    await bench.drain()
    assert bench.out == beats
    assert bench.drops == (2 if dut.DROP_WHEN_FULL.value == 1 else 0)
