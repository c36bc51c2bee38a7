"""Kernels on their way to a worker: what arrives is what was sent, or nothing."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from nashbed.controlplane.cluster import kernels as kernels_module
from nashbed.controlplane.cluster.identity import (
    Identity,
    KernelIdentity,
    identity_here,
    lacking,
)
from nashbed.controlplane.cluster.kernels import install_kernel, pack_kernel
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.kernels.cache import (
    BINARY,
    RECORD,
    TREE,
    GuestKernel,
    KernelRecord,
    built_kernels,
    find_kernel,
    kernel_cache,
)
from nashbed.controlplane.store.checksums import file_digest
from tests.support.cached_kernels import put_kernel

RELEASE = "6.1.176"
VIRTUAL = Testbed(name="virtual", target="virtual")
INSTALL = """
import sys
from pathlib import Path
from nashbed.controlplane.cluster import kernels
from nashbed.controlplane.cluster.identity import KernelIdentity

def stop_here(*asked):
    print("unpacked", flush=True)
    sys.stdin.readline()

if sys.argv[3] == "stop":
    check = kernels._check
    kernels._check = lambda *asked: (stop_here(), check(*asked))
kernels.install_kernel(
    KernelIdentity.model_validate_json(sys.argv[1]), Path(sys.argv[2]).read_bytes()
)
"""


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GuestKernel:
    """The client's kernel; from here on the cache is a worker's, with nothing in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "client"))
    put_kernel(RELEASE)
    found = find_kernel()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "worker"))
    return found


def named(kernel: GuestKernel) -> KernelIdentity:
    return KernelIdentity(
        name="", release=kernel.release, recipe=kernel.digest, binary=kernel.binary_digest
    )


def left() -> list[str]:
    return sorted(path.name for path in kernel_cache().glob("*"))


def test_it_arrives_whole(client: GuestKernel) -> None:
    install_kernel(named(client), pack_kernel(client))
    arrived = find_kernel()
    assert arrived.folder != client.folder
    assert (arrived.release, arrived.digest) == (client.release, client.digest)
    assert arrived.binary_digest == client.binary_digest
    assert (arrived.tree / "Makefile").read_text() == (client.tree / "Makefile").read_text()
    assert left() == [client.folder.name]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2],
        lambda data: data[:20],
        lambda data: data + b"\0",
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data[:-9] + bytes([data[-9] ^ 16]) + data[-8:],
    ],
)
def test_what_comes_damaged_is_refused(
    client: GuestKernel, damage: Callable[[bytes], bytes]
) -> None:
    with pytest.raises(HostError, match="came damaged") as caught:
        install_kernel(named(client), damage(pack_kernel(client)))
    assert "\n" not in caught.value.message
    assert left() == []


@pytest.mark.parametrize("part", ["binary", "recipe"])
def test_another_kernel_than_was_promised_is_refused(client: GuestKernel, part: str) -> None:
    promised = named(client).model_copy(update={part: "0" * 64})
    with pytest.raises(HostError, match=f"the kernel that came is {client.binary_digest[:12]}"):
        install_kernel(promised, pack_kernel(client))
    assert left() == []


def test_one_whose_record_is_of_another_program_is_refused(client: GuestKernel) -> None:
    """The digest is the program's own, whatever stands in the record."""
    client.binary.write_text("another program")
    with pytest.raises(HostError, match="the kernel that came is"):
        install_kernel(named(client), pack_kernel(client))
    assert left() == []


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("#!/bin/sh\necho GLIBC_2.34 not found >&2; exit 1\n", "GLIBC_2.34 not found"),
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/bin/sh\necho another\n", "it does not say its release"),
        ("no program", "Exec format error"),
    ],
)
def test_one_that_does_not_run_here_is_refused(
    client: GuestKernel, program: str, problem: str
) -> None:
    folder = client.folder
    folder.joinpath(BINARY).write_text(program)
    digest = file_digest(folder / BINARY)
    record = KernelRecord.model_validate_json((folder / RECORD).read_text())
    text = record.model_copy(update={"binary_digest": digest}).model_dump_json()
    (folder / RECORD).write_text(text)
    with pytest.raises(HostError, match=rf"does not run here \(.*{problem}.*make virtual"):
        install_kernel(named(client).model_copy(update={"binary": digest}), pack_kernel(client))
    assert left() == []


def test_one_that_is_there_is_kept(client: GuestKernel) -> None:
    folder = put_kernel(RELEASE)
    before = (folder / BINARY).stat().st_ino
    install_kernel(named(client), b"not looked at")
    assert (folder / BINARY).stat().st_ino == before


def test_a_folder_without_a_record_is_replaced(client: GuestKernel) -> None:
    folder = put_kernel(RELEASE)
    (folder / "kernel.json").unlink()
    (folder / "rubbish").write_text("")
    install_kernel(named(client), pack_kernel(client))
    assert find_kernel().binary_digest == client.binary_digest
    assert not (folder / "rubbish").exists()


def test_a_full_disk_is_said(client: GuestKernel, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*asked: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(kernels_module, "_check", full)
    with pytest.raises(HostError, match="the disk is full"):
        install_kernel(named(client), pack_kernel(client))
    assert left() == []


def installing(client: GuestKernel, data: Path, how: str) -> subprocess.Popen[str]:
    data.write_bytes(pack_kernel(client))
    return subprocess.Popen(
        [sys.executable, "-c", INSTALL, named(client).model_dump_json(), str(data), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def await_unpacked(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    assert process.stdout.readline() == "unpacked\n"


@pytest.mark.slow
def test_two_processes_install_it_once(client: GuestKernel, tmp_path: Path) -> None:
    """The second one comes while the first has unpacked it; it waits, and finds it there."""
    first = installing(client, tmp_path / "data", "stop")
    await_unpacked(first)
    second = installing(client, tmp_path / "data", "stop")
    assert built_kernels() == []
    first.communicate("\n", timeout=60)
    out, _ = second.communicate(timeout=60)
    assert (first.returncode, second.returncode, out) == (0, 0, "")
    assert find_kernel().binary_digest == client.binary_digest
    assert left() == [client.folder.name]


def identity(kernel: GuestKernel) -> Identity:
    here = identity_here(VIRTUAL, [])
    return here.model_copy(update={"kernels": (named(kernel),)})


def test_a_machine_lacks_what_it_could_be_given(client: GuestKernel) -> None:
    wanted = identity(client)
    assert lacking(wanted) == [named(client)]
    assert lacking(wanted.model_copy(update={"architecture": "another"})) == []
    put_kernel(RELEASE)
    assert lacking(wanted) == []


def test_what_modules_need_travels_too(client: GuestKernel) -> None:
    (client.tree / "scripts").mkdir()
    (client.tree / "scripts" / "run").write_text("#!/bin/sh\n")
    (client.tree / "scripts" / "run").chmod(0o755)
    (client.tree / "link").symlink_to("scripts/run")
    install_kernel(named(client), pack_kernel(client))
    tree = find_kernel().folder / TREE
    assert os.access(tree / "scripts" / "run", os.X_OK)
    assert (tree / "link").readlink() == Path("scripts/run")
    shutil.rmtree(client.folder)
    assert (tree / "link").read_text() == "#!/bin/sh\n"
