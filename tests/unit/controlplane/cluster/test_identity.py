"""What a worker must have in common with the client, and what is said when it has not."""

from pathlib import Path

import pytest
from nashbed.controlplane.cluster.identity import (
    ROOMS,
    Identity,
    KernelIdentity,
    differences,
    identity_here,
    sources_digest,
)
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.machine.kernels.cache import kernel_folder
from tests.support.cached_kernels import put_kernel

RELEASE = "6.1.176"
VIRTUAL = Testbed(name="virtual", target="virtual")
KERNEL = KernelIdentity(name="", release=RELEASE, recipe="d" * 64, binary="b" * 64)
CLIENT = Identity(
    version="1.0",
    sources="a" * 64,
    artefact="c" * 64,
    architecture="x86_64",
    kernels=(KERNEL,),
    programs={"nashbed-flows": "f" * 64, "libc.so.6": "e" * 64},
)


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_equal_ones_differ_in_nothing() -> None:
    assert differences(CLIENT, CLIENT.model_copy()) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"architecture": "arm64"}, "it is an arm64, and the client an x86_64"),
        (
            {"version": "0.9"},
            "it has nashbed 0.9 (aaaaaaaaaaaa), and the client 1.0 (aaaaaaaaaaaa): install the "
            "same commit there",
        ),
        (
            {"sources": "0" * 64},
            "it has nashbed 1.0 (000000000000), and the client 1.0 (aaaaaaaaaaaa): install the "
            "same commit there",
        ),
        (
            {"artefact": "0" * 64},
            "its P4 program is 000000000000, and the client's cccccccccccc: install the same "
            "commit there",
        ),
        (
            {"kernels": (KernelIdentity(name=""),)},
            f"it has no kernel  for virtual time; the client's is {RELEASE} (bbbbbbbbbbbb)",
        ),
        (
            {"programs": {"nashbed-flows": "0" * 64, "bottleneck.so": "0" * 64}},
            "its nashbed-flows, libc.so.6 differ from the client's: build the same commit there, "
            "with the same compiler, on the same release of the system",
        ),
    ],
)
def test_each_difference_is_a_line(change: dict[str, object], line: str) -> None:
    assert differences(CLIENT, CLIENT.model_copy(update=change)) == [line]


def test_another_kernel_is_to_be_moved_away() -> None:
    other = KERNEL.model_copy(update={"binary": "0" * 64})
    (line,) = differences(CLIENT, CLIENT.model_copy(update={"kernels": (other,)}))
    assert line == (
        f"its kernel for virtual time is {RELEASE} (000000000000), and the client's is {RELEASE} "
        f"(bbbbbbbbbbbb): move {kernel_folder(RELEASE, 'd' * 64)} away there"
    )


def test_the_kernels_of_this_machine() -> None:
    assert identity_here(VIRTUAL, [""]).kernels == (KernelIdentity(name=""),)
    put_kernel(RELEASE)
    (kernel,) = identity_here(VIRTUAL, [""]).kernels
    assert (kernel.name, kernel.release) == ("", RELEASE)
    named, missing = identity_here(VIRTUAL, ["6.1", "6.12"]).kernels
    assert (named.name, named.binary) == ("6.1", kernel.binary)
    assert missing == KernelIdentity(name="6.12")


def test_a_kernel_that_has_changed_is_not_taken_for_one_that_is_missing() -> None:
    folder = put_kernel(RELEASE)
    (folder / "linux").write_text("another program")
    with pytest.raises(HostError, match=f"{folder}/linux: is damaged"):
        identity_here(VIRTUAL, [""])


def checkout(root: Path) -> Path:
    for room in ROOMS:
        (root / "controlplane" / room).mkdir(parents=True)
        (root / "controlplane" / room / "one.py").write_text(f"# {room}\n")
    (root / "hosts" / "cc").mkdir(parents=True)
    (root / "hosts" / "cc" / "cc.h").write_text("int x;\n")
    return root


def test_the_digest_of_sources_is_theirs_alone(tmp_path: Path) -> None:
    one, other = checkout(tmp_path / "one"), checkout(tmp_path / "other")
    (other / "hosts" / "README.md").write_text("words")
    (other / "controlplane" / "cli").mkdir()
    (other / "controlplane" / "cli" / "colours.py").write_text("RED = 1\n")
    assert sources_digest(one) == sources_digest(other)


@pytest.mark.parametrize(
    "file", ["hosts/cc/cc.h", "hosts/cc/new.c", "controlplane/run/one.py", "controlplane/run/x.py"]
)
def test_any_source_that_counts_changes_it(tmp_path: Path, file: str) -> None:
    one, other = checkout(tmp_path / "one"), checkout(tmp_path / "other")
    (other / file).write_text("int y;\n")
    assert sources_digest(one) != sources_digest(other)
