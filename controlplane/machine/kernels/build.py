"""Builds the kernel for virtual time: source, edits, configuration, compiler, cache.

Of the tree that it was built in, enough is kept to build modules, as distributions keep headers.
"""

import json
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...contract.errors import HostError, InternalError
from ...store.checksums import file_digest, write_sums
from ...store.staging import Staging, remove_stale
from ..paths import UML
from ..process import command
from ..process.clock import utc_now
from ..process.command import follow
from .cache import (
    BINARY,
    DEFAULT_KERNEL,
    RECORD,
    TREE,
    GuestKernel,
    KernelRecord,
    built_kernels,
    damage_of,
    is_of_release,
    kernel_cache,
    kernel_folder,
    read_kernel,
    recipe_digest,
)
from .source import KernelSource, find_source, knows_release

ShowBuild = Callable[[str, int, int], None]
"""Called as a build goes on: what it does, how much of it is done, and of how much (0: unknown)."""

TOOLS = ("make", "gcc", "ld", "flex", "bison", "bc", "tar", "xz")
DISK_BYTES = 1_500_000_000
MAKE_TIMEOUT_S = 300.0
"""Time limit of a short make target on a busy machine."""

ABOUT_FILES = 570
"""Files that are compiled: some more or less from release to release."""

_COMPILED = re.compile(r"  (CC|AS|HOSTCC)  +")
REPRODUCIBLE = {
    "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
    "KBUILD_BUILD_USER": "nashbed",
    "KBUILD_BUILD_HOST": "nashbed",
    "LOCALVERSION": "",
}
"""Who builds a kernel, when and where is not in it: the same compiler makes the same bytes."""

PATTERNS = (
    *(".config", "Module.symvers", "Makefile", "Kbuild"),
    *("arch/um/Makefile*", "arch/um/**/*.h", "arch/x86/Makefile*"),
    *("arch/x86/include/**/*.h", "arch/x86/um/**/*.h"),
    *("include/**/*.h", "include/config/auto.conf", "include/config/kernel.release"),
    "include/generated/rustc_cfg",  # asked for since 6.13, with Rust or without
    *("scripts/*", "scripts/basic/fixdep", "scripts/mod/modpost"),
    *("net/**/*.ko", "drivers/net/*.ko"),
)
"""The kernel's modules, every header that others may include, and what kbuild reads and runs."""

_DEVICES = (
    *("drm", "dt-bindings", "media", "pcmcia", "rdma", "scsi", "soc", "sound", "target", "ufs"),
    *("video", "xen", "linux/iio", "linux/mfd", "linux/mlx4", "linux/mlx5", "linux/mtd"),
    *("linux/platform_data", "linux/qed", "linux/regulator", "linux/soc", "linux/spi"),
    *("linux/usb", "uapi/drm", "uapi/misc", "uapi/rdma", "uapi/scsi", "uapi/sound"),
)
"""Folders of headers for devices that no guest has."""

EXCLUDED = tuple(f"include/{folder}/" for folder in _DEVICES)

_LINE = re.compile(
    r"(?P<symbol>CONFIG_\w+)=(?P<value>\S+)"
    r"(?:\s+#\s*(?P<when>since|until) (?P<release>\d+\.\d+)\b.*|\s+#.*)?"
)


def build_kernel(wanted: str, jobs: int, show: ShowBuild) -> tuple[GuestKernel, bool]:
    """Build a kernel, unless the cache has it; returns it, and whether it was built now.

    Args:
        wanted: A release, or the path of a source; empty: the usual one.
        jobs: Files compiled at once.

    Raises:
        HostError: No source, a tool is missing, no room, or the source is not one that we know.
        ConfigError: `wanted` is neither a release nor a path.
    """
    _require_tools()
    with _staging() as staging:
        show("looking for the source", 0, 0)
        source = find_source(wanted, staging.place)
        build = _Build(source, staging, jobs, show)
        there = build.in_cache()
        return (there, False) if there is not None else (build.run(), True)


@dataclass(frozen=True)
class EditedSource:
    """A kernel's source, ready to be compiled.

    Attributes:
        tree: Its tree, edited and configured; what a guest needs nothing of is not in it.
        digest: SHA-256 of the recipe.
    """

    tree: Path
    release: str
    package: str
    digest: str


