#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copy the eBPF objects that were built into objects/, with digests of their sources (`make cc`).

Where clang is missing, runs use these. A test compares the digests with the sources.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from nashbed.controlplane.contract.c_files import c_digest

HERE = Path(__file__).resolve().parent
OBJECTS = HERE / "objects"


def main() -> int:
    """Copy every object of a build folder."""
    built = sorted(Path(sys.argv[1]).glob("*.bpf.o"))
    if not built:
        sys.stderr.write(f"no objects in {sys.argv[1]}: install clang and llvm\n")
        return 4
    for old in OBJECTS.glob("*.bpf.o"):
        old.unlink()
    for path in built:
        shutil.copyfile(path, OBJECTS / path.name)
    names = [path.name.removesuffix(".bpf.o") for path in built]
    digests = {name: c_digest(HERE / f"{name}.c", HERE) for name in names}
    (OBJECTS / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")
    sys.stdout.write(f"{len(names)} objects: {', '.join(names)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
