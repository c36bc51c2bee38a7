"""Holding the core that this process runs on, softirqs included, as a hypervisor would.

A busy process, whatever its priority, is interrupted by softirqs, in which the kernel's TCP does
most of its work. An eBPF program that the kernel runs on trial (hold.bpf.c) is not.
"""

import ctypes
import subprocess
import sysconfig
import tempfile
from pathlib import Path

from nashbed.controlplane.machine.c_files.objects import find_clang

SOURCE = Path(__file__).with_name("hold.bpf.c")
XDP_PASS = 2
PACKET_BYTES = 64


class HoldError(Exception):
    """The core cannot be held; why."""


class _RunOptions(ctypes.Structure):
    """struct bpf_test_run_opts of libbpf 1."""

    _fields_ = (
        ("sz", ctypes.c_size_t),
        ("data_in", ctypes.c_void_p),
        ("data_out", ctypes.c_void_p),
        ("data_size_in", ctypes.c_uint32),
        ("data_size_out", ctypes.c_uint32),
        ("ctx_in", ctypes.c_void_p),
        ("ctx_out", ctypes.c_void_p),
        ("ctx_size_in", ctypes.c_uint32),
        ("ctx_size_out", ctypes.c_uint32),
        ("retval", ctypes.c_uint32),
        ("repeat", ctypes.c_int),
        ("duration", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("cpu", ctypes.c_uint32),
        ("batch_size", ctypes.c_uint32),
    )


class CoreHolder:
    """The loaded program.

    Raises:
        HoldError: There is no clang, or the kernel refuses the program.
    """

    def __init__(self) -> None:
        self._libbpf = ctypes.CDLL("libbpf.so.1", use_errno=True)
        for name in ("bpf_object__open_file", "bpf_object__find_program_by_name"):
            getattr(self._libbpf, name).restype = ctypes.c_void_p
        with tempfile.TemporaryDirectory() as folder:
            self._fd = self._load(compile_program(Path(folder)))

    def _load(self, path: Path) -> int:
        found = ctypes.c_void_p(self._libbpf.bpf_object__open_file(str(path).encode(), None))
        if not found or self._libbpf.bpf_object__load(found) != 0:
            raise HoldError("the kernel refuses the program that holds a core")
        program = self._libbpf.bpf_object__find_program_by_name(found, b"hold")
        return int(self._libbpf.bpf_program__fd(ctypes.c_void_p(program)))

    def hold(self, seconds: float) -> None:
        """Hold the core that this thread runs on.

        Raises:
            HoldError: It could not be held so long.
        """
        packet = int(seconds * 1e9).to_bytes(8, "little").ljust(PACKET_BYTES, b"\0")
        buffer = ctypes.create_string_buffer(packet, PACKET_BYTES)
        options = _RunOptions(
            sz=ctypes.sizeof(_RunOptions),
            data_in=ctypes.addressof(buffer),
            data_size_in=PACKET_BYTES,
            repeat=1,
        )
        failed = self._libbpf.bpf_prog_test_run_opts(self._fd, ctypes.byref(options))
        if failed or options.retval != XDP_PASS:
            raise HoldError(f"the core was not held for {seconds} s: {failed}, {options.retval}")


def compile_program(folder: Path) -> Path:
    """hold.bpf.c as an object in a folder.

    Raises:
        HoldError: There is no clang.
    """
    clang = find_clang()
    if clang is None:
        raise HoldError("clang is not installed: a core's softirqs cannot be held")
    path = folder / "hold.bpf.o"
    include = f"-I/usr/include/{sysconfig.get_config_var('MULTIARCH')}"
    words = ["-g", "-O2", "-target", "bpf", "-mcpu=v3", include, "-c", str(SOURCE), "-o", str(path)]
    subprocess.run([clang, *words], check=True)
    return path
