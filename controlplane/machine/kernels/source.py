"""Where a kernel's source comes from: Debian's package by apt, an archive, or an unpacked tree."""

from __future__ import annotations

import hashlib
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...contract.errors import ConfigError, HostError
from ...store.checksums import file_digest
from ..process import command
from ..process.command import follow
from .cache import DEFAULT_KERNEL, is_of_release, release_numbers

ShowText = Callable[[str], None]
"""Called with what is being done."""

APT_TIMEOUT_S = 300.0
A_FILE = "give a source: make virtual KERNEL=/path/to/linux-source-X.tar.xz"
APT = Path("/etc/apt")

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
OTHER_SUITES = (
    ("http://deb.debian.org/debian-security", "bullseye-security"),
    ("http://deb.debian.org/debian", "bookworm-backports"),
    ("http://deb.debian.org/debian", "trixie-backports"),
    ("http://deb.debian.org/debian", "sid"),
)
"""Where releases are that this machine's own apt sources lack: older ones, and newer."""

_SKIPPED_SOURCES = (
    *("drivers/accel", "drivers/clk", "drivers/gpu", "drivers/iio", "drivers/infiniband"),
    *("drivers/media", "drivers/net/ethernet", "drivers/net/wireless", "drivers/pinctrl"),
    *("drivers/scsi", "drivers/staging", "drivers/usb", "sound", "tools/perf", "tools/testing"),
)
_SKIPPED_ARCHITECTURES = (
    *("alpha", "arc", "arm", "arm64", "csky", "h8300", "hexagon", "ia64", "loongarch", "m68k"),
    *("microblaze", "mips", "nds32", "nios2", "openrisc", "parisc", "powerpc", "riscv", "s390"),
    *("sh", "sparc", "xtensa"),
)
EXCLUDED = (
    "*/Documentation/*.rst",
    *(f"*/{folder}/*.[chS]" for folder in _SKIPPED_SOURCES),
    *(f"*/arch/{name}/*.[chS]" for name in _SKIPPED_ARCHITECTURES),
    "*/arch/*/boot/dts/*",
)
"""What a kernel for guests needs nothing of: two thirds of the source. Kconfig files stay."""


class KernelSource(ABC):
    """A source that has been found."""

    @property
    @abstractmethod
    def package(self) -> str:
        """Which source it is: the same text, the same source."""

    @abstractmethod
    def unpack(self, tree: Path, log: Path, show: ShowText) -> None:
        """Put it into an empty folder."""


@dataclass(frozen=True)
class Archive(KernelSource):
    """A tar file of a source tree, packed in any way that tar knows."""

    path: Path

    @property
    def package(self) -> str:
        """Its digest: the same under any name."""
        return f"sha256:{file_digest(self.path)}"

    def unpack(self, tree: Path, log: Path, show: ShowText) -> None:
        """Unpack what is needed of it."""
        show("unpacking")
        options = ["--auto-compress", "--extract", "--strip-components=1"]
        if self.path.suffix == ".xz":
            options[0] = "--use-compress-program=xz -T0"
        excluded = [f"--exclude={pattern}" for pattern in EXCLUDED]
        follow(["tar", *options, *excluded, "-f", str(self.path), "-C", str(tree)], log)


@dataclass(frozen=True)
class Tree(KernelSource):
    """An unpacked source tree, which is copied."""

    path: Path

    @property
    def package(self) -> str:
        """The digest of all its files."""
        total = hashlib.sha256()
        for path in sorted(p for p in self.path.rglob("*") if p.is_file() and not p.is_symlink()):
            name = path.relative_to(self.path).as_posix()
            if not name.startswith(".git/"):
                total.update(f"{name}\0{file_digest(path)}\0".encode())
        return f"tree sha256:{total.hexdigest()}"

    def unpack(self, tree: Path, log: Path, show: ShowText) -> None:
        """Copy it."""
        show("copying")
        ignored = shutil.ignore_patterns(".git")
        shutil.copytree(self.path, tree, symlinks=True, ignore=ignored, dirs_exist_ok=True)


@dataclass(frozen=True)
class AptLists:
    """Lists of packages: the machine's own, or those of a folder.

    Attributes:
        folder: With apt's files; None: the machine's own.
    """

    folder: Path | None = None

    def run(self, *args: str) -> str:
        """The output of `apt-get` or `apt-cache`; the command's name is the first argument."""
        options = [] if self.folder is None else [f"--config-file={self.folder / 'apt.conf'}"]
        return command.run([args[0], *options, *args[1:]], timeout_s=APT_TIMEOUT_S).out

    def releases(self) -> list[str]:
        """The releases that there are sources of, such as "6.1", newest first."""
        listed = self.run("apt-cache", "search", "--names-only", r"^linux-source-[0-9.]+$")
        found = re.findall(r"(?m)^linux-source-([\d.]+) ", listed)
        return sorted(found, key=release_numbers, reverse=True)

    def source(self, release: str) -> DebianPackage:
        """The newest package of a release."""
        name = f"linux-source-{release}"
        shown = self.run("apt-cache", "show", "--no-all-versions", name)
        fields = dict(re.findall(r"(?m)^(Version|Size): (\S+)$", shown))
        return DebianPackage(self, name, fields["Version"], int(fields["Size"]))


