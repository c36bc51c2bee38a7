"""Files and folders that have their names only once they are complete; and locks.

What must never be seen half written is made in a staging folder beside its place and moved there in
one step, here and nowhere else. It is on the disk before that step, and its name is after it: a
loss of power, too, leaves it whole or not at all.

A process that is killed leaves its staging folder behind. All have names of one pattern,
`.<name>.<8 hex digits>.tmp`, and a lock that ends with their process: whoever comes next can tell a
stale one from one in use, and removes it. Where a file system has no locks, none is taken for
stale.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from secrets import token_hex
from typing import Self

from .checksums import line_of, own_list

_PATTERN = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}\.tmp", re.DOTALL)
_LOCK = "lock"
_SCRATCH = "nashbed-"
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_NO_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EXDEV)
_NO_FLUSH = (errno.EBADF, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP)
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


class Staging:
    """A folder of this process in which something is made; removed at the end of the context.

    Stale ones of the same name are removed first.

    Args:
        folder: The folder to which the result goes: both are on one file system. It is there.
    """

    def __init__(self, folder: Path, name: str) -> None:
        remove_stale(folder, name)
        self.place, self._lock = _new(folder, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        os.close(self._lock)

    def publish(self, made: Path, target: Path, *, replace: bool = True) -> Path:
        """Give what was made its name: at any moment that is the old one's, or the new one's.

        Args:
            made: A file or folder in this one.
            target: Where it goes, on the same file system.
            replace: Whether a folder that is there and not empty is replaced; else OSError.

        Returns:
            The target.
        """
        flush_all(made)
        _move(made, target, replace)
        _flush(target.parent)
        return target

    def publish_listed(self, made: Path, target: Path) -> None:
        """Give a file its name after its own list has one: see `checksums.is_as_listed`."""
        line = self.place / own_list(target).name
        line.write_text(line_of(made, target.name), encoding="utf-8")
        self.publish(line, own_list(target))
        self.publish(made, target)


def write_whole(path: Path, text: str) -> Path:
    """Write a file of text, replaced as a whole, and so not to be written by others in place.

    Args:
        path: The file; its folder is there.
    """
    with Staging(path.parent, path.name) as staging:
        made = staging.place / path.name
        made.write_text(text, encoding="utf-8")
        made.chmod(stat.S_IMODE(made.stat().st_mode) & ~0o022)
        return staging.publish(made, path)


@contextlib.contextmanager
def whole_folder(path: Path, *, replace: bool = True) -> Iterator[Path]:
    """Yield a new folder to fill, which gets its name when the context ends without an error.

    Args:
        path: The folder; the one that it is in is there.
        replace: Whether one that is there and not empty is replaced; else OSError.
    """
    with Staging(path.parent, path.name) as staging:
        made = staging.place / path.name
        made.mkdir()
        yield made
        staging.publish(made, path, replace=replace)


def take_lock(path: Path, *, wait: bool = True) -> int | None:
    """Lock a file, which is made, or a folder; None where another process or thread has it.

    The kernel gives the lock back when the file is closed, or its holder ends, however it ends.

    Returns:
        The open file that holds it.

    Raises:
        OSError: It cannot be opened, or its file system has no locks.
    """
    kind = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    file = os.open(path, kind | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(file)
        return None
    except BaseException:
        os.close(file)
        raise
    return file


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock while the block lasts, once nobody else does; see `take_lock`."""
    file = take_lock(path)
    try:
        yield
    finally:
        if file is not None:
            os.close(file)


@contextlib.contextmanager
def scratch_folder(name: str, folder: Path | None = None) -> Iterator[Path]:
    """Yield a folder for what nobody keeps; the next one of its name removes those left by kills.

    Args:
        folder: Where; None: in the system's folder for temporary files.
    """
    with Staging(folder or Path(tempfile.gettempdir()), f"{_SCRATCH}{name}") as staging:
        made = staging.place / "scratch"
        made.mkdir(mode=0o700)
        yield made


