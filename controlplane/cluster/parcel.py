"""The folder of a finished trial on its way from a worker to the client.

Everything travels in one archive, but large files where there is a shared folder: they stay there;
their names, sizes and digests travel, and the client's folder gets symbolic links to them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import shutil
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import Self

import pyarrow as pa
from pydantic import Field

from ..contract.errors import HostError
from ..contract.model import ContractModel
from ..store.checksums import file_digest
from ..store.errors import disk_errors
from ..store.staging import whole_folder

LOG = logging.getLogger(__name__)

LARGE_BYTES = 1 << 20
"""Files of this size and more stay in the shared folder: postcards, and little else."""
CODEC = "zstd"
"""At Arrow's default, level 1, since Parquet is compressed already. A folder of 11.1 MB (10 flows,
80 s at 100 Mbit/s) shrinks by 0.6 % in 14 ms, at level 3 by 1.7 % in 39 ms, at level 9 by 1.5 %
in 65 ms; one of 0.6 MB by 8.0 %, 8.3 % and 8.5 %."""
_CHUNK_BYTES = 1 << 20
_BETWEEN = b"\n"
"""Label and archive; a JSON document without indentation has none in it."""


class ParcelError(HostError):
    """A parcel is damaged, hostile, or refers to what is not seen here."""


class KeptFile(ContractModel):
    """A file of the trial that stayed in the shared folder."""

    name: str
    place: str
    size_bytes: int
    digest: str


class Parcel(ContractModel):
    """A trial's folder, packed.

    Attributes:
        trial: Name of the folder: the trial's id.
        content_bytes: Their sizes together.
        archive: The others: a compressed tar archive.
        digest: SHA-256 of all of the above.
    """

    trial: str
    files: int
    content_bytes: int
    kept: tuple[KeptFile, ...]
    archive: bytes = Field(exclude=True, repr=False)
    digest: str

    def to_bytes(self) -> bytes:
        """The parcel as it travels: a line of JSON, then the archive."""
        return b"".join((self.model_dump_json().encode(), _BETWEEN, self.archive))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The parcel that travelled; raises ParcelError when it is not what was sent."""
        label, _, archive = data.partition(_BETWEEN)
        try:
            parcel = cls.model_validate({**json.loads(label), "archive": archive})
        except (ValueError, TypeError) as error:
            raise ParcelError("a parcel is damaged: its label cannot be read") from error
        parcel.check()
        return parcel

    def check(self) -> None:
        """Hold the parcel against its digest; raises ParcelError when they disagree."""
        now = self.digest_of_content()
        if now != self.digest:
            raise ParcelError(
                f"the parcel of trial {self.trial} is damaged: its digest is {now[:12]} and should "
                f"be {self.digest[:12]}; run the trial again"
            )

    def digest_of_content(self) -> str:
        """SHA-256 of everything but the digest."""
        label = json.dumps(self.model_dump(mode="json", exclude={"digest"}), sort_keys=True)
        digest = hashlib.sha256(label.encode() + _BETWEEN)
        digest.update(self.archive)
        return digest.hexdigest()


def pack(folder: Path, shared: Path | None = None) -> Parcel:
    """Pack a trial's folder. Memory: its compressed files.

    Args:
        folder: The folder, complete; its name is the trial's id.
        shared: Where large files stay, in a folder of the trial's own: the run's part of a folder
            that this machine and the client share. None: they travel as well.

    Raises:
        DiskFullError: The shared folder is full.
        ParcelError: The folder holds something other than files, or the shared folder cannot be
            written.
    """
    files = _files(folder)
    large = [] if shared is None else [f for f in files if f.stat().st_size >= LARGE_BYTES]
    others = [file for file in files if file not in large]
    archive = _archive(folder, others)
    parcel = Parcel(
        trial=folder.name,
        files=len(others),
        content_bytes=sum(file.stat().st_size for file in others),
        kept=_keep(folder, large, shared) if shared and large else (),
        archive=archive,
        digest="",
    )
    return parcel.model_copy(update={"digest": parcel.digest_of_content()})


