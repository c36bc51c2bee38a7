"""Files, modules, headings and commands that documents, comments and docstrings name are there."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from nashbed.controlplane.cli.app import COMMANDS
from tests.support.modules import ROOT, parsed, statements

FOLDERS = ("analysis", "configs", "controlplane", "docs", "hosts", "p4src", "tests")
SOURCES = ("py", "c", "h", "p4", "md", "lua", "v", "sv")
COMMENTED = {
    ".c": r"(?s:/\*.*?\*/)|//.*",
    ".yaml": r"(?m)(?:^|(?<=\s))#.*",
    ".toml": r"#.*",
    ".build": r"#.*",
}
COMMENTED |= dict.fromkeys((".h", ".p4", ".v", ".sv"), COMMENTED[".c"])
"""What is a comment, by the file's kind."""
COMMENT = re.compile(r"""^(?:[^"'#\n]|"[^"\n]*"|'[^'\n]*')*(#.*)""", re.MULTILINE)
"""One of Python, behind strings that end on its line; Python's tokenizer takes seconds for all."""

ROOTED = re.compile(rf"(?<![\w./<-])(?:{'|'.join(FOLDERS)})/[\w./-]*\w(?![\w*<{{-])")
"""A path from the repository's root, file or folder."""
SOURCE = re.compile(
    rf"(?<![\w./<{{*-])(?:[\w-]+/)*[\w-]+(?:\.bpf)?\.(?:{'|'.join(SOURCES)})(?![\w({{*])"
)
"""The name of a source file, with some of its folders or without."""
MODULE = re.compile(r" -m ((?:tests|nashbed)\.[\w.]+)")
COMMAND = re.compile(r"`nashbed ([a-z][a-z-]*)")
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
PLACEHOLDER = re.compile(r"[A-Z]{3}")
"""As in `core/NAME.c`."""

MADE = {"common/shared.h", "shared.h", "records.h", "table.md", "dist/container.py",
        "evaluation.md"}  # fmt: skip
"""What `make` and commands write."""
FOREIGN = {
    "arch/um/drivers/nashbed_kern.c", "bpf_tracing.h", "dpdk-devbind.py", "include/drm/drm.h",
    "gentle.c", "mem.c", "module/procfs.c", "mycc.c", "net/bpf/test_run.c", "net/ipv4/proc.c",
    "net/socket.c", "net/ipv4/tcp_bbr.c", "net/ipv4/tcp_cubic.c", "net/ipv4/tcp_prague.c",
    "net/ipv4/tcp_rate.c",
    "asm/syscall.h", "pna.p4", "process.c", "queueing.h", "random.c",
    "rte_swx_pipeline_internal.h", "signal.c", "skas/process.c", "src/iperf_api.h",
    "bf_pipe_mgr_mirror_buffer.c", "bf_pm_intf.c", "pipe_mgr_mirror_buffer.c",
    "pipe_mgr_tof2_pktgen.c", "pipe_mgr_tof_pktgen.c", "tm_api_pool.c", "tm_api_ppg.c",
    "tm_api_queue.c", "tm_api_read.c", "tm_api_sch.c", "tm_queue.c", "tm_sch.c",
    "fs/aio.c", "io_uring.c", "kernel/process.c", "sch_blackhole.c", "syscalls_64.c",
    "net/tcp.h", "tcp_bbr.c", "tcp_cubic.c", "tcp_mine.c", "tcp_prague.c", "tcp_rate.c",
    "time-internal.h", "time.c", "um_arch.c", "um_vdso.c", "util.c", "vma.c", "vmlinux.h",
}  # fmt: skip
"""Files of the kernel, DPDK, p4c, iperf3 and the Tofino driver; and a user's own."""


@cache
def files() -> tuple[Path, ...]:
    """Every file of the repository, from its root."""
    inside = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    found = (path for path in (*inside, *ROOT.glob("*")) if path.is_file())
    return tuple(sorted(p.relative_to(ROOT) for p in found if "__pycache__" not in p.parts))


@cache
def endings() -> frozenset[str]:
    """Every file, from the root and from each of its folders."""
    every = (path.parts for path in files())
    return frozenset("/".join(parts[i:]) for parts in every for i in range(len(parts)))


