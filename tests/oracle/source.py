"""The few files of Linux that the oracle is compiled from: `make qdiscs`.

They come from a kernel's source package and are kept beside the kernels of virtual time, a folder
for each release. None of them is in the repository.
"""

import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from nashbed.controlplane.contract.errors import NashbedError
from nashbed.controlplane.machine.kernels.cache import (
    is_of_release,
    kernel_cache,
    release_numbers,
)
from nashbed.controlplane.machine.kernels.source import find_source

RELEASE = "7.3"
"""What is fetched if nothing else is asked for: dualpi2 is in 6.17 and later."""

QDISCS = ("codel", "dualpi2", "fifo", "fq_codel", "pie", "red", "tbf")
FILES = (
    *(f"net/sched/sch_{name}.c" for name in QDISCS),
    *("include/net/codel.h", "include/net/codel_impl.h", "include/net/codel_qdisc.h"),
    *("include/net/pie.h", "include/net/red.h"),
    *("include/linux/reciprocal_div.h", "lib/math/reciprocal_div.c"),
    "include/uapi/linux/pkt_sched.h",
)
"""What is kept; a release may lack some."""


@dataclass(frozen=True)
class LinuxSource:
    """Files of one release.

    Attributes:
        folder: Where they are, below their names in Linux's tree.
    """

    folder: Path

    @property
    def release(self) -> str:
        """Such as "7.3.4"."""
        return self.folder.name

    def has(self, qdisc: str) -> bool:
        """Whether the release has a qdisc, by the name of its file."""
        return (self.folder / "net" / "sched" / f"sch_{qdisc}.c").is_file()


def qdiscs_cache() -> Path:
    """Where the files are: a folder for each release."""
    return kernel_cache().parent / "qdiscs"


def sources() -> list[LinuxSource]:
    """All that were fetched, the newest first."""
    folders = [path for path in qdiscs_cache().glob("[0-9]*") if path.is_dir()]
    return [LinuxSource(each) for each in sorted(folders, key=_numbers, reverse=True)]


def fetch(wanted: str) -> LinuxSource:
    """Fetch the files, unless they are there.

    Args:
        wanted: A release, or the path of an archive or of an unpacked tree.

    Raises:
        HostError: There is no such source; the message says what to do.
        ConfigError: `wanted` is neither a release nor a path.
    """
    for known in sources():
        if is_of_release(known.release, wanted):
            return known
    qdiscs_cache().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=qdiscs_cache(), prefix=".") as scratch:
        tree, kept = Path(scratch) / "tree", Path(scratch) / "kept"
        tree.mkdir()
        source = find_source(wanted, Path(scratch))
        source.unpack(tree, Path(scratch) / "log", lambda text: print(text, flush=True))
        for name in FILES:
            if (tree / name).is_file():
                (kept / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(tree / name, kept / name)
        folder = qdiscs_cache() / _release_of(tree)
        if not folder.is_dir():
            kept.rename(folder)
    return LinuxSource(folder)


def _release_of(tree: Path) -> str:
    """A tree's release, by the first lines of its Makefile."""
    fields = dict(re.findall(r"(?m)^(\w+) = (\d+)$", (tree / "Makefile").read_text()))
    return ".".join(fields[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def _numbers(folder: Path) -> list[int]:
    return release_numbers(folder.name)


def main() -> int:
    try:
        found = fetch(sys.argv[1] if len(sys.argv) > 1 else RELEASE)
    except NashbedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"Linux {found.release}: {found.folder}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
