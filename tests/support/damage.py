"""Damages of files, one at a time and drawn by a seed; and runs without a digest."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nashbed.controlplane.contract.manifest import Manifest
from nashbed.controlplane.store.checksums import SUMS
from nashbed.controlplane.store.documents import write_document
from nashbed.controlplane.store.run_directory import RunDirectory

PAGE = 512
"""Bytes of what a disk loses or mixes up at once: a sector, as the files of tests are small."""
KINDS = ("truncate", "empty", "flip", "zero", "swap pages", "swap files", "delete")


@dataclass(frozen=True)
class Damage:
    """What was done to a file.

    Attributes:
        kind: One of KINDS.
        files: The files that are not as they were, relative to the folder.
    """

    kind: str
    files: tuple[str, ...]


def damages(folder: Path, seed: int, flips: int = 4) -> Iterator[Damage]:
    """Damage a folder in one way after the other; each is repaired before the next.

    Args:
        folder: The folder; its empty files are left alone.
        flips: Bits to flip in each file, one at a time.
    """
    rng = random.Random(seed)
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.stat().st_size)
    for path in files:
        content = path.read_bytes()
        for kind in [*KINDS, *["flip"] * (flips - 1)]:
            other = rng.choice([each for each in files if each != path])
            if not _damage(path, other, kind, rng):
                continue
            changed = (path, other) if kind == "swap files" else (path,)
            yield Damage(kind, tuple(each.relative_to(folder).as_posix() for each in changed))
            if kind == "swap files":
                _swap(path, other)
            path.write_bytes(content)


def _damage(path: Path, other: Path, kind: str, rng: random.Random) -> bool:
    """Damage a file; whether it has another content then."""
    before = path.read_bytes()
    content = bytearray(before)
    if kind == "delete":
        path.unlink()
        return True
    if kind == "swap files":
        _swap(path, other)
        return path.read_bytes() != before
    if kind == "truncate":
        del content[rng.randrange(len(content)) :]
    elif kind == "empty":
        content.clear()
    elif kind == "flip":
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    else:
        first, second = (_page(len(content), rng) for _ in range(2))
        held = content[first] if kind == "swap pages" else bytes(len(content[second]))
        if kind == "swap pages":
            content[first] = content[second].ljust(len(held), b"\0")[: len(held)]
        content[second] = held[: len(content[second])].ljust(len(content[second]), b"\0")
    path.write_bytes(content)
    return bytes(content) != before


def _page(size: int, rng: random.Random) -> slice:
    start = PAGE * rng.randrange(-(-size // PAGE))
    return slice(start, min(size, start + PAGE))


def _swap(first: Path, second: Path) -> None:
    held = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(held)


def forget_digests(run: Path) -> None:
    """Take away every digest of a file."""
    directory = RunDirectory(run)
    manifest = directory.read("manifest.json", Manifest)
    write_document(run / "manifest.json", manifest.model_copy(update={"sealed": {}}))
    for path in run.rglob(SUMS):
        path.unlink()
