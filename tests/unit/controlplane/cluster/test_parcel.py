"""A trial's folder arrives as it was sent, or not at all."""

import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashbed.controlplane.cluster import parcel as parcel_module
from nashbed.controlplane.cluster.parcel import (
    CODEC,
    LARGE_BYTES,
    Parcel,
    ParcelError,
    SentFile,
    pack,
    remove_leftovers,
    unpack,
)
from nashbed.controlplane.cluster.request import bundle_of
from nashbed.controlplane.store.errors import DiskFullError
from tests.unit.controlplane.cluster.conftest import Bed, MakeVirtualRun

PART = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=("Cs",)), min_size=1, max_size=20
).filter(lambda part: part not in (".", ".."))
NAMES = st.lists(PART, min_size=1, max_size=3).map("/".join)
FOLDERS = st.dictionaries(NAMES, st.binary(max_size=3000), max_size=6)
Content = dict[str, bytes]


def write(folder: Path, content: Content) -> Path:
    """A folder with these files; a name that is another's folder already is left out."""
    folder.mkdir(parents=True)
    for name, data in content.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            continue
    return folder


def read(folder: Path) -> Content:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def large(seed: int = 0) -> bytes:
    return (bytes(range(256)) * (LARGE_BYTES // 256 + 1))[seed:]


def sealed(parcel: Parcel) -> Parcel:
    """A parcel that agrees with its digest, whatever is in it."""
    return parcel.model_copy(update={"digest": parcel.digest_of_content()})


def parcel_of(content: bytes, *files: tuple[str, int]) -> Parcel:
    sent = tuple(SentFile(name=name, size_bytes=size) for name, size in files)
    return sealed(Parcel(trial="t", files=sent, content=content, digest=""))


def compressed(raw: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, CODEC) as stream:
        stream.write(raw)
    return bytes(sink.getvalue())


FAR = st.integers(0, 10**9)
"""A place in a parcel, to be taken modulo its length."""


@pytest.mark.slow
@given(FOLDERS, st.booleans())
@settings(deadline=None, max_examples=60)
def test_any_folder_comes_back_to_the_byte(content: Content, travels: bool) -> None:
    with tempfile.TemporaryDirectory() as place:
        sent = write(Path(place) / "sent" / "t", content)
        parcel = pack(sent)
        if travels:
            parcel = Parcel.from_bytes(parcel.to_bytes())
        unpack(parcel, Path(place) / "came" / "t")
        assert read(Path(place) / "came" / "t") == read(sent)
        assert names(Path(place) / "came") == ["t"]


@pytest.mark.slow
@given(FOLDERS, FAR, st.integers(1, 255))
@settings(deadline=None, max_examples=150)
def test_any_changed_byte_is_noticed_before_anything_is_written(
    content: Content, place_of_harm: int, harm: int
) -> None:
    with tempfile.TemporaryDirectory() as place:
        travelling = bytearray(pack(write(Path(place) / "t", content)).to_bytes())
        travelling[place_of_harm % len(travelling)] ^= harm
        with pytest.raises(ParcelError):
            unpack(Parcel.from_bytes(bytes(travelling)), Path(place) / "came")
        assert names(Path(place)) == ["t"]


@pytest.mark.slow
@given(FOLDERS, FAR)
@settings(deadline=None, max_examples=60)
def test_a_parcel_cut_short_is_noticed(content: Content, cut: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        travelling = pack(write(Path(place) / "t", content)).to_bytes()
        with pytest.raises(ParcelError):
            Parcel.from_bytes(travelling[: cut % len(travelling)])


@pytest.mark.parametrize(
    ("content", "files"),
    [
        *(
            (compressed(b"abcdef"), [("good", 3), (name, 3)])
            for name in (
                "../evil",
                "a/../../evil",
                "/tmp/evil",
                ".",
                "",
                "x" * 300,
                "a\0b",
                "a/./b",
            )
        ),
        (compressed(b"abcdef"), [("a", 3), ("a", 3)]),
        (compressed(b"abcdef"), [("a", 3), ("a/b", 3)]),
        (compressed(b"abc"), [("a", 3), ("b", 3)]),
        (compressed(b"abc"), [("a", 2)]),
        (compressed(b"abc"), [("a", 5000)]),
        (compressed(b"abc")[:-5], [("a", 3)]),
        (b"nothing compressed", [("a", 3)]),
        (b"", [("a", 3)]),
    ],
)
def test_what_a_parcel_may_not_hold_is_refused_and_leaves_nothing(
    content: bytes, files: list[tuple[str, int]], tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(ParcelError):
        unpack(parcel_of(content, *files), inner / "t")
    assert [path.name for path in tmp_path.rglob("*")] == ["inner"]


def test_what_is_there_is_not_replaced(tmp_path: Path) -> None:
    parcel = pack(write(tmp_path / "a", {"trial.json": b"new"}))
    sealed_before = write(tmp_path / "t", {"trial.json": b"old"})
    with pytest.raises(ParcelError, match="not empty"):
        unpack(parcel, sealed_before)
    assert read(sealed_before) == {"trial.json": b"old"}


def test_only_files_are_sent(tmp_path: Path) -> None:
    folder = write(tmp_path / "t", {"trial.json": b"{}"})
    (folder / "link").symlink_to("/etc/passwd")
    with pytest.raises(ParcelError, match="link: is not a regular file"):
        pack(folder)


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_said_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parcel = pack(write(tmp_path / "sent" / "t", {"a": b"abc", "b": b"def"}))
    monkeypatch.setattr(parcel_module, "_write", full_disk)
    with pytest.raises(DiskFullError, match="disk is full"):
        unpack(parcel, tmp_path / "t")
    assert names(tmp_path) == ["sent"]


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """The run's part of a shared folder; nobody made it yet."""
    return tmp_path / "shared" / "run"


CONTENT = {"trial.json": b"{}", "postcards.parquet": large(), "flows.parquet": b"few"}


def test_large_files_stay_in_the_shared_folder(tmp_path: Path, shared: Path) -> None:
    sent = write(tmp_path / "sent" / "t", CONTENT)
    parcel = pack(sent, shared)
    assert len(parcel.to_bytes()) < 2000
    shutil.rmtree(sent)
    unpack(parcel, tmp_path / "t", shared)
    assert read(tmp_path / "t") == CONTENT
    table = tmp_path / "t" / "postcards.parquet"
    assert table.is_symlink()
    assert table.resolve().parent.name.startswith("t-")
    assert not (tmp_path / "t" / "flows.parquet").is_symlink()


def test_two_attempts_at_one_trial_do_not_share_a_file(tmp_path: Path, shared: Path) -> None:
    """A worker that seemed dead may still write, while another runs its trial."""
    first, second = (pack(write(tmp_path / n / "t", CONTENT), shared) for n in ("one", "other"))
    assert first.files[-1].place != second.files[-1].place != ""


def test_the_client_may_see_the_shared_folder_by_another_name(tmp_path: Path, shared: Path) -> None:
    parcel = pack(write(tmp_path / "sent" / "t", CONTENT), shared)
    (tmp_path / "mount").symlink_to(shared)
    unpack(parcel, tmp_path / "t", tmp_path / "mount")
    assert read(tmp_path / "t") == CONTENT


Harm = Callable[[Path], object]


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (Path.unlink, "is not there"),
        (lambda file: file.write_bytes(large(1)), "B instead of"),
        (lambda file: file.write_bytes(large()[:-1] + b"!"), "has another content"),
    ],
)
def test_a_file_not_seen_as_it_was_written_is_an_error(
    harm: Harm, problem: str, tmp_path: Path, shared: Path
) -> None:
    parcel = pack(write(tmp_path / "sent" / "t", CONTENT), shared)
    harm(shared / parcel.files[-1].place)
    with pytest.raises(ParcelError, match=rf"{shared}/t-.*{problem}.*see that {shared} is one"):
        unpack(parcel, tmp_path / "t", shared)
    assert names(tmp_path) == ["sent", "shared"]


def test_a_client_without_a_shared_folder_says_so(tmp_path: Path, shared: Path) -> None:
    parcel = pack(write(tmp_path / "sent" / "t", CONTENT), shared)
    with pytest.raises(ParcelError, match="stayed in a shared folder; none is named"):
        unpack(parcel, tmp_path / "t")


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "../postcards.parquet"},
        {"name": "/tmp/postcards.parquet"},
        {"name": "trial.json"},
        {"place": "../secret"},
        {"place": "link"},
        {"place": "/etc/passwd"},
    ],
)
def test_links_lead_from_the_folder_to_the_shared_folder_alone(
    changed: dict[str, str], tmp_path: Path, shared: Path
) -> None:
    parcel = pack(write(tmp_path / "sent" / "t", CONTENT), shared)
    secret = shared.parent / "secret"
    secret.write_bytes(CONTENT["postcards.parquet"])
    (shared / "link").symlink_to(secret)
    files = (*parcel.files[:-1], parcel.files[-1].model_copy(update=changed))
    hostile = sealed(parcel.model_copy(update={"files": files}))
    with pytest.raises(ParcelError):
        unpack(hostile, tmp_path / "t", shared)
    assert names(tmp_path) == ["sent", "shared"]


