"""Stand-ins for built kernels of virtual time, in the cache that the environment names."""

from pathlib import Path

from nashbed.controlplane.machine.kernels.cache import (
    BINARY,
    RECORD,
    TREE,
    KernelRecord,
    kernel_folder,
    recipe_digest,
)
from nashbed.controlplane.store.checksums import file_digest


def put_kernel(release: str, package: str = "linux-source 1", digest: str = "") -> Path:
    """Put a kernel into the cache; returns its folder. All that it does is to say its release.

    Args:
        package: Its source.
        digest: That of its recipe; empty: the recipe of this checkout.
    """
    digest = digest or recipe_digest(package)
    folder = kernel_folder(release, digest)
    (folder / TREE).mkdir(parents=True)
    (folder / TREE / "Makefile").write_text("all:\n")
    (folder / BINARY).write_text(f"#!/bin/sh\necho {release}\n")
    (folder / BINARY).chmod(0o755)
    record = KernelRecord(
        release=release,
        package=package,
        digest=digest,
        binary_digest=file_digest(folder / BINARY),
        compiler="gcc",
        built="2026-01-01T00:00:00Z",
        seconds=200.0,
    )
    (folder / RECORD).write_text(record.model_dump_json())
    return folder