@contextmanager
def edited_source(wanted: str, show: ShowBuild) -> Iterator[EditedSource]:
    """A kernel's source as `build_kernel` compiles it, to be distributed; removed afterwards.

    Args:
        wanted: As for `build_kernel`, and so what it raises.
    """
    _require_tools()
    with _staging() as staging:
        source = find_source(wanted, staging.place)
        build = _Build(source, staging, 1, show)
        yield build.prepare()
        build.forget_log()


def kernel_at_hand(wanted: str) -> GuestKernel | None:
    """A kernel that serves without a build; None where one is to be built.

    Args:
        wanted: A release, or the path of a source; empty: the usual one. That is 6.1, unless
            apt has no source of it, and another one is built.

    """
    if wanted and not re.fullmatch(r"[\d.]+", wanted):
        return None
    kernels = built_kernels()
    asked = [each for each in kernels if is_of_release(each.release, wanted or DEFAULT_KERNEL)]
    if not asked and (wanted or knows_release(DEFAULT_KERNEL)):
        return None
    return next((kernel for kernel in asked or kernels if not damage_of(kernel)), None)


def _require_tools() -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise HostError(f"{', '.join(missing)}: not installed; `make setup` installs it")


@contextmanager
def _staging() -> Iterator[Staging]:
    """A folder in the cache to build in; whatever killed processes left there is removed."""
    cache = kernel_cache()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        remove_stale(cache)
        staging = Staging(cache, "build")
    except OSError as error:
        raise HostError(f"{cache}: cannot be written: {error.strerror}") from error
    with staging:
        _require_disk(staging.place)
        yield staging