def remove_stale(folder: Path, name: str | None = None, *, dry_run: bool = False) -> list[Path]:
    """Remove the staging folders of this user whose processes are gone; returns them.

    What is in use is left alone.

    Args:
        folder: Where they are; there may be no such folder.
        name: Of what was made in them; None: all.
        dry_run: Whether they are only listed.
    """
    return _remove(folder, lambda found: name in (None, found), dry_run)


def remove_stale_scratch(*, dry_run: bool = False) -> list[Path]:
    """Do the same to scratch folders among the system's temporary files."""
    folder = Path(tempfile.gettempdir())
    return _remove(folder, lambda found: found.startswith(_SCRATCH), dry_run)


def _remove(folder: Path, wanted: Callable[[str], bool], dry_run: bool) -> list[Path]:
    removed = []
    for place in _staged(folder, wanted):
        with _held(place) as held:
            if held:
                removed.append(place)
            if held and not dry_run:
                shutil.rmtree(place, ignore_errors=True)
    return removed


def _staged(folder: Path, wanted: Callable[[str], bool]) -> list[Path]:
    """The staging folders of this user, in use or not."""
    try:
        with os.scandir(folder) as entries:
            return sorted(Path(entry.path) for entry in entries if _is_staging(entry, wanted))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []


def _is_staging(entry: os.DirEntry[str], wanted: Callable[[str], bool]) -> bool:
    """Others may write to the folder: nothing is done in a folder of theirs, or behind a link."""
    found = _PATTERN.fullmatch(entry.name)
    if found is None or not wanted(found["name"]):
        return False
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _new(folder: Path, name: str) -> tuple[Path, int]:
    """Make a staging folder and lock it; one that somebody takes for stale meanwhile is no loss."""
    while True:
        place = folder / f".{name}.{token_hex(4)}.tmp"
        place.mkdir(mode=0o700)
        try:
            lock = _try_lock(place)
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            lock = os.open(place, os.O_RDONLY | os.O_CLOEXEC)
        if lock is not None:
            return place, lock


@contextlib.contextmanager
def _held(place: Path) -> Iterator[bool]:
    """Hold the lock of a staging folder, if nobody else does."""
    try:
        lock = _try_lock(place)
    except OSError:
        lock = None
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def _try_lock(place: Path) -> int | None:
    """Lock a staging folder; None where it is locked, or gone.

    Raises:
        OSError: There are no locks here, or one may not lock it.
    """
    path = place / _LOCK
    lock = None
    with contextlib.suppress(FileNotFoundError):
        lock = take_lock(path, wait=False)
        if lock is not None and os.path.samestat(os.fstat(lock), path.stat()):
            return lock
    if lock is not None:
        os.close(lock)
    return None


def _move(made: Path, target: Path, replace: bool) -> None:
    if replace and made.is_dir() and target.is_dir() and not target.is_symlink():
        _exchange(made, target)
    else:
        made.rename(target)


def _exchange(made: Path, target: Path) -> None:
    """Let two folders change places: what was replaced goes with the staging folder.

    Some network file systems cannot do that: there a kill in between leaves no folder.
    """
    try:
        _rename_exchange(made, target)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        target.rename(made.with_name(f"{made.name}.replaced"))
        made.rename(target)


def _rename_exchange(made: Path, target: Path) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(made), os.fsencode(target)
    if library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))


def flush_all(made: Path) -> None:
    """Wait until a file, or a folder with all that is in it, is on the disk.

    That takes a millisecond for a document, 10 for a small trial, 0.1 s for one of 100 MB, and a
    second for the 4,300 files of a guests' kernel (ext4 on a virtual disk): nothing is left out.

    Raises:
        OSError: It could not be written.
    """
    for path in made.rglob("*") if made.is_dir() else ():
        if not path.is_symlink() and (path.is_dir() or path.is_file()):
            _flush(path)
    _flush(made)


def flush_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    _flush(folder)


def _flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, would survive a loss of power.

    Some file systems flush no folders, as they need none.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FLUSH or not path.is_dir():
            raise
    finally:
        os.close(handle)
