"""A machine with PCI NICs of its own: QEMU without KVM, with this machine's root below a tmpfs.

It boots Debian's kernel with an initramfs that holds busybox and some modules, mounts this
machine's root by 9p, read-only, and runs `inside.py` there, which does what it is asked for. What
it writes is in its own memory. Its NICs are cabled in pairs: the data plane's end of each cable at
an even place, the kernel's at the next.
"""

from __future__ import annotations

import ctypes
import json
import lzma
import mmap
import platform
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tests.support.programs import why_missing

KERNEL_PACKAGE = "linux-image-amd64"
PROGRAMS = ("qemu-system-x86_64", "busybox")
UNPACKED = ROOT / "build" / "pci"
"""Where the kernel's package is unpacked; it is not installed, for that would change what boots."""

MODULES = (
    *("virtio_pci", "virtio_console", "9p", "9pnet_virtio", "overlay"),
    *("e1000e", "vmxnet3", "virtio_net", "uio_pci_generic", "vfio_pci", "vfio_iommu_type1"),
)
READ_TSC = bytes.fromhex("0f31 48c1e220 4809d0 c3")
"""rdtsc; shl rdx, 32; or rax, rdx; ret"""
XZ_MAGIC = b"\xfd7zXZ\0"
MEMORY_MIB = 2048
HUGE_PAGES = 344
CORES = 2
"""Of its own, however many this machine has."""
PLACES = {"senders": 0x10, "receivers": 0x12}
"""The data plane's ports -> where they are on the bus; the kernel's end of the cable is next."""
BOOT_S = 300
"""A few seconds on an idle machine."""

INIT = """#!/bin/busybox sh
busybox mkdir -p /proc /sys /dev /lower /upper /new
busybox mount -t proc proc /proc
busybox mount -t sysfs sysfs /sys
busybox mount -t devtmpfs devtmpfs /dev
for module in $(busybox cat /modules); do busybox insmod /lib/$module.ko; done
busybox mount -t 9p -o ro,trans=virtio,version=9p2000.L,cache=loose,msize=262144 root /lower
busybox mount -t tmpfs tmpfs /upper
busybox mkdir /upper/changed /upper/work
busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/changed,workdir=/upper/work root /new
for folder in proc sys dev; do busybox mount --move /$folder /new/$folder; done
for folder in run tmp; do busybox mount -t tmpfs tmpfs /new/$folder; done
busybox mkdir -p /new/dev/hugepages /new/dev/shm /new/dev/pts
busybox mount -t devpts devpts /new/dev/pts
busybox mount -t tmpfs tmpfs /new/dev/shm
busybox mount -t hugetlbfs hugetlbfs /new/dev/hugepages
echo {huge_pages} > /new/proc/sys/vm/nr_hugepages
exec busybox switch_root /new /bin/sh -c '{agent}; echo o > /proc/sysrq-trigger; sleep 60'
"""


@dataclass(frozen=True)
class DebianKernel:
    """A kernel with its modules.

    Attributes:
        image: What QEMU boots.
    """

    image: Path
    modules: Path


def why_not() -> str:
    """Why there can be no such machine here; empty where there can be one."""
    if platform.machine() != "x86_64":
        return "needs an x86-64 machine, whose programs the emulated one runs"
    for reason in map(why_missing, PROGRAMS):
        if reason:
            return reason
    if not _is_static(Path(shutil.which("busybox") or "")):
        return "needs a static busybox: `apt install busybox-static`"
    return "" if find_kernel() else f"needs package {KERNEL_PACKAGE}, and apt has none to unpack"


def _is_static(program: Path) -> bool:
    return b"/ld-linux" not in program.read_bytes()


def find_kernel() -> DebianKernel | None:
    """Debian's kernel: the installed one, else its package unpacked under build/."""
    return _kernel_below(Path("/")) or _kernel_below(UNPACKED) or _unpack_kernel()


def _kernel_below(root: Path) -> DebianKernel | None:
    for image in sorted((root / "boot").glob("vmlinuz-*-amd64"), reverse=True):
        modules = root / "lib" / "modules" / image.name.removeprefix("vmlinuz-")
        if modules.is_dir():
            return DebianKernel(image, modules)
    return None


def _unpack_kernel() -> DebianKernel | None:
    depends = _output("apt-cache", "depends", KERNEL_PACKAGE)
    names = re.findall(r"Depends: (linux-image-\S+)", depends)
    if not names:
        return None
    with tempfile.TemporaryDirectory(prefix="nashbed-pci-") as folder:
        _output("apt-get", "download", names[0], at=folder)
        for package in Path(folder).glob("*.deb"):
            UNPACKED.mkdir(parents=True, exist_ok=True)
            _output("dpkg-deb", "-x", str(package), str(UNPACKED))
    return _kernel_below(UNPACKED)