def test_a_full_shared_folder_is_said_and_keeps_nothing(
    tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "sent" / "t", CONTENT)
    monkeypatch.setattr("nashbed.controlplane.store.staging._flush", full_disk)
    with pytest.raises(DiskFullError, match="disk is full"):
        pack(folder, shared)
    assert list(shared.iterdir()) == []


def test_a_shared_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = write(tmp_path / "sent" / "t", CONTENT)
    with pytest.raises(ParcelError, match="file/run: the shared folder cannot be written"):
        pack(folder, tmp_path / "file" / "run")


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_trials_refer_to_stays(tmp_path: Path) -> None:
    shared, trials = tmp_path / "shared", tmp_path / "trials"
    for folder in ("t0-kept", "t0-orphan", ".t1-unfinished.0123abcd.tmp"):
        (shared / folder).mkdir(parents=True)
        (shared / folder / "postcards.parquet").write_text(folder)
    (trials / "t0").mkdir(parents=True)
    (trials / "t0" / "postcards.parquet").symlink_to(shared / "t0-kept" / "postcards.parquet")
    (trials / "t0" / "elsewhere").symlink_to(tmp_path / "of another run")
    remove_leftovers(shared, trials)
    assert names_in(shared) == ["t0-kept"]
    assert (trials / "t0" / "postcards.parquet").read_text() == "t0-kept"


def test_a_folder_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    remove_leftovers(tmp_path / "shared", tmp_path)


@pytest.mark.slow
def test_a_run_leaves_what_its_trials_refer_to(
    make_bed: Callable[..., Bed],
    make_virtual_run: MakeVirtualRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parcel_module, "LARGE_BYTES", 1)
    bed, run = make_bed(2), make_virtual_run()
    bed.shared = str(tmp_path / "shared")
    own = bundle_of(run, bed.shared).shared_folder
    assert own is not None
    (own / "of-a-client-that-died").mkdir(parents=True)
    (own.parent / "another run").mkdir()
    records = bed.run(run)
    assert [folder.rsplit("-", 1)[0] for folder in names_in(own)] == [each.id for each in records]
    assert names_in(own.parent) == sorted(["another run", own.name])
    links = [path for path in run.directory.trials.rglob("*") if path.is_symlink()]
    assert links
    assert all(link.is_file() for link in links)
