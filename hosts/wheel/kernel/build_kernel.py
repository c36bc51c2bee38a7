#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compiles the kernel of virtual time, and keeps what modules for it are built with.

    build_kernel.py SOURCE KERNELS

SOURCE has `tree`, edited and configured, and `recipe.json`, which says what is to be kept of it.
KERNELS is the folder that is made: with the kernel's folder in it, as nashbed looks for it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path


def main(source: Path, kernels: Path) -> None:
    """Compile, then copy."""
    recipe = json.loads((source / "recipe.json").read_text())
    tree = source / "tree"
    started = time.monotonic()
    variables = [f"{name}={value}" for name, value in recipe["variables"].items()]
    make = ["make", "-C", str(tree), "ARCH=um", *variables, f"-j{len(os.sched_getaffinity(0))}"]
    for goals in (["olddefconfig"], ["linux", "modules"]):
        subprocess.run([*make, *goals], check=True)
    folder = kernels / f"{recipe['release']}-{recipe['digest'][:12]}"
    shutil.rmtree(kernels, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(tree / "linux", folder / "linux")
    keep(tree, folder / "tree", recipe["kept"], tuple(recipe["left_out"]))
    compiler = re.search(r'(?m)^CONFIG_CC_VERSION_TEXT="(.*)"$', (tree / ".config").read_text())
    record = {name: recipe[name] for name in ("release", "package", "digest")} | {
        "binary_digest": hashlib.sha256((folder / "linux").read_bytes()).hexdigest(),
        "compiler": compiler[1] if compiler else "unknown",
        "built": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "seconds": round(time.monotonic() - started, 1),
    }
    (folder / "kernel.json").write_text(json.dumps(record, indent=1) + "\n")


def keep(tree: Path, kept: Path, patterns: list[str], left_out: tuple[str, ...]) -> None:
    """Copy what modules are built with."""
    found = {path for pattern in patterns for path in tree.glob(pattern) if path.is_file()}
    for path in found:
        name = path.relative_to(tree)
        if not name.as_posix().startswith(left_out):
            (kept / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, kept / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