def _output(*command: str, at: str = ".") -> str:
    """What a command says; nothing where it fails, or is not here."""
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, cwd=at, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def write_initramfs(path: Path, kernel: DebianKernel) -> None:
    """An initramfs that mounts this machine's root and starts `inside.py` there."""
    agent = f"cd {ROOT} && exec {sys.executable} -S -m tests.pci.inside"
    init = INIT.format(huge_pages=HUGE_PAGES, agent=f"({agent})")
    modules = _in_order(kernel.modules)
    files = {
        "init": init.encode(),
        "modules": "\n".join(modules).encode(),
        "bin/busybox": Path(str(shutil.which("busybox"))).read_bytes(),
        **{f"lib/{name}.ko": content for name, content in modules.items()},
    }
    path.write_bytes(b"".join(_newc(("bin", "lib"), files)))


def _in_order(folder: Path) -> dict[str, bytes]:
    """The modules, uncompressed, each behind those that it depends on."""
    found = {_module_name(path): path for path in folder.rglob("*.ko*")}
    ordered: dict[str, bytes] = {}

    def add(name: str) -> None:
        if name in ordered or name not in found:  # what is not there is built in
            return
        content = _module_content(found[name])
        for needed in re.findall(rb"\0depends=([^\0]*)\0", content):
            for each in filter(None, needed.decode().split(",")):
                add(each.replace("-", "_"))
        ordered[name] = content

    for name in MODULES:
        add(name)
    return ordered


def _module_name(path: Path) -> str:
    return path.name.split(".")[0].replace("-", "_")


def _module_content(path: Path) -> bytes:
    content = path.read_bytes()
    return lzma.decompress(content) if path.suffix == ".xz" else content


def _newc(folders: tuple[str, ...], files: dict[str, bytes]) -> Iterator[bytes]:
    """A cpio archive as the kernel unpacks it (Documentation/driver-api/early-userspace)."""
    entries = [(name, 0o40755, b"") for name in folders]
    entries += [(name, 0o100755, content) for name, content in files.items()]
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")]):
        fields = (number + 1, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0)
        header = b"070701" + b"".join(b"%08X" % field for field in fields)
        yield _padded(header + name.encode() + b"\0") + _padded(content)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def tsc_khz(over_s: float = 0.2) -> int:
    """Frequency of this machine's time stamp counter, which is the emulated machine's as well.

    Its kernel would measure it against a timer. On a busy machine it then finds far too little,
    because it does not run meanwhile: its clock runs many times too fast, and every deadline in
    there is missed.
    """
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(READ_TSC)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    tsc, ns = _tsc_and_clock(read)
    time.sleep(over_s)
    later_tsc, later_ns = _tsc_and_clock(read)
    return round((later_tsc - tsc) * 1e6 / (later_ns - ns))


def _tsc_and_clock(read: Callable[[], int]) -> tuple[int, int]:
    """The counter, and the clock in ns at the same time: of many readings the quickest."""
    readings = [(time.monotonic_ns(), read(), time.monotonic_ns()) for _ in range(200)]
    before, tsc, after = min(readings, key=lambda reading: reading[2] - reading[0])
    return tsc, (before + after) // 2


def _unpacked(image: bytes) -> bytes:
    """The kernel inside a compressed image: emulated, it takes seconds to unpack itself.

    QEMU starts it by its PVH entry. An image that is not compressed by xz is left as it is.
    """
    start = image.find(XZ_MAGIC)
    return lzma.LZMADecompressor().decompress(image[start:]) if start >= 0 else image


def address(port: str, end: int) -> str:
    """PCI address of a cable's end: 0 the data plane's, 1 the kernel's."""
    return f"0000:00:{PLACES[port] + end:02x}.0"


class MachineError(AssertionError):
    """The machine does not boot, or something in it went wrong; what it said is in the text."""


