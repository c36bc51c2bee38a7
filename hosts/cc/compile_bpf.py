#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
"""A congestion control as an eBPF object: compile_bpf.py CLANG NAME.c NAME.bpf.o [OPTION ...].

The build and `nashbed cc check` run it. The options are clang's. The object keeps BTF and its line
numbers, which the kernel and its verifier's messages need, and loses DWARF.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

MACHINES = {"x86_64": "x86", "aarch64": "arm64", "ppc64le": "powerpc", "riscv64": "riscv"}
"""`uname -m` -> what bpf_tracing.h calls it."""


def main() -> int:
    """Compile, and strip what only a debugger reads."""
    clang, source, output, *options = sys.argv[1:]
    compiled = subprocess.run(command(clang, Path(source), output, options), check=False)
    strip = shutil.which("llvm-strip") or shutil.which("llvm-strip-14")
    if compiled.returncode == 0 and strip is not None:
        return subprocess.run([strip, "-g", output], check=False).returncode
    return compiled.returncode


def command(clang: str, source: Path, output: str, options: list[str]) -> list[str]:
    """The compiler's command line."""
    machine = MACHINES.get(platform.machine(), platform.machine())
    multiarch = sysconfig.get_config_var("MULTIARCH") or f"{platform.machine()}-linux-gnu"
    here = Path(__file__).resolve().parent
    return [
        *(clang, "-g", "-O2", "-target", "bpf", "-mcpu=v3", "-Wall"),
        *("-Wno-unused-function", f"-D__TARGET_ARCH_{machine}", f"-I/usr/include/{multiarch}"),
        *(f"-I{here}", f'-DCC_NAME="{source.stem}"', *_paths(here, source)),
        *options,
        *("-c", str(source.resolve()), "-o", output),
    ]


def _paths(here: Path, source: Path) -> list[str]:
    """Options that make the object's bytes independent of where its source lies."""
    folder = source.resolve().parent
    own = [f"-fdebug-prefix-map={folder}=."] if folder != here else []
    return [*own, f"-fdebug-prefix-map={here}=hosts/cc", "-fdebug-compilation-dir=."]


if __name__ == "__main__":
    sys.exit(main())
