"""In the simulator, with a small FIFO: a link that is full of short frames for longer than it."""

import random
from typing import Any

import cocotb
from cocotb.triggers import Timer
from tests.rtl.board.bench import Board
from tests.rtl.models import trailer

FRAMES = 250


@cocotb.test()
async def too_much_is_dropped_whole_and_counted(dut: Any) -> None:
    """60 bytes take 84 on the wire, with trailer 100: about a sixth of the frames cannot pass."""
    board = Board(dut)
    await board.begin()
    frames = [random.randbytes(60) for _ in range(FRAMES)]
    sent = {frame: board.send("a", frame) for frame in frames}
    await board.source["a"].wait()
    await Timer(60, unit="us")
    passed = []
    while not board.sink["b"].empty():
        found = board.sink["b"].recv_nowait()
        assert found.check_fcs()
        frame = bytes(found.get_payload())[:60]
        time = board.stamp("a", sent[frame], 60)
        assert bytes(found.get_payload()) == frame + trailer(frame, 0, 0, time, False)
        passed.append(frame)
    kept = set(passed)
    assert passed == [frame for frame in frames if frame in kept]
    dropped = await board.counter(0, "PORT_DROPPED")
    assert await board.counter(0, "PORT_FRAMES") == len(passed)
    assert len(passed) + dropped == FRAMES
    # What fits at line rate, and what the FIFO of 2 KiB and the crossing held at the end
    fits = FRAMES * 84 / 100
    assert fits - 1 <= len(passed) <= fits + 2048 / 64 + 4
    assert dropped > 0