class Machine:
    """A running machine; to be used as a context.

    Args:
        nics: Kinds of its NICs, as QEMU calls them: both ends of the senders' cable, the data
            plane's first, then both ends of the receivers'.
        folder: For its sockets and console.
        kernel_line: More words of its kernel's command line.
    """

    def __init__(
        self,
        nics: tuple[str, str, str, str],
        folder: Path,
        more: tuple[str, ...] = (),
        kernel_line: str = "",
    ) -> None:
        self.kind = ""
        self._lost = ""
        self._kinds = nics
        self._folder = folder
        self._more = more
        self._kernel_line = kernel_line
        self._monitor: _Lines | None = None
        self._inside: _Lines | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Machine:
        kernel = find_kernel()
        assert kernel is not None, why_not()
        initramfs = self._folder / "initramfs"
        write_initramfs(initramfs, kernel)
        (self._folder / "kernel").write_bytes(_unpacked(kernel.image.read_bytes()))
        with (self._folder / "console").open("wb") as console:
            self._process = subprocess.Popen(
                self._command(kernel, initramfs), stdin=subprocess.DEVNULL, stdout=console,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
        try:
            self._monitor = self._connect("monitor")
            self._monitor.ask({"execute": "qmp_capabilities"})
            self.connect_inside()
            self._read_inside(BOOT_S)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _command(self, kernel: DebianKernel, initramfs: Path) -> list[str]:
        # The check of the timer fails where the machine is busy.
        words = "console=ttyS0 panic=-1 quiet mitigations=off no_timer_check"
        words += f" tsc=reliable tsc_early_khz={tsc_khz()} {self._kernel_line}"
        root = "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap"
        return [
            # It ends with these tests, also where they are killed.
            *("setpriv", "--pdeathsig", "KILL"),
            *("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=multi"),
            *("-cpu", "max", "-smp", str(CORES), "-m", str(MEMORY_MIB)),
            *("-nodefaults", "-nographic", "-no-reboot", "-serial", "stdio"),
            *("-kernel", str(self._folder / "kernel")),
            *("-initrd", str(initramfs), "-append", words, "-virtfs", root),
            *("-qmp", f"unix:{self._folder}/monitor,server=on,wait=off"),
            *("-chardev", f"socket,id=inside,path={self._folder}/inside,server=on,wait=off"),
            *("-device", "virtio-serial", "-device", "virtserialport,chardev=inside"),
            *self._nics(),
            *self._more,
        ]

    def _nics(self) -> Iterator[str]:
        places = [(hub, place + end) for hub, place in enumerate(PLACES.values()) for end in (0, 1)]
        for kind, (hub, at) in zip(self._kinds, places, strict=True):
            yield from ("-netdev", f"hubport,hubid={hub},id=net{at:x}")
            place = f"addr={at:#x},mac=52:54:00:00:00:{at:02x},romfile="
            yield from ("-device", f"{kind},id=nic{at:x},netdev=net{at:x},{place}")

    def connect_inside(self) -> None:
        """Reach `inside.py`, or who is to answer in its place."""
        self._inside = self._connect("inside")

    def _connect(self, name: str) -> _Lines:
        deadline = time.monotonic() + BOOT_S
        while True:
            try:
                return _Lines(self._folder / name)
            except OSError as error:
                if self._process is None or self._process.poll() is not None:
                    raise MachineError(self.console()) from error
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def console(self) -> str:
        return (self._folder / "console").read_text(errors="replace")[-4000:]

    def call(self, function: str, timeout_s: float = 120, /, **arguments: Any) -> Any:
        """Call a function of `inside.py` in the machine.

        Raises:
            MachineError: It failed; the text has its traceback.
        """
        assert self._inside is not None
        if self._lost:
            raise MachineError(f"given up before: {self._lost}")
        self._inside.write({"function": function, "arguments": arguments})
        answer = self._read_inside(timeout_s)
        if "error" in answer:
            raise MachineError(answer["error"])
        return answer["result"]

    def _read_inside(self, timeout_s: float) -> dict[str, Any]:
        assert self._inside is not None
        try:
            return self._inside.read(timeout_s)
        except OSError as error:
            # An answer that comes late would be taken for the next one's.
            self._lost = f"no answer in {timeout_s:g} s; its console ends with\n{self.console()}"
            raise MachineError(self._lost) from error

    def set_cable(self, port: str, plugged: bool) -> None:
        """Plug a cable in, or pull it: both ends notice."""
        assert self._monitor is not None
        for end in (0, 1):
            nic = {"name": f"nic{PLACES[port] + end:x}", "up": plugged}
            self._monitor.ask({"execute": "set_link", "arguments": nic})

    def wait_until(self, holds: Callable[[], bool], timeout_s: float = 30) -> None:
        """Look again and again until something holds."""
        deadline = time.monotonic() + timeout_s
        while not holds():
            assert time.monotonic() < deadline, f"not within {timeout_s:g} s"
            time.sleep(0.2)

    def _end(self) -> None:
        for lines in (self._inside, self._monitor):
            if lines is not None:
                lines.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class _Lines:
    """JSON objects, one a line, over a socket."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._pending = b""

    def write(self, message: dict[str, Any]) -> None:
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def read(self, timeout_s: float) -> dict[str, Any]:
        deadline = time.monotonic() + timeout_s
        while b"\n" not in self._pending:
            self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
            data = self._socket.recv(65536)
            if not data:
                raise ConnectionResetError("the machine is gone")
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, message: dict[str, Any], timeout_s: float = 20) -> dict[str, Any]:
        """QEMU's answer to a command, past its greeting and its events."""
        self.write(message)
        while True:
            answer = self.read(timeout_s)
            if "return" in answer or "error" in answer:
                assert "error" not in answer, answer
                return answer

    def close(self) -> None:
        self._socket.close()
