"""Linux's queue disciplines where they belong: in a whole kernel, a guest whose time travels.

    python -m tests.oracle.guest.guest [KERNEL]

builds it once (`make qdiscs GUEST=1`): the kernel of virtual time with queue disciplines
(qdiscs.config), and a device with a line of an exact rate as its module (line.c).
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.controlplane.contract.errors import NashbedError
from nashbed.controlplane.machine.guest.kernel import LOADER
from nashbed.controlplane.machine.kernels.build import edited_source
from numpy.typing import NDArray
from tests.oracle.linux_qdiscs import OUTCOME
from tests.oracle.source import RELEASE, qdiscs_cache

HERE = Path(__file__).parent
KERNEL, MODULE = "linux", "line.ko"

INIT = """\
#!/bin/sh
busybox mount -t proc proc /proc
busybox insmod {module} arrivals_path={place}/arrivals outcomes_path={place}/outcomes \
rate_bps={rate_bps} || busybox poweroff -f
ip link set line0 up
tc qdisc replace dev line0 root {qdisc} || busybox poweroff -f
# Codel takes times near its clock's 0 for times near "never dropped yet".
busybox sleep 10
echo > /proc/oracle
busybox poweroff -f
"""
"""What the guest does; time passes in it for what sleeps only."""

RUN_S = 60.0


@dataclass(frozen=True)
class Guest:
    """A kernel with queue disciplines.

    Attributes:
        folder: Its program and the module.
    """

    folder: Path

    def run(
        self, place: Path, qdisc: str, rate_bps: int, came: NDArray[Any], seed: int = 1
    ) -> NDArray[Any]:
        """What becomes of arrivals: shape (n,), dtype OUTCOME, without reasons.

        Args:
            place: A folder for its files.
            qdisc: As tc has it, such as "codel ecn".
            rate_bps: Of the line.
            came: Shape (n,), dtype ARRIVAL, on the grid of the line's bytes (a timer within a
                nanosecond of another may be late by one).
            seed: Of the kernel's random numbers.

        Raises:
            FileNotFoundError: The guest did not get so far.
        """
        came.tofile(place / "arrivals")
        (place / "outcomes").unlink(missing_ok=True)
        init = place / "init"
        module = self.folder / MODULE
        init.write_text(INIT.format(module=module, place=place, rate_bps=rate_bps, qdisc=qdisc))
        init.chmod(0o755)
        command = [
            *(*LOADER, str(self.folder / KERNEL), "mem=128M"),
            *("time-travel=inf-cpu", "time-travel-start=1000000000000000000"),
            *("root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", "quiet"),
            *("con=null", "con0=null,fd:2", f"uml_dir={place}", f"init={init}"),
        ]
        variables = {"NASHBED_SEED": str(seed), "TMPDIR": "/dev/shm", "HOME": str(place)}
        environment = os.environ | variables
        subprocess.run(
            command,
            env=environment,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=RUN_S,
            check=False,
        )
        left = np.fromfile(place / "outcomes", OUTCOME)
        left["spare"] = 0
        return left


def need_guest() -> Guest:
    """The guest; skips where it is not built."""
    built = sorted(qdiscs_cache().glob(f"guest-*/{MODULE}"))
    if not built:
        pytest.skip("no kernel with queue disciplines is built: run `make qdiscs GUEST=1`")
    return Guest(built[-1].parent)


def build(wanted: str, show: Callable[[str], None]) -> Guest:
    """Build it, unless it is there.

    Args:
        wanted: A release, or the path of an archive or of an unpacked tree.

    Raises:
        NashbedError: No source, or a tool is missing.
        CalledProcessError: The build fails.
    """
    with edited_source(wanted, lambda text, done, of: show(text)) as edited:
        folder = qdiscs_cache() / f"guest-{edited.release}"
        if not folder.is_dir():
            show("compiling")
            _compile(edited.tree, folder)
    return Guest(folder)


def _compile(tree: Path, folder: Path) -> None:
    settings = re.findall(r"(?m)^CONFIG_.*", (HERE / "qdiscs.config").read_text())
    with (tree / ".config").open("a") as config:
        config.write("".join(f"{line}\n" for line in settings))
    make = ["nice", "make", "--silent", "-C", str(tree), "ARCH=um", f"-j{os.cpu_count()}"]
    subprocess.run([*make, "olddefconfig"], check=True)
    missing = set(settings) - set((tree / ".config").read_text().splitlines())
    if missing:
        raise NashbedError(f"the kernel does not take {', '.join(sorted(missing))}")
    subprocess.run([*make, "linux", "modules"], check=True)
    work = tree / "oracle"
    work.mkdir()
    shutil.copy(HERE / "line.c", work)
    (work / "Kbuild").write_text("obj-m := line.o\n")
    subprocess.run([*make, f"M={work}", "modules"], check=True)
    made = tree / "made"
    made.mkdir()
    shutil.copy(tree / KERNEL, made)
    shutil.copy(work / MODULE, made)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, folder)


def main() -> int:
    try:
        guest = build(sys.argv[1] if len(sys.argv) > 1 else RELEASE, print)
    except (NashbedError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(guest.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
