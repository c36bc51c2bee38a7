"""What the checks inside the simulator share: clock, reset, streams, pauses, a watch on them."""

import logging
import os
import random
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, RisingEdge
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

FULL = bool(os.environ.get("NASHBED_RTL_FULL"))
"""Whether this is a long proof: with jumbo frames, three times as many frames, and each kind of
pause of one side with each of the other's."""

PERIOD_NS = 4
LENGTHS = (1, 2, 7, 8, 9, 14, 47, 48, 49, 56, 59, 60, 61, 63, 64, 65, 112, 128, 1514, 9018)
"""Around every edge: of a beat of either width, of the trailer, of a runt; full and jumbo."""


def never() -> None:
    """No pause at all."""


def often() -> Iterator[bool]:
    """Pause in about half of the cycles, in runs of random length."""
    while True:
        pause = random.random() < 0.5
        for _ in range(random.randint(1, 6)):
            yield pause


PAUSES: tuple[Callable[[], Iterator[bool] | None], ...] = (never, often)
PAIRS = tuple(product(PAUSES, PAUSES)) if FULL else ((never, never), (often, often))
"""Pauses of two sides."""


def fewer(count: int) -> int:
    """A third of as many, unless this is a long proof."""
    return count if FULL else count // 3


async def start(dut: Any, period_ns: int = PERIOD_NS) -> None:
    """Clock and reset."""
    cocotb.start_soon(Clock(dut.clk, period_ns, unit="ns").start())
    dut.rst.value = 1
    await ClockCycles(dut.clk, 3)
    dut.rst.value = 0
    await RisingEdge(dut.clk)


def source(dut: Any, prefix: str, idle: Callable[[], Iterator[bool] | None]) -> AxiStreamSource:
    """Sends frames, with idle cycles where asked for."""
    made = AxiStreamSource(AxiStreamBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    made.log.setLevel(logging.WARNING)
    return _paused(made, idle)


def sink(dut: Any, prefix: str, stall: Callable[[], Iterator[bool] | None]) -> AxiStreamSink:
    """Takes frames, with back-pressure where asked for."""
    made = AxiStreamSink(AxiStreamBus.from_prefix(dut, prefix), dut.clk, dut.rst)
    made.log.setLevel(logging.WARNING)
    return _paused(made, stall)


def _paused(made: Any, pauses: Callable[[], Iterator[bool] | None]) -> Any:
    generator = pauses()
    if generator is not None:
        made.set_pause_generator(generator)
    return made


def random_frame(length: int, error: bool = False) -> AxiStreamFrame:
    """Random bytes; the error is told with the last beat."""
    return AxiStreamFrame(random.randbytes(length), tuser=[0] * (length - 1) + [int(error)])


def random_lengths(count: int) -> list[int]:
    """Every length of the list, then so many random ones, in random order."""
    lengths = [*LENGTHS[: None if FULL else -1], *(random.randint(1, 300) for _ in range(count))]
    random.shuffle(lengths)
    return lengths


async def first_beats(dut: Any, prefix: str, seen: list[int], now: Callable[[], int]) -> None:
    """Note the time of every cycle that takes the first beat of a frame.

    Args:
        dut: The design.
        prefix: Of the stream.
        seen: Where the times go.
        now: The time of the cycle that ends with this clock edge.
    """
    valid, ready, last = (getattr(dut, f"{prefix}_{n}") for n in ("tvalid", "tready", "tlast"))
    first = True
    while True:
        await RisingEdge(dut.clk)
        if valid.value == 1 and ready.value == 1:
            if first:
                seen.append(now())
            first = last.value == 1
