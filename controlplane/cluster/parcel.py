"""The folder of a finished trial on its way from a worker to the client.

A parcel is a line of JSON, which lists the files, and their content. Where there is a shared folder
large files stay there: their names, sizes and digests travel, and the client's folder gets symbolic
links to them.
"""

import contextlib
import hashlib
import json
import logging
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from secrets import token_hex
from typing import BinaryIO, Self

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
"""Label and content; a JSON document without indentation has none in it."""


class ParcelError(HostError):
    """A parcel is damaged, hostile, or refers to what is not seen here."""


class SentFile(ContractModel):
    """A file of the trial.

    Attributes:
        place: In the shared folder, where it stayed; empty: it travels.
        digest: SHA-256 of a file that stayed.
    """

    name: str
    size_bytes: int
    place: str = ""
    digest: str = ""


class Parcel(ContractModel):
    """A trial's folder, packed.

    Attributes:
        trial: Name of the folder: the trial's id.
        content: Of the files that travel, one after the other, compressed.
        digest: SHA-256 of all of the above.
    """

    trial: str
    files: tuple[SentFile, ...]
    content: bytes = Field(exclude=True, repr=False)
    digest: str

    def to_bytes(self) -> bytes:
        """The parcel as it travels: a line of JSON, then the content."""
        return b"".join((self.model_dump_json().encode(), _BETWEEN, self.content))

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The parcel that travelled; raises ParcelError when it is not what was sent."""
        label, _, content = data.partition(_BETWEEN)
        try:
            parcel = cls.model_validate({**json.loads(label), "content": content})
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
        digest.update(self.content)
        return digest.hexdigest()


def pack(folder: Path, shared: Path | None = None) -> Parcel:
    """Pack a trial's folder, which is complete. Memory: its compressed files.

    Args:
        shared: Where large files stay, in a folder of the trial's own: the run's part of a folder
            that this machine and the client share. None: they travel as well.

    Raises:
        DiskFullError: The shared folder is full.
        ParcelError: The folder holds something other than files, or the shared folder cannot be
            written.
    """
    files = _files(folder)
    large = [] if shared is None else [f for f in files if f.stat().st_size >= LARGE_BYTES]
    kept = _keep(folder, large, shared) if shared and large else ()
    sink = pa.BufferOutputStream()
    sent = []
    with pa.CompressedOutputStream(sink, CODEC) as content:
        for file in files:
            if file not in large:
                with file.open("rb") as source:
                    size = sum(content.write(chunk) for chunk in _chunks(source))
                sent.append(SentFile(name=file.relative_to(folder).as_posix(), size_bytes=size))
    packed = sink.getvalue().to_pybytes()
    parcel = Parcel(trial=folder.name, files=(*sent, *kept), content=packed, digest="")
    return parcel.model_copy(update={"digest": parcel.digest_of_content()})


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK_BYTES):
        yield chunk


def _files(folder: Path) -> list[Path]:
    """All files of a folder, sorted; raises ParcelError for what is neither file nor folder."""
    found = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    for path in found:
        if path.is_symlink() or not path.is_file():
            raise ParcelError(f"{path}: is not a regular file, and cannot be sent")
    return found


def _keep(folder: Path, files: list[Path], shared: Path) -> tuple[SentFile, ...]:
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


def _copy(file: Path, name: Path, made: Path, place: str) -> SentFile:
    target = made / name
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with file.open("rb") as source, target.open("xb") as copy:
        for chunk in _chunks(source):
            digest.update(chunk)
            copy.write(chunk)
    return SentFile(
        name=name.as_posix(),
        size_bytes=target.stat().st_size,
        place=f"{place}/{name.as_posix()}",
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
        source = pa.BufferReader(parcel.content)
        with (
            whole_folder(folder, replace=False) as made,
            pa.CompressedInputStream(source, CODEC) as content,
        ):
            for file in parcel.files:
                path = made / _checked(file.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                if file.place:
                    path.symlink_to(_seen(file, parcel.trial, shared))
                else:
                    _write(content, file, path)
            if content.read(1):
                raise ParcelError(f"the parcel of trial {parcel.trial} holds more than it says")


@contextlib.contextmanager
def _clear_errors(parcel: Parcel, folder: Path) -> Iterator[None]:
    """Whatever a hostile or damaged parcel makes the libraries raise, as one clear line."""
    try:
        with disk_errors(folder):
            yield
    except (OSError, pa.ArrowException, ValueError) as error:
        problem = f"{folder}: the parcel of trial {parcel.trial} cannot be unpacked"
        raise ParcelError(f"{problem}: {' '.join(str(error).split())}") from error


def _checked(name: str) -> str:
    """A name, if it is one of a file within its folder."""
    path = PurePosixPath(name)
    plain = name and "\0" not in name and name == path.as_posix() and name != "."
    if not plain or path.is_absolute() or ".." in path.parts:
        raise ParcelError(f"the parcel holds {name!r}, which is not a name within its folder")
    return name


def _write(content: pa.CompressedInputStream, file: SentFile, path: Path) -> None:
    left = file.size_bytes
    with path.open("xb") as copy:
        while left > 0:
            chunk = content.read(min(left, _CHUNK_BYTES))
            if not chunk:
                raise ParcelError(f"the parcel ends within {file.name!r}")
            left -= copy.write(chunk)


def _seen(kept: SentFile, trial: str, shared: Path | None) -> Path:
    """A file in the shared folder, once it is seen as the worker wrote it."""
    if shared is None:
        raise ParcelError(f"{kept.name} of trial {trial} stayed in a shared folder; none is named")
    file = shared.resolve() / _checked(kept.place)
    if problem := _problem(file, kept, shared):
        raise ParcelError(
            f"{file}: {problem}, but the worker of trial {trial} wrote it; see that {shared} is "
            "one and the same folder on this machine and on every worker"
        )
    return file


def _problem(file: Path, kept: SentFile, shared: Path) -> str:
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
