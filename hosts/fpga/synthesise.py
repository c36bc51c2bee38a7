#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Synthesise the timestamper with Yosys and count its cells.

    hosts/fpga/synthesise.py [--width 64|512] [--ports N]

The RTL is vendor-neutral; one family's mapping makes the counts comparable (LUTs, flip-flops,
block RAM, multipliers) where generic gates would not be.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RTL = Path(__file__).resolve().parent / "rtl"
FAMILY = "xcup"  # UltraScale+
KINDS = {
    "LUT": r"LUT\d",
    "flip-flop": r"FD[RSPC]E",
    "shift register": r"SRL\w+",
    "carry": r"CARRY\d",
    "wide mux": r"MUXF\d",
    "block RAM (18 kbit)": r"RAMB18\w+",
    "block RAM (36 kbit)": r"RAMB36\w+",
    "multiplier": r"DSP\w+",
}


def synthesise(width: int, ports: int) -> dict[str, int]:
    """Cells of one kind each, without the pads of the chip.

    Raises:
        subprocess.CalledProcessError: Yosys refused; its words are in `stderr`.
    """
    sources = " ".join(str(path) for path in sorted(RTL.glob("*.v")))
    with tempfile.TemporaryDirectory() as folder:
        stat = Path(folder) / "stat.json"
        script = (
            f"read_verilog -I{RTL} {sources}; "
            f"chparam -set DATA_WIDTH {width} -set PORTS {ports} timestamper; "
            f"synth_xilinx -family {FAMILY} -noiopad -noclkbuf -flatten -top timestamper; "
            f"check -assert; tee -q -o {stat} stat -json"
        )
        subprocess.run(["yosys", "-q", "-p", script], check=True, capture_output=True, text=True)
        cells = json.loads(stat.read_text())["design"]["num_cells_by_type"]
    return {
        kind: sum(n for name, n in cells.items() if re.fullmatch(pattern, name))
        for kind, pattern in KINDS.items()
    }


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description="Cell counts of the timestamper.")
    parser.add_argument("--width", type=int, choices=(64, 512), default=64)
    parser.add_argument("--ports", type=int, default=1)
    options = parser.parse_args()
    if shutil.which("yosys") is None:
        print("skipped: yosys is not on PATH (make test-packages)", file=sys.stderr)  # noqa: T201
        return 0
    try:
        counts = synthesise(options.width, options.ports)
    except subprocess.CalledProcessError as error:
        print(error.stderr, file=sys.stderr)  # noqa: T201
        return 1
    for kind, count in counts.items():
        print(f"{kind:22}{count:8}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
