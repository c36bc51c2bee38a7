"""In the simulator: frames in at the pins of one socket, out at those of the other, both ways."""

import random
from typing import Any

import cocotb
from cocotb.triggers import Timer
from cocotbext.eth import GmiiFrame
from tests.rtl.board.bench import Board
from tests.rtl.models import SECOND_FNS, fcs
from tests.rtl.streams import FULL, fewer

SHORTEST, LONGEST = 60, 9014
"""Without FCS: Ethernet's minimum, and jumbo frames."""
LENGTHS = [SHORTEST, *range(61, 69), 1, 9, 59]
if FULL:
    LENGTHS += [*range(69, 77), 1514, LONGEST, 8, 46]


async def pass_through(board: Board, socket: str, frames: list[bytes]) -> None:
    """Send frames back to back; every one arrives, in order, with the stamp of the model."""
    sent = [board.send(socket, frame) for frame in frames]
    for each, frame in zip(sent, frames, strict=True):
        await board.expect(socket, each, frame)


@cocotb.test()
async def every_length_both_ways(dut: Any) -> None:
    """Frames that end anywhere in a beat, the shortest, full ones, the longest, and runts."""
    board = Board(dut)
    await board.begin()
    ways = []
    for socket in "ab":
        lengths = random.sample(LENGTHS, len(LENGTHS))
        frames = [random.randbytes(length) for length in lengths]
        ways.append(cocotb.start_soon(pass_through(board, socket, frames)))
    for way in ways:
        await way
    # Each word over the serial line takes as long as a full frame.
    for port in (0, 1) if FULL else (1,):
        assert await board.counter(port, "PORT_FRAMES") == len(LENGTHS)
        assert await board.counter(port, "PORT_RUNTS") == sum(
            length < SHORTEST for length in LENGTHS
        )
        assert await board.counter(port, "PORT_DROPPED") == 0
        assert await board.counter(port, "PORT_ERRORS") == 0


@cocotb.test()
async def a_burst_at_line_rate_both_ways(dut: Any) -> None:
    """As fast as 1 Gbit/s allows; the trailers make it longer, which the FIFOs take."""
    board = Board(dut)
    await board.begin()
    ways = []
    for socket in "ab":
        frames = [random.randbytes(SHORTEST) for _ in range(fewer(21))]
        frames += [random.randbytes(1514) for _ in range(fewer(3))]
        ways.append(cocotb.start_soon(pass_through(board, socket, frames)))
    for way in ways:
        await way


@cocotb.test()
async def a_wrong_fcs_is_passed_on_marked(dut: Any) -> None:
    """The new FCS is right; the trailer says that the original was not, and hides it."""
    board = Board(dut)
    await board.begin()
    faults = (1, 1 << 31, random.getrandbits(32) | 2)[: fewer(3)]
    for bits in faults:
        frame = random.randbytes(100)
        for fault in (0, bits, 0):
            sent = board.send("a", frame, fcs_bits=fault)
            found = await board.expect("a", sent, frame, error=bool(fault))
            told = bytes(found.get_payload())[100:104]
            assert (told == fcs(frame)) == (not fault)
    assert await board.counter(0, "PORT_ERRORS") == len(faults)
    assert await board.counter(1, "PORT_ERRORS") == 0


@cocotb.test(skip=not FULL)
async def a_host_reads_and_sets_the_clock(dut: Any) -> None:
    """Over the serial line; stamps follow, and the light changes with the second."""
    board = Board(dut)
    await board.begin()
    assert await board.read("REG_TYPE") == int.from_bytes(b"NBTS", "big")
    assert await board.read("REG_SHAPE") == 2 << 16 | 64
    light = dut.led_n.value
    await board.write("REG_SET_NS", 10**9 - 150_000)
    await board.write("REG_SET_FNS", 0)
    await board.write("REG_SET_S", 1_800_000_000)
    await board.write("REG_SET_S_HIGH", 0)
    ns = await board.read("REG_NOW_NS")
    assert 10**9 - 150_000 < ns < 10**9
    assert await board.read("REG_NOW_S") == 1_800_000_000
    assert dut.led_n.value == light
    await Timer(150, unit="us")
    assert dut.led_n.value != light
    frame = random.randbytes(SHORTEST)
    board.send("b", frame)
    found = bytes((await board.sink["a"].recv()).get_payload())
    assert found[66:70] == (1_800_000_001).to_bytes(4, "big")
    assert await board.read("REG_NOW_NS") < SECOND_FNS >> 32


@cocotb.test()
async def what_comes_by_half_is_no_frame(dut: Any) -> None:
    """A carrier without a start of frame leaves no trace; the next frame is whole."""
    board = Board(dut)
    await board.begin()
    board.source["a"].send_nowait(GmiiFrame(b"\x55" * 90))
    frame = random.randbytes(70)
    await board.expect("a", board.send("a", frame), frame)