@dataclass(frozen=True)
class DebianPackage(KernelSource):
    """A package linux-source-X.

    Attributes:
        lists: The lists that know it.
        size: Bytes to load.
    """

    lists: AptLists
    name: str
    version: str
    size: int

    @property
    def package(self) -> str:
        """Name and version."""
        return f"{self.name} {self.version}"

    def unpack(self, tree: Path, log: Path, show: ShowText) -> None:
        """Load the package, and unpack what is needed of the archive in it."""
        folder = tree.parent / "package"
        folder.mkdir()
        self._download(folder, log, show)
        (deb,) = folder.glob("*.deb")
        follow(["dpkg-deb", "--extract", str(deb), str(folder)], log)
        deb.unlink()
        archives = sorted((folder / "usr" / "src").glob("linux-source-*.tar.*"))
        if not archives:
            raise HostError(f"{self.package}: no linux-source-*.tar.* in it: {A_FILE}")
        Archive(archives[0]).unpack(tree, log, show)
        shutil.rmtree(folder)

    def _download(self, folder: Path, log: Path, show: ShowText) -> None:
        lists = self.lists.folder
        options = [] if lists is None else [f"--config-file={lists / 'apt.conf'}"]
        args = ["apt-get", *options, "download", f"{self.name}={self.version}"]
        show(f"loading {self.package}, {self.size / 1e6:.0f} MB")
        try:
            follow(args, log, folder=folder)
        except HostError as error:
            raise HostError(f"{error.message}; without a network, {A_FILE}") from error


def find_source(wanted: str, scratch: Path) -> KernelSource:
    """The source of a kernel.

    Args:
        wanted: A release such as "6.12", or the path of an archive or an unpacked tree; empty: 6.1,
            or else the newest that apt knows.
        scratch: A folder for lists of packages.

    Raises:
        HostError: There is none; the message says what to do.
        ConfigError: It is neither a release nor a path.
    """
    path = Path(wanted)
    if wanted and path.is_dir():
        return Tree(path.resolve())
    if wanted and path.is_file():
        return Archive(path.resolve())
    if not re.fullmatch(r"(\d+\.\d+)?", wanted):
        raise ConfigError(
            f"KERNEL={wanted}: no such file or folder, and not a release such as {DEFAULT_KERNEL}"
        )
    return _from_apt(wanted, scratch)


def _from_apt(wanted: str, scratch: Path) -> DebianPackage:
    """A package that the machine's lists have, or lists loaded anew, or those of other suites."""
    if shutil.which("apt-get") is None:
        raise HostError(f"apt-get: not installed, so Debian's sources are out of reach: {A_FILE}")
    known: set[str] = set()
    makers: tuple[Callable[[Path], AptLists], ...] = (_own_lists, _machine_lists, _other_lists)
    for make in makers:
        lists = make(scratch)
        releases = lists.releases()
        known.update(releases)
        chosen = choose_release(releases, wanted)
        if chosen:
            return lists.source(chosen)
        if not wanted and lists.folder is not None:
            break
    raise HostError(
        f"apt knows no package linux-source-{wanted or 'X'} "
        f"(it knows {', '.join(sorted(known)) or 'none'}): check the network and apt's sources, "
        f"or {A_FILE}"
    )


def choose_release(releases: Sequence[str], wanted: str) -> str:
    """Choose the wanted release among those available; empty where it is not among them.

    Args:
        releases: Newest first.
        wanted: Empty: 6.1, or else the newest.
    """
    fitting = [each for each in releases if is_of_release(each, wanted or DEFAULT_KERNEL)]
    return [*fitting, *(releases if not wanted else ()), ""][0]


def knows_release(release: str) -> bool:
    """Whether this machine's lists have a source of a release."""
    return shutil.which("apt-cache") is not None and bool(
        choose_release(AptLists().releases(), release)
    )


def _own_lists(scratch: Path) -> AptLists:
    return AptLists()


def _machine_lists(scratch: Path) -> AptLists:
    """Lists of the machine's own sources: its own may never have been loaded."""
    parts = _new_lists(scratch / "machine")
    for path in [APT / "sources.list", *sorted((APT / "sources.list.d").glob("*"))]:
        if path.is_file():
            shutil.copy(path, parts / path.name)
    return _updated(scratch / "machine")


def _other_lists(scratch: Path) -> AptLists:
    """Lists of the suites with older and newer releases."""
    parts = _new_lists(scratch / "other")
    lines = [f"deb [signed-by={KEYRING}] {uri} {suite} main\n" for uri, suite in OTHER_SUITES]
    (parts / "other.list").write_text("".join(lines))
    return _updated(scratch / "other")


def _new_lists(folder: Path) -> Path:
    """Make a folder for apt's files; returns the one for its sources."""
    parts, lists, cache = folder / "parts", folder / "lists", folder / "cache"
    for each in (parts, lists / "partial", cache / "archives" / "partial"):
        each.mkdir(parents=True)
    settings = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": str(parts),
        "Dir::State::Lists": str(lists),
        "Dir::Cache": str(cache),
        "Acquire::Languages": "none",
        "Acquire::Retries": "1",
        "Acquire::http::Timeout": "20",
    }
    config = "".join(f'{name} "{value}";\n' for name, value in settings.items())
    (folder / "apt.conf").write_text(config)
    return parts


def _updated(folder: Path) -> AptLists:
    lists = AptLists(folder)
    lists.run("apt-get", "-q", "update")
    return lists