def documents() -> list[Path]:
    return [path for path in files() if path.suffix == ".md"]


@cache
def prose(path: Path) -> str:
    """What a file says to its reader: a document's text, a source's comments and docstrings."""
    content = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".md":
        return content
    if path.suffix == ".py":
        return "\n".join(_of_python(path))
    kind = ".yaml" if path.name == "Makefile" else path.suffix
    found = re.findall(COMMENTED[kind], content) if kind in COMMENTED else []
    return "\n".join(found)


def _of_python(path: Path) -> Iterator[str]:
    yield from COMMENT.findall((ROOT / path).read_text(encoding="utf-8"))
    for node in statements(parsed(ROOT / path)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def messages(path: Path) -> str:
    """The strings of a program, which may name files to its user."""
    if not ROOTED.search((ROOT / path).read_text(encoding="utf-8")):
        return ""
    nodes = ast.walk(parsed(ROOT / path))
    strings = (node.value for node in nodes if isinstance(node, ast.Constant))
    return "\n".join(each for each in strings if isinstance(each, str))


def absent(names: Iterable[str], beside: Path = Path()) -> set[str]:
    """Paths at which nothing is, from the root or beside a file; scenarios need no ending."""
    return {
        name
        for name in names
        if not PLACEHOLDER.search(name)
        and not any(
            (ROOT / place / f"{name}{ending}").exists()
            for place in ("", beside.parent)
            for ending in ("", ".yaml")
        )
    }


def heading_ids(path: Path) -> set[str]:
    """How links name a document's headings."""
    kept = (re.sub(r"[^\w\- ]", "", each.lower()) for each in HEADING.findall(path.read_text()))
    return {each.strip().replace(" ", "-") for each in kept}


def test_sources_that_are_named_are_there() -> None:
    known = endings() | MADE | FOREIGN
    unknown = {
        str(path): names
        for path in files()
        if (names := {n for n in SOURCE.findall(prose(path)) if not PLACEHOLDER.search(n)} - known)
    }
    assert unknown == {}


def test_paths_from_the_root_are_there() -> None:
    dangling = {str(p): gone for p in files() if (gone := absent(ROOTED.findall(prose(p)), p))}
    assert dangling == {}


def test_messages_name_paths_that_are_there() -> None:
    programs = [p for p in files() if p.suffix == ".py" and p.parts[0] != "tests"]
    dangling = {str(p): gone for p in programs if (gone := absent(ROOTED.findall(messages(p))))}
    assert dangling == {}


def path_of(module: str) -> str:
    return module.removeprefix("nashbed.").replace(".", "/") + ".py"


def test_modules_that_are_to_be_run_are_there() -> None:
    named = {name for path in files() for name in MODULE.findall(prose(path))}
    assert len(named) > 3
    assert absent([path_of(name) for name in named]) == set()


def test_commands_that_are_named_are_there() -> None:
    known = {str(each.name) for each in COMMANDS}
    unknown = {str(p): new for p in files() if (new := {*COMMAND.findall(prose(p))} - known)}
    assert unknown == {}


def test_links_lead_somewhere() -> None:
    broken = []
    for path in documents():
        for target, heading in LINK.findall((ROOT / path).read_text()):
            at = (ROOT / path.parent / target).resolve() if target else ROOT / path
            if not at.exists() or (heading and heading not in heading_ids(at)):
                broken.append(f"{path}: {target}#{heading}")
    assert broken == []


def test_a_name_is_known_for_what_it_is() -> None:
    text = "See `run/runner.py`, core/NAME.c, hosts/cc, tests/{a,b}, hosts/dpdk/live.c and x.py."
    assert SOURCE.findall(text) == ["run/runner.py", "core/NAME.c", "hosts/dpdk/live.c", "x.py"]
    assert ROOTED.findall(text) == ["hosts/cc", "hosts/dpdk/live.c"]
    assert absent(["hosts/cc", "hosts/dpdk/live.c", "configs/scenarios/quickstart"]) == {
        "hosts/dpdk/live.c"
    }
