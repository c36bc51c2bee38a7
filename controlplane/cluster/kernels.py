"""The kernel of virtual time on its way to a worker that has none: given once for each machine."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from ..contract.errors import HostError
from ..machine.kernels.cache import (
    BINARY,
    RECORD,
    TREE,
    GuestKernel,
    file_digest,
    kernel_cache,
    kernel_folder,
    read_kernel,
    what_stops,
)
from ..machine.log import LOG
from ..store.errors import disk_errors
from ..store.staging import remove_stale, whole_folder
from .identity import DIGITS, KernelIdentity

CODEC = "zstd"
LEVEL = 9
"""41 MB, most of it what modules are built with, become 8 MB in a second."""


def pack_kernel(kernel: GuestKernel) -> bytes:
    """A kernel as it travels: its program, what it was made of, and what modules need.

    Before it stands a SHA-256 of it: what modules need has no digest of its own.

    Args:
        kernel: The kernel.
    """
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name in (BINARY, RECORD, TREE):
            archive.add(kernel.folder / name, arcname=name)
    packed: bytes = pa.Codec(CODEC, LEVEL).compress(plain.getbuffer(), asbytes=True)
    return hashlib.sha256(packed).digest() + packed


def install_kernel(identity: KernelIdentity, data: bytes) -> None:
    """Put a kernel that came into this machine's cache, unless it is there meanwhile.

    Args:
        identity: Which kernel it should be.
        data: As `pack_kernel` made it.

    Raises:
        DiskFullError: There is no space for it.
        HostError: It is not that kernel.
    """
    folder = kernel_folder(identity.release, identity.recipe)
    with disk_errors(folder), _alone():
        remove_stale(folder.parent)
        if read_kernel(folder) is not None:
            return
        with whole_folder(folder) as made:
            _extract(data, made)
            _check(made, identity)
    LOG.info("kernel %s came from the client", folder.name)


@contextmanager
def _alone() -> Iterator[None]:
    """Of this machine's workers one at a time."""
    cache = kernel_cache()
    cache.mkdir(parents=True, exist_ok=True)
    file = os.open(cache / ".given.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _extract(data: bytes, folder: Path) -> None:
    size = hashlib.sha256().digest_size
    digest, packed = data[:size], memoryview(data)[size:]
    if hashlib.sha256(packed).digest() != digest:
        raise HostError("the client's kernel came damaged: its digest is another one")
    try:
        with (
            pa.CompressedInputStream(pa.BufferReader(packed), CODEC) as content,
            tarfile.open(fileobj=content, mode="r|") as archive,
        ):
            # Debian 12's Python has no filters yet; what comes is the client's by its digest.
            archive.extraction_filter = getattr(tarfile, "tar_filter", None)
            archive.extractall(folder)  # noqa: S202 - filtered where Python can
    except (tarfile.TarError, pa.ArrowException, OSError, EOFError) as error:
        raise HostError(f"the client's kernel came damaged: {error}") from error


def _check(folder: Path, identity: KernelIdentity) -> None:
    kernel = read_kernel(folder)
    digest = file_digest(folder / BINARY)
    if kernel is None or kernel.digest != identity.recipe or digest != identity.binary:
        raise HostError(
            f"the kernel that came is {digest[:DIGITS]}, and should be {identity.release} "
            f"({identity.binary[:DIGITS]})"
        )
    if problem := what_stops(kernel):
        raise HostError(
            f"the client's kernel {kernel.release} does not run here ({problem}): build one there "
            "(make virtual)"
        )