def _require_disk(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < DISK_BYTES:
        raise HostError(
            f"{folder.parent}: {free / 1e9:.1f} GB free, and a build takes {DISK_BYTES / 1e9:.1f} "
            "for some minutes; make room, or set XDG_CACHE_HOME"
        )


class _Build:
    """One build in a staging folder."""

    def __init__(self, source: KernelSource, staging: Staging, jobs: int, show: ShowBuild) -> None:
        self._source = source
        self._staging = staging
        self._work = staging.place
        self._jobs = jobs
        self._show = show
        self._tree = self._work / "tree"
        self._package = source.package
        self._digest = recipe_digest(self._package)
        self._log = kernel_cache() / f"build-{self._digest[:12]}.log"
        self._started = time.monotonic()

    def in_cache(self) -> GuestKernel | None:
        """The kernel of this recipe, if it is built."""
        folders = sorted(kernel_cache().glob(f"[!.]*-{self._digest[:12]}"))
        kernels = [kernel for kernel in map(read_kernel, folders) if kernel is not None]
        return next((kernel for kernel in kernels if not damage_of(kernel)), None)

    def run(self) -> GuestKernel:
        """Every step."""
        release = self.prepare().release
        self._compile()
        kernel = self._keep(release)
        self.forget_log()
        return kernel

    def prepare(self) -> EditedSource:
        """Every step before the compiler's."""
        self.forget_log()
        self._unpack()
        self._edit()
        release = self._release()
        self._configure(release)
        return EditedSource(self._tree, release, self._package, self._digest)

    def forget_log(self) -> None:
        """Remove the log of commands; it stays where one fails."""
        self._log.unlink(missing_ok=True)

    def _unpack(self) -> None:
        self._tree.mkdir()
        self._source.unpack(self._tree, self._log, lambda text: self._show(text, 0, 0))

    def _edit(self) -> None:
        self._show("editing", 0, 0)
        done = command.attempt([sys.executable, str(UML / "edits.py"), str(self._tree)])
        if done.code != 0:
            raise HostError((done.err or done.out).strip().splitlines()[-1])

    def _release(self) -> str:
        make = self._make("--silent", "kernelversion")
        return command.run(make, timeout_s=MAKE_TIMEOUT_S).out.strip()

    def _make(self, *arguments: str) -> list[str]:
        variables = [f"{name}={value}" for name, value in REPRODUCIBLE.items()]
        return ["make", "-C", str(self._tree), "ARCH=um", *variables, *arguments]

    def _configure(self, release: str) -> None:
        self._show(f"configuring {release}", 0, 0)
        major, minor = (int(number) for number in release.split(".")[:2])
        settings = fragment_settings((UML / "kernel.config").read_text(), (major, minor))
        fragment = self._work / "fragment"
        fragment.write_text("".join(f"{setting.line}\n" for setting in settings))
        follow(self._make(f"KCONFIG_ALLCONFIG={fragment}", "allnoconfig"), self._log)
        left_out = not_in_effect(settings, (self._tree / ".config").read_text())
        if left_out:
            lines = ", ".join(setting.line for setting in left_out)
            raise HostError(
                f"release {release} does not take {lines}: mark it with `since` or `until` "
                "in hosts/uml/kernel.config"
            )

    def _compile(self) -> None:
        done = 0

        def on_line(line: str) -> None:
            nonlocal done
            if _COMPILED.match(line):
                done += 1
                self._show("compiling", min(done, ABOUT_FILES), ABOUT_FILES)

        self._show("compiling", 0, ABOUT_FILES)
        follow(["nice", *self._make(f"-j{self._jobs}", "linux", "modules")], self._log, on_line)
        if not (self._tree / "linux").is_file():
            raise InternalError(f"no program `linux` after the build; its output: {self._log}")

    def _keep(self, release: str) -> GuestKernel:
        """Put the program, and what its modules need, into the cache in one step."""
        finished = self._work / "finished"
        finished.mkdir()
        shutil.copy(self._tree / "linux", finished / BINARY)
        keep_tree(self._tree, finished / TREE)
        record = KernelRecord(
            release=release,
            package=self._package,
            digest=self._digest,
            binary_digest=file_digest(finished / BINARY),
            compiler=compiler_of((self._tree / ".config").read_text()),
            built=utc_now(),
            seconds=round(time.monotonic() - self._started, 1),
        )
        (finished / RECORD).write_text(json.dumps(record.model_dump(), indent=1) + "\n")
        write_sums(finished)
        folder = kernel_folder(release, self._digest)
        try:
            self._staging.publish(finished, folder, replace=False)
        except OSError:
            # Another build was first, or what is there is damaged.
            kept = read_kernel(folder)
            if kept is None or damage_of(kept):
                self._staging.publish(finished, folder)
        kernel = read_kernel(folder)
        assert kernel is not None
        return kernel


def keep_tree(tree: Path, kept: Path) -> None:
    """Copy what modules are built with.

    Args:
        tree: A tree whose kernel and modules have been made.
        kept: A folder that is made for it. It may be moved.

    Raises:
        InternalError: The tree lacks a file that kbuild cannot do without.
    """
    for name in (".config", "Module.symvers", "include/config/auto.conf", "scripts/mod/modpost"):
        if not (tree / name).is_file():
            raise InternalError(f"no {name} after the build of the kernel")
    for path in _chosen(tree):
        copy = kept / path.relative_to(tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)


def _chosen(tree: Path) -> list[Path]:
    found = {path for pattern in PATTERNS for path in tree.glob(pattern) if path.is_file()}
    return [path for path in found if not path.relative_to(tree).as_posix().startswith(EXCLUDED)]


@dataclass(frozen=True)
class ConfigLine:
    """One line of the fragment."""

    symbol: str
    value: str

    @property
    def line(self) -> str:
        """As the kernel's configuration has it."""
        return f"{self.symbol}={self.value}"


def fragment_settings(text: str, release: tuple[int, int]) -> list[ConfigLine]:
    """The settings of a fragment for a release.

    Args:
        text: The fragment: `CONFIG_X=y`, with `# since 6.2` or `# until 6.1` behind it where
            other releases do not have it.
        release: The first two numbers of the release.

    Raises:
        ValueError: A line is none of these; the message has its number.
    """
    settings = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"line {number}: not a setting: {line.strip()}")
        if _applies(match["when"], match["release"], release):
            settings.append(ConfigLine(match["symbol"], match["value"]))
    return settings


def _applies(when: str | None, bound: str | None, release: tuple[int, int]) -> bool:
    if when is None or bound is None:
        return True
    major, minor = (int(number) for number in bound.split("."))
    return release >= (major, minor) if when == "since" else release <= (major, minor)


def not_in_effect(settings: list[ConfigLine], configuration: str) -> list[ConfigLine]:
    """The settings that a kernel's finished configuration (.config) does not have."""
    lines = set(configuration.splitlines())
    return [setting for setting in settings if setting.line not in lines]


def compiler_of(configuration: str) -> str:
    """The compiler that a finished configuration was made for."""
    match = re.search(r'(?m)^CONFIG_CC_VERSION_TEXT="(.*)"$', configuration)
    return match[1] if match else "unknown"
