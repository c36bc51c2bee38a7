"""The kernel of virtual time on its way to a worker that has none: given once for each machine."""

import asyncio
import hashlib
import io
import logging
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow as pa
from distributed.worker import Worker

from ..contract.errors import HostError, NashbedError
from ..machine.kernels.cache import (
    BINARY,
    RECORD,
    TREE,
    GuestKernel,
    damage_of,
    find_kernel,
    kernel_folder,
    read_kernel,
    what_stops,
)
from ..store.checksums import file_digest, write_sums
from ..store.errors import disk_errors
from ..store.staging import locked, remove_stale, whole_folder
from .identity import DIGITS, KernelIdentity
from .plugin import run_on
from .request import RunBundle
from .roster import Say

LOG = logging.getLogger(__name__)

CODEC = "zstd"
LEVEL = 9
"""41 MB, most of it what modules are built with, become 8 MB in a second."""
Ask = Callable[..., None]
"""Called with workers, and what they are to do with which arguments; returns once they have."""


class KernelProvider:
    """Gives the client's kernels away.

    The workers of a machine share what is in its cache: one of them is given the kernels, and then
    the others look again. Who still lacks them has a cache of its own, and is given them next time.
    """

    def __init__(self, bundle: RunBundle, ask: Ask, say: Say) -> None:
        self._bundle = bundle
        self._ask = ask
        self._say = say
        self._machines: set[str] = set()
        self._looked: set[str] = set()

    def give(self, wanting: Mapping[str, str]) -> None:
        """Give them to workers that lack them.

        Args:
            wanting: Addresses of workers -> the machines that they are on.
        """
        if not wanting:
            return
        chosen = [worker for worker in sorted(wanting) if self._is_chosen(worker, wanting[worker])]
        others = sorted(set(wanting) - set(chosen))
        self._looked.update(others)
        if chosen:
            machines = ", ".join(sorted({wanting[worker] for worker in chosen}))
            self._say(f"giving our kernels of virtual time to {machines}")
            self._ask(chosen, take_kernels, self._bundle.run, self._packed())
        self._ask(others, look_again, self._bundle.run)

    def _is_chosen(self, worker: str, machine: str) -> bool:
        """The first of a machine, and whoever has looked again in vain."""
        if machine in self._machines:
            return worker in self._looked
        self._machines.add(machine)
        return True

    def _packed(self) -> list[tuple[str, bytes]]:
        return [
            (kernel.model_dump_json(), pack_kernel(find_kernel(kernel.release)))
            for kernel in self._bundle.identity.kernels
        ]


async def take_kernels(
    run: str, kernels: list[tuple[str, bytes]], dask_worker: Worker | None = None
) -> None:
    """Install kernels of virtual time on this worker's machine, then take part in a run.

    Args:
        kernels: A `KernelIdentity` as JSON and the kernel, each.
        dask_worker: This worker; Dask names it.
    """
    assert dask_worker is not None
    plugin = run_on(dask_worker, run)
    for identity, data in kernels:
        kernel = KernelIdentity.model_validate_json(identity)
        try:
            await asyncio.to_thread(install_kernel, kernel, data)
        except NashbedError as error:
            plugin.refuse(dask_worker, [error.message])
            return
    await plugin.join(dask_worker)


async def look_again(run: str, dask_worker: Worker | None = None) -> None:
    """Take part in a run if another worker of this machine was given the kernels meanwhile.

    Args:
        dask_worker: This worker; Dask names it.
    """
    assert dask_worker is not None
    await run_on(dask_worker, run).setup(dask_worker)


def pack_kernel(kernel: GuestKernel) -> bytes:
    """A kernel as it travels: its program, what it was made of, and what modules need.

    Before it stands a SHA-256 of it: what modules need has no digest of its own.
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
        data: As `pack_kernel` made it.

    Raises:
        DiskFullError: There is no space for it.
        HostError: It is not that kernel.
    """
    folder = kernel_folder(identity.release, identity.recipe)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with disk_errors(folder), locked(folder.parent):  # one of this machine's workers at a time
        remove_stale(folder.parent)
        kept = read_kernel(folder)
        if kept is not None and not damage_of(kept):
            return
        with whole_folder(folder) as made:
            _extract(data, made)
            _check(made, identity)
            write_sums(made)
    LOG.info("kernel %s came from the client", folder.name)


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
