"""In the simulator: the board with a PHY's partner at each socket and a host at the serial line.

The stamps' model knows no signal of the design but its reset: clock edges are counted from there,
and a frame's stamp follows from the time of its bytes at the pins.
"""

import logging
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, First, RisingEdge, Timer
from cocotb.utils import get_sim_time
from cocotbext.eth import GmiiFrame, RgmiiSink, RgmiiSource
from litex.tools.remote.comm_uart import CMD_READ_BURST_INCR, CMD_WRITE_BURST_INCR
from tests.rtl.models import trailer
from tests.rtl.registers import register_map

CRYSTAL_PS = 40_010
"""250 ppm slow, and odd: no edge of the core's clock is at the same time as a PHY's."""
PERIOD = 16 << 32
"""What the clock adds in a cycle, 2^-32 ns."""
RESET_TO_CLOCK = 4
"""Cycles from the last edge of the reset to the first that shows the time 0 plus a period."""
BYTE_PS = {"a": 8000, "b": 8008}
"""Of a PHY's clock."""
PINS_TO_CROSSING = 10
"""Cycles of a PHY's clock from the edge that samples a first beat's last byte to the one that
puts the beat into the FIFO between the clocks: DDR 1, PHY 2, MAC 5 (it holds back four bytes
until it knows that they are no FCS), beat 2."""
CROSSING = 3
"""Edges of the core's clock behind the first one that could see the beat, to the one that takes
it."""
BIT_NS = 160
"""Of the serial line: the simulation's is fast."""
BAUD = 10**9 // BIT_NS
REG = register_map()


@dataclass
class Board:
    """The design and what is connected to it.

    Attributes:
        edges: Times of the core's clock edges since its reset, ps.
    """

    dut: Any
    edges: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dut.uart_rx.value = 1
        self.source = {name: self._socket(RgmiiSource, name, "rx") for name in "ab"}
        self.sink = {name: self._socket(RgmiiSink, name, "tx") for name in "ab"}

    def _socket(self, model: Any, name: str, way: str) -> Any:
        pins = (getattr(self.dut, f"{name}_{way}_{pin}") for pin in ("data", "ctl", "clk"))
        made = model(*pins)
        made.log.setLevel(logging.WARNING)
        return made

    async def begin(self) -> None:
        """Power on, or lose the PLL's lock; done when the PHYs are out of their reset."""
        await Timer(1, unit="ps")
        cocotb.start_soon(Clock(self.dut.clk25, CRYSTAL_PS, unit="ps").start())
        lock = self.dut.board_inst.pll_inst.LOCK
        for _ in range(2):
            lock.value = 0
            await RisingEdge(lock)
        cocotb.start_soon(self._count())
        await RisingEdge(self.dut.phy_rst_n)
        await Timer(100, unit="ns")

    async def _count(self) -> None:
        core = self.dut.board_inst
        await FallingEdge(core.rst)
        while True:
            self.edges.append(round(get_sim_time("ps")))
            await RisingEdge(core.clk)

    def stamp(self, socket: str, sent: GmiiFrame, length: int) -> int:
        """When a frame was taken, by the board's clock, 2^-32 ns.

        Args:
            socket: Where it came in.
            sent: As it was sent; the model of its sender noted when.
            length: Of the frame without FCS, bytes.
        """
        # The source notes the edge before the one that samples the first byte
        first = round(sent.sim_time_sfd) + BYTE_PS[socket]
        crossing = first + (min(8, length) - 1 + PINS_TO_CROSSING) * BYTE_PS[socket]
        taken = bisect_right(self.edges, crossing) + CROSSING
        return (taken - RESET_TO_CLOCK) * PERIOD

    async def expect(self, socket: str, sent: GmiiFrame, frame: bytes, error: bool = False) -> Any:
        """The next frame at the other socket is this one with its trailer and a right FCS."""
        other = {"a": "b", "b": "a"}[socket]
        found = await self.sink[other].recv()
        assert bytes(found.get_preamble()) == b"\x55" * 7 + b"\xd5"
        assert found.error is None
        assert found.check_fcs()
        port = {"a": 0, "b": 1}[socket]
        time = self.stamp(socket, sent, len(frame))
        assert bytes(found.get_payload()) == frame + trailer(frame, 0, port, time, error)
        return found

    def send(self, socket: str, frame: bytes, fcs_bits: int = 0) -> GmiiFrame:
        """Send a frame, with some bits of its FCS turned over; returns what notes its times."""
        sent = GmiiFrame.from_payload(frame, min_len=0)
        sent.data[-4:] = (int.from_bytes(sent.data[-4:], "little") ^ fcs_bits).to_bytes(4, "little")
        # The source sends a copy
        sent.tx_complete = lambda copy: setattr(sent, "sim_time_sfd", copy.sim_time_sfd)
        self.source[socket].send_nowait(sent)
        return sent

    async def _say(self, data: bytes) -> None:
        for byte in data:
            for bit in (0, *(byte >> n & 1 for n in range(8)), 1):
                self.dut.uart_rx.value = bit
                await Timer(BIT_NS, unit="ns")

    async def _hear(self, count: int) -> bytes:
        heard = bytearray()
        for _ in range(count):
            await First(FallingEdge(self.dut.uart_tx), Timer(100, unit="us"))
            assert self.dut.uart_tx.value == 0, "no answer"
            await Timer(BIT_NS / 2, unit="ns")
            byte = 0
            for bit in range(8):
                await Timer(BIT_NS, unit="ns")
                byte |= int(self.dut.uart_tx.value) << bit
            heard.append(byte)
            await Timer(BIT_NS, unit="ns")
            assert self.dut.uart_tx.value == 1, "no stop bit"
        return bytes(heard)

    async def read(self, name: str, offset: int = 0) -> int:
        """A register, over the serial line."""
        answer = cocotb.start_soon(self._hear(4))
        word = (REG[name] + offset) // 4
        await self._say(bytes([CMD_READ_BURST_INCR, 1]) + word.to_bytes(4, "big"))
        return int.from_bytes(await answer, "big")

    async def write(self, name: str, value: int) -> None:
        """A register, over the serial line."""
        word = REG[name] // 4
        await self._say(
            bytes([CMD_WRITE_BURST_INCR, 1]) + word.to_bytes(4, "big") + value.to_bytes(4, "big")
        )

    async def counter(self, port: int, name: str) -> int:
        return await self.read("REG_PORTS", port * REG["PORT_STRIDE"] + REG[name])