def _files(folder: Path) -> list[Path]:
    """All files of a folder, sorted; raises ParcelError for what is neither file nor folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    for path in found:
        if path.is_symlink() or not path.is_file():
            raise ParcelError(f"{path}: is not a regular file, and cannot be sent")
    return found


def _archive(folder: Path, files: Sequence[Path]) -> bytes:
    sink = pa.BufferOutputStream()
    with (
        pa.CompressedOutputStream(sink, CODEC) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in files:
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size, member.mtime = path.stat().st_size, int(path.stat().st_mtime)
            with path.open("rb") as content:
                archive.addfile(member, content)
    packed: bytes = sink.getvalue().to_pybytes()
    return packed


def _keep(folder: Path, files: Sequence[Path], shared: Path) -> tuple[KeptFile, ...]:
    """Copy files to a folder in the shared one that is there complete, or not at all."""
    place = f"{folder.name}-{token_hex(8)}"
    try:
        with disk_errors(shared):
            shared.mkdir(parents=True, exist_ok=True)
            with whole_folder(shared / place, replace=False) as made:
                return tuple(_copy(file, file.relative_to(folder), made, place) for file in files)
    except OSError as error:
        problem = f"{shared}: the shared folder cannot be written ({error.strerror})"
        raise ParcelError(
            f"{problem}; make it writable on every worker, or name another"
        ) from error


def _copy(file: Path, name: Path, made: Path, place: str) -> KeptFile:
    target = made / name
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with file.open("rb") as source, target.open("xb") as copy:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
            copy.write(chunk)
    return KeptFile(
        name=name.as_posix(),
        place=f"{place}/{name.as_posix()}",
        size_bytes=target.stat().st_size,
        digest=digest.hexdigest(),
    )


def unpack(parcel: Parcel, folder: Path, shared: Path | None = None) -> None:
    """Make a trial's folder from its parcel: all of it, or nothing. Not yet flushed to the disk.

    Args:
        parcel: What came; `from_bytes` has held it against its digest, and nothing that it names
            is believed before it was checked.
        folder: Where to; nothing is there yet.
        shared: The run's part of the shared folder, as it is seen here.

    Raises:
        DiskFullError: There is no space for it.
        ParcelError: It is damaged, would write elsewhere than in the folder, or a file in the
            shared folder is not seen here as it was written.
    """
    with _clear_errors(parcel, folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with whole_folder(folder, replace=False) as made:
            _extract(parcel, made)
            for kept in parcel.kept:
                _link(kept, parcel.trial, made, shared)


@contextlib.contextmanager
def _clear_errors(parcel: Parcel, folder: Path) -> Iterator[None]:
    """Whatever a hostile or damaged archive makes the libraries raise, as one clear line."""
    try:
        with disk_errors(folder):
            yield
    except (OSError, tarfile.TarError, pa.ArrowException, ValueError, RecursionError) as error:
        problem = f"{folder}: the parcel of trial {parcel.trial} cannot be unpacked"
        raise ParcelError(f"{problem}: {' '.join(str(error).split())}") from error


def _extract(parcel: Parcel, folder: Path) -> None:
    """Write the archive's files, and see that they are those that were packed."""
    names: set[str] = set()
    content_bytes = 0
    with (
        pa.CompressedInputStream(pa.BufferReader(parcel.archive), CODEC) as content,
        tarfile.open(fileobj=content, mode="r|") as archive,
    ):
        for member in archive:
            _check_member(member, names)
            content_bytes += member.size
            _check_amount(parcel, len(names), content_bytes)
            _write(archive, member, folder / member.name)
    if (len(names), content_bytes) != (parcel.files, parcel.content_bytes):
        raise ParcelError(
            f"the parcel of trial {parcel.trial} holds {len(names)} files of {content_bytes} B, "
            f"and should hold {parcel.files} of {parcel.content_bytes} B"
        )


def _check_member(member: tarfile.TarInfo, names: set[str]) -> None:
    """Refuse all but a regular file with a name of its own in the folder."""
    if member.type != tarfile.REGTYPE or member.sparse is not None:
        raise ParcelError(f"the parcel holds {member.name!r}, which is not a regular file")
    _check_name(member.name)
    if member.name in names:
        raise ParcelError(f"the parcel holds {member.name!r} twice")
    names.add(member.name)


def _check_name(name: str) -> None:
    path = PurePosixPath(name)
    plain = name and "\0" not in name and name == path.as_posix() and name != "."
    if not plain or path.is_absolute() or ".." in path.parts:
        raise ParcelError(f"the parcel holds {name!r}, which is not a name within its folder")


def _check_amount(parcel: Parcel, files: int, content_bytes: int) -> None:
    """Refuse, before it is written, what is more than the parcel says that it holds."""
    if files > parcel.files or content_bytes > parcel.content_bytes:
        raise ParcelError(f"the parcel of trial {parcel.trial} holds more than it says")


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """Write a file's content: owner, mode and times are not another machine's to say."""
    path.parent.mkdir(parents=True, exist_ok=True)
    source = archive.extractfile(member)
    assert source is not None
    with path.open("xb") as copy:
        shutil.copyfileobj(source, copy)


def _link(kept: KeptFile, trial: str, folder: Path, shared: Path | None) -> None:
    """Refer to a file in the shared folder, once it is seen as the worker wrote it."""
    if shared is None:
        raise ParcelError(f"{kept.name} of trial {trial} stayed in a shared folder; none is named")
    _check_name(kept.name)
    _check_name(kept.place)
    file = shared.resolve() / kept.place
    if problem := _problem(file, kept, shared):
        raise ParcelError(
            f"{file}: {problem}, but the worker of trial {trial} wrote it; see that {shared} is "
            "one and the same folder on this machine and on every worker"
        )
    link = folder / kept.name
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(file)


def _problem(file: Path, kept: KeptFile, shared: Path) -> str:
    """What is wrong with a file in the shared folder; empty: nothing."""
    if not file.resolve().is_relative_to(shared.resolve()):
        return "leads out of the shared folder"
    if not file.is_file():
        return "is not there"
    size = file.stat().st_size
    if size != kept.size_bytes:
        return f"has {size} B instead of {kept.size_bytes} B"
    return "" if file_digest(file) == kept.digest else "has another content"


def remove_leftovers(shared: Path, trials: Path) -> None:
    """Remove from the shared folder what no sealed trial refers to.

    It stays there when a client or a worker dies between the copying of a trial's large tables and
    the sealing of the trial, which then runs again and copies them under another name. A folder
    that is not seen any more is left alone.

    Args:
        shared: The run's part of the shared folder; no other run writes there.
        trials: The folder with the run's sealed trials.
    """
    try:
        there = sorted(shared.iterdir())
        wanted = _referred(shared, trials)
    except OSError as error:
        LOG.info("%s: not looked through: %s", shared, error)
        return
    for folder in there:
        if folder.name not in wanted:
            LOG.info("%s: no trial refers to it: removed", folder)
            shutil.rmtree(folder, ignore_errors=True)


def _referred(shared: Path, trials: Path) -> set[str]:
    """Names of the folders within the shared one that trials have links to."""
    place = shared.resolve()
    leads = [path.readlink() for path in trials.rglob("*") if path.is_symlink()]
    return {lead.relative_to(place).parts[0] for lead in leads if lead.is_relative_to(place)}
