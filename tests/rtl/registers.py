"""The register map, read from hosts/fpga/rtl/registers.vh: there is no second copy of it."""

import re

from tests.rtl.simulate import RTL

DEFINE = re.compile(r"^`define\s+(\w+)\s+\d+'h([0-9a-fA-F]+)", re.MULTILINE)


def register_map() -> dict[str, int]:
    """Name -> address or value."""
    text = (RTL / "registers.vh").read_text()
    return {name: int(value, 16) for name, value in DEFINE.findall(text)}
