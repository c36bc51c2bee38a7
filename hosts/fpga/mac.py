#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write what rtl/board/top_ecp5.v joins to the core: MAC and PHY of a port, registers by UART.

    hosts/fpga/mac.py FOLDER

They are LiteEth's and LiteX's (BSD-2-Clause, from PyPI), generated where they are needed and not
committed: the modules liteeth_port and litex_uart. LiteEth's own cores put a processor's buffers
or UDP behind the MAC; here its parts are chained alone, 8 bits wide in the clocks of the PHY,
because the timestamper wants each frame as it comes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from liteeth.common import eth_phy_description
from liteeth.mac import crc, gap, preamble
from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
from litex.build.lattice.common import lattice_ecp5_trellis_special_overrides
from litex.gen.fhdl.verilog import convert
from litex.soc.cores.uart import RS232PHY, UARTBone
from litex.soc.interconnect import axi, stream
from migen import ClockDomain, ClockDomainsRenamer, ClockSignal, Module, Record, ResetSignal, Signal

CLOCK_HZ = 62_500_000
BAUD = 115_200
CHANNELS = {
    "aw": ("addr",),
    "w": ("data", "strb"),
    "b": ("resp",),
    "ar": ("addr",),
    "r": ("data", "resp"),
}
"""Of AXI4-Lite, and what each carries."""
ANSWERS = ("b", "r")


class Named(Module):
    """A module whose ports have the names that they are given."""

    def __init__(self) -> None:
        self.ports: set[Signal] = set()

    def port(self, name: str, bits: int = 1) -> Signal:
        """A port; which way it goes follows from its use."""
        made = Signal(bits, name=name)
        self.ports.add(made)
        return made

    def write(self, folder: Path, name: str) -> Path:
        """Write the Verilog of a module of this name."""
        path = folder / f"{name}.v"
        # Not `regular_comb`: blocks with several targets wake each other for ever in Icarus
        made = convert(
            self,
            self.ports,
            name=name,
            special_overrides=lattice_ecp5_trellis_special_overrides,
            regular_comb=False,
        )
        made.write(str(path))
        return path


class MacPort(Named):
    """RGMII on one side, on the other frames as bytes: without preamble, FCS and gap.

    A frame whose FCS is wrong is marked with its last byte. Nothing is padded, and nothing
    checks a length.
    """

    def __init__(self) -> None:
        super().__init__()
        clocks = Record([("rx", 1), ("tx", 1)])
        pads = Record([("rx_ctl", 1), ("rx_data", 4), ("tx_ctl", 1), ("tx_data", 4)])
        # The PHY delays its transmit clock itself, as litex-boards has it for this board
        self.submodules.phy = phy = LiteEthPHYRGMII(
            clocks, pads, with_hw_init_reset=False, tx_delay=0, with_inband_status=False
        )
        self._chain(phy)
        self.comb += [
            phy.crg._reset.storage.eq(self.port("rst")),
            clocks.rx.eq(self.port("rgmii_rx_clk")),
            pads.rx_ctl.eq(self.port("rgmii_rx_ctl")),
            pads.rx_data.eq(self.port("rgmii_rx_data", 4)),
            self.port("rgmii_tx_clk").eq(clocks.tx),
            self.port("rgmii_tx_ctl").eq(pads.tx_ctl),
            self.port("rgmii_tx_data", 4).eq(pads.tx_data),
        ]
        for way in ("rx", "tx"):
            self.comb += [
                self.port(f"{way}_clk").eq(ClockSignal(f"eth_{way}")),
                self.port(f"{way}_rst").eq(ResetSignal(f"eth_{way}")),
            ]

    def _chain(self, phy: LiteEthPHYRGMII) -> None:
        layout = eth_phy_description(8)
        to_wire, from_wire = ClockDomainsRenamer("eth_tx"), ClockDomainsRenamer("eth_rx")
        # The CRC's long paths begin in a register
        buffered = stream.BufferizeEndpoints({"sink": stream.DIR_SINK})
        add_fcs = to_wire(buffered(crc.LiteEthMACCRC32Inserter(layout)))
        check_fcs = from_wire(buffered(crc.LiteEthMACCRC32Checker(layout)))
        chain = [
            add_fcs,
            to_wire(preamble.LiteEthMACPreambleInserter(8)),
            to_wire(gap.LiteEthMACGap(8)),
            phy,
            from_wire(preamble.LiteEthMACPreambleChecker(8)),
            check_fcs,
        ]
        self.submodules += [each for each in chain if each is not phy]
        self.submodules += stream.Pipeline(*chain)
        sink, source = add_fcs.sink, check_fcs.source
        self.comb += [
            # The one byte of a word counts: without it, no CRC is made or checked
            sink.last_be.eq(1),
            phy.source.last_be.eq(1),
            sink.valid.eq(self.port("tx_valid")),
            sink.data.eq(self.port("tx_data", 8)),
            sink.last.eq(self.port("tx_last")),
            self.port("tx_ready").eq(sink.ready),
            self.port("rx_valid").eq(source.valid),
            self.port("rx_data", 8).eq(source.data),
            self.port("rx_last").eq(source.last),
            self.port("rx_error").eq(source.error),
            source.ready.eq(1),
        ]


class RegisterUart(Named):
    """A serial line on one side (LiteX's `uartbone`), on the other an AXI4-Lite master."""

    def __init__(self, baud: int) -> None:
        super().__init__()
        self.clock_domains.cd_sys = domain = ClockDomain("sys")
        line = Record([("rx", 1), ("tx", 1)])
        self.submodules.bone = bone = UARTBone(RS232PHY(line, CLOCK_HZ, baud), CLOCK_HZ)
        bus = axi.AXILiteInterface(data_width=32, address_width=32)
        self.submodules += axi.Wishbone2AXILite(bone.wishbone, bus)
        self.comb += [
            domain.clk.eq(self.port("clk")),
            domain.rst.eq(self.port("rst")),
            line.rx.eq(self.port("uart_rx")),
            self.port("uart_tx").eq(line.tx),
        ]
        for name, fields in CHANNELS.items():
            channel = getattr(bus, name)
            here = {each: getattr(channel, each) for each in ("valid", *fields)}
            for field, signal in here.items():
                port = self.port(name + field, len(signal))
                self.comb += signal.eq(port) if name in ANSWERS else port.eq(signal)
            ready = self.port(name + "ready")
            self.comb += ready.eq(channel.ready) if name in ANSWERS else channel.ready.eq(ready)


def write(folder: Path, baud: int = BAUD) -> list[Path]:
    """Write both modules; returns where they are."""
    return [MacPort().write(folder, "liteeth_port"), RegisterUart(baud).write(folder, "litex_uart")]


def main() -> None:
    """Write them where the command line says."""
    parser = argparse.ArgumentParser(description="Write the board's MAC and UART in Verilog.")
    parser.add_argument("folder", type=Path)
    write(parser.parse_args().folder)


if __name__ == "__main__":
    main()
