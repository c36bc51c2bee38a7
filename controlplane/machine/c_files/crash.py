"""Where a module has crashed a guest's kernel: the line of C, from the kernel's trace."""

import re
from collections.abc import Sequence
from pathlib import Path

from ...contract.errors import NashbedError
from ..process import command

_TRACED = re.compile(
    r"(?P<at>RIP: |\? )(?P<function>[\w.]+)\+0x(?P<offset>[0-9a-f]+)/0x[0-9a-f]+ "
    r"\[(?P<module>\w+)\]"
)


def crash_place(line: str, modules: Sequence[Path]) -> str:
    """What a line of a trace adds to the message about a crash: function, file and line.

    Args:
        line: Of the kernel's console; but for the first place, which is the instruction itself, a
            trace has the addresses that functions return to.
        modules: The modules of the kernel, each `NAME-DIGEST.ko`.

    Returns:
        Such as `, in mycc_ssthresh (mycc.c:12)`; empty: the line is of no place in a module.
    """
    found = _TRACED.search(line)
    if found is None:
        return ""
    own = [each for each in modules if each.name.rpartition("-")[0] == found["module"]]
    offset = int(found["offset"], 16) - (found["at"] != "RIP: ")
    where = _line_of(own[0], found["function"], offset) if own else found["module"]
    return f", in {found['function']} ({where}); the guest's log has the trace"


def _line_of(module: Path, function: str, offset: int) -> str:
    """File and line, by what the compiler has left in a module; else the module's name."""
    try:
        symbols = command.run(["nm", str(module)]).out
        start = re.search(rf"(?m)^([0-9a-f]+) [tT] {re.escape(function)}$", symbols)
        address = hex(int(start[1], 16) + offset) if start else ""
        said = command.run(["addr2line", "-j", ".text", "-e", str(module), address]).out.split()
    except NashbedError:
        said = []
    file = said[0].removeprefix("./").removeprefix("own/") if said else "?"
    return module.stem if file.startswith("?") else file
