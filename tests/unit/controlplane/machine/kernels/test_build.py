"""A kernel, configured and built of a fake source tree, and what is left of a build that fails."""

import json
from pathlib import Path

import pytest
from nashbed.controlplane.cli.main import run
from nashbed.controlplane.contract.errors import HostError
from nashbed.controlplane.machine.kernels import build as kernel_build
from nashbed.controlplane.machine.kernels.build import (
    ConfigLine,
    build_kernel,
    compiler_of,
    edited_source,
    fragment_settings,
    kernel_at_hand,
    not_in_effect,
)
from nashbed.controlplane.machine.kernels.cache import built_kernels, find_kernel, kernel_cache
from nashbed.controlplane.machine.paths import UML
from nashbed.controlplane.store.checksums import SUMS
from tests.support.damage import KINDS, damages
from tests.support.kernel_source import EDITS, make_tree

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kernel_build, "TOOLS", ("make",))
    monkeypatch.setattr(kernel_build, "knows_release", lambda release: False)
    return kernel_cache()


def build(tree: Path, steps: list[str] | None = None) -> tuple[str, bool]:
    """Build a tree; the digest of the kernel, and whether it was built now."""
    kernel, is_new = build_kernel(
        str(tree), 1, lambda what, done, total: (steps if steps is not None else []).append(what)
    )
    return kernel.digest, is_new


def left_in(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir())


def test_a_build_is_kept_and_found(tmp_path: Path, empty_cache: Path) -> None:
    tree, steps = make_tree(tmp_path / "tree", (6, 1)), list[str]()
    before = sorted(tree.rglob("*"))
    digest, is_new = build(tree, steps)
    assert is_new
    assert list(dict.fromkeys(steps)) == [
        "looking for the source", "copying", "editing", "configuring 6.1.7", "compiling",
    ]  # fmt: skip
    assert sorted(tree.rglob("*")) == before
    assert left_in(empty_cache) == [f"6.1.7-{digest[:12]}"]
    kernel = find_kernel("6.1")
    assert kernel.digest == digest
    assert "CONFIG_TCP_CONG_BBR=y" in kernel.binary.read_text()
    record = json.loads((kernel.binary.parent / "kernel.json").read_text())
    assert record["compiler"] == "fakecc 1.0"
    assert record["package"].startswith("tree sha256:")
    assert record["seconds"] > 0
    kept = {path.relative_to(kernel.tree).as_posix() for path in kernel.tree.rglob("*")}
    assert kept >= {".config", "Module.symvers", "include/config/auto.conf", "include/linux/tcp.h"}
    assert kept >= {"include/generated/rustc_cfg", "scripts/mod/modpost", "Makefile"}
    assert not kept & {"include/drm/drm.h", "scripts/mod/a.o"}
    steps.clear()
    assert build(tree, steps) == (digest, False)
    assert steps == ["looking for the source"]


def test_a_source_to_be_distributed_is_what_a_build_compiles(
    tmp_path: Path, empty_cache: Path
) -> None:
    tree = make_tree(tmp_path / "tree", (6, 1))
    with edited_source(str(tree), lambda *_: None) as source:
        assert (source.tree / ".nashbed-edited").is_file()
        assert "CONFIG_TCP_CONG_BBR=y" in (source.tree / ".config").read_text()
        assert not (source.tree / "linux").exists()
        assert source.release == "6.1.7"
    assert left_in(empty_cache) == []
    assert build(tree) == (source.digest, True)


def test_a_symbol_that_the_release_does_not_take_is_named(
    tmp_path: Path, empty_cache: Path
) -> None:
    tree = make_tree(tmp_path / "t", (6, 1), configured="sed -i /CONG_LP/d .config")
    with pytest.raises(
        HostError, match=r"release 6\.1\.7 does not take CONFIG_TCP_CONG_LP=y: mark"
    ):
        build(tree)
    assert not any(path.is_dir() for path in empty_cache.iterdir())


def test_an_unknown_source_is_refused(tmp_path: Path, empty_cache: Path) -> None:
    tree = make_tree(tmp_path / "t", (6, 1))
    change = EDITS.MEMORY.changes[0]
    (tree / change.path).write_text("int nothing;\n")
    with pytest.raises(HostError, match=f"edits.py: {change.path}: .* is not there"):
        build(tree)
    assert not any(path.is_dir() for path in empty_cache.iterdir())


def test_what_the_compiler_says_is_in_the_message(tmp_path: Path, empty_cache: Path) -> None:
    said = "echo 'a.c:1: warning: w' && echo 'a.c:2: error: no such thing' && false"
    tree = make_tree(tmp_path / "t", (6, 1), compiled=said)
    with pytest.raises(HostError) as failed:
        build(tree)
    words, _, log = failed.value.message.partition("; its output: ")
    assert words == "nice failed: a.c:2: error: no such thing"
    assert "a.c:1: warning: w" in Path(log).read_text()
    assert left_in(empty_cache) == [Path(log).name]
    assert built_kernels() == []


def test_what_a_killed_build_left_is_removed(tmp_path: Path, empty_cache: Path) -> None:
    (empty_cache / ".build.0123abcd.tmp" / "tree").mkdir(parents=True)
    digest, _ = build(make_tree(tmp_path / "t", (6, 1)))
    assert left_in(empty_cache) == [f"6.1.7-{digest[:12]}"]


def test_a_build_beside_another_keeps_what_is_there(tmp_path: Path, empty_cache: Path) -> None:
    """The other one is done first: this one's result is the same, and is thrown away."""
    tree = make_tree(tmp_path / "t", (6, 1))
    inner: list[tuple[str, bool]] = []

    def show(what: str, done: int, total: int) -> None:
        if what == "compiling" and not inner:
            inner.append(build(tree))

    kernel, is_new = build_kernel(str(tree), 1, show)
    assert is_new
    assert inner == [(kernel.digest, True)]
    assert left_in(empty_cache) == [f"6.1.7-{kernel.digest[:12]}"]


@pytest.mark.slow
def test_a_damaged_kernel_is_built_again(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "t", (6, 1))
    build(tree)
    kernel = find_kernel()
    kinds = set()
    for damage in damages(kernel.folder, seed=3, flips=2):
        kinds.add(damage.kind)
        if (damage.kind, *damage.files) == ("delete", SUMS):
            continue  # as of a kernel that an earlier version built
        assert kernel_at_hand("6.1") is None, damage
    assert kernel_at_hand("6.1") == kernel
    assert kinds == set(KINDS)
    kernel.binary.write_text("another")
    assert build(tree) == (kernel.digest, True)
    assert build(tree) == (kernel.digest, False)


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_build, "TOOLS", ("make", "no-such-tool"))
    with pytest.raises(HostError, match=r"^no-such-tool: not installed; `make setup` installs it"):
        build_kernel("", 1, lambda what, done, total: None)


def test_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_build, "DISK_BYTES", 10**18)
    with pytest.raises(HostError, match=r"GB free, and a build takes .* make room"):
        build(make_tree(tmp_path / "t", (6, 1)))


def test_which_kernel_serves_without_a_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel_at_hand("") is None
    build(make_tree(tmp_path / "a", (6, 12)))
    newer = kernel_at_hand("")
    assert newer is not None
    assert newer.release == "6.12.7"
    monkeypatch.setattr(kernel_build, "knows_release", lambda release: release == "6.1")
    assert kernel_at_hand("") is None
    assert kernel_at_hand("6.1") is None
    assert kernel_at_hand("6.12") == newer
    assert kernel_at_hand(str(tmp_path / "a")) is None


def test_the_command(tmp_path: Path, capsys: Capture) -> None:
    assert run(["kernel", "list"]) == 0
    assert "run `make virtual`" in capsys.readouterr().out
    tree = make_tree(tmp_path / "t", (6, 1))
    assert run(["kernel", "build", str(tree), "-j", "1"]) == 0
    said = capsys.readouterr()
    assert "configuring 6.1.7" in said.err
    assert said.out.startswith("kernel 6.1.7 is built (in ")
    assert run(["kernel", "build"]) == 0
    said = capsys.readouterr()
    assert (said.err, said.out) == ("", f"kernel 6.1.7 is built: {find_kernel().binary}\n")
    assert run(["kernel", "list", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["kernels"]
    assert listed["digest"] == find_kernel().digest
    assert run(["kernel", "build", "nonsense"]) == 2
    assert "KERNEL=nonsense: no such file" in capsys.readouterr().err


FRAGMENT = """\
# a comment
CONFIG_NET=y

CONFIG_KERNEL_STACK_ORDER=4  # what runs on the stack is large
CONFIG_NEW=0  # since 7.2: why
CONFIG_OLD=y  # until 6.12
"""


def lines(release: tuple[int, int], text: str = FRAGMENT) -> list[str]:
    return [setting.line for setting in fragment_settings(text, release)]


def test_a_release_has_the_lines_that_are_for_it() -> None:
    always = ["CONFIG_NET=y", "CONFIG_KERNEL_STACK_ORDER=4"]
    assert lines((6, 1)) == [*always, "CONFIG_OLD=y"]
    assert lines((6, 12)) == [*always, "CONFIG_OLD=y"]
    assert lines((6, 13)) == always
    assert lines((7, 2)) == [*always, "CONFIG_NEW=0"]


@pytest.mark.parametrize("line", ["CONFIG_NET", "NET=y", "CONFIG_NET=y since 6.2"])
def test_a_line_that_is_no_setting_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: not a setting"):
        fragment_settings(f"# first\n{line}\n", (6, 1))


def test_what_the_kernel_did_not_take_is_named() -> None:
    settings = [ConfigLine("CONFIG_NET", "y"), ConfigLine("CONFIG_HZ", "250")]
    assert not_in_effect(settings, "CONFIG_NET=y\nCONFIG_HZ=250\n") == []
    finished = "# CONFIG_NET is not set\nCONFIG_HZ=2500\n"
    assert not_in_effect(settings, finished) == settings


def test_the_compiler() -> None:
    assert compiler_of('CONFIG_CC_VERSION_TEXT="gcc (Debian) 12.2.0"\n') == "gcc (Debian) 12.2.0"
    assert compiler_of("") == "unknown"


@pytest.mark.parametrize("release", [(5, 10), (6, 1), (6, 12), (7, 3)])
def test_the_shipped_fragment(release: tuple[int, int]) -> None:
    """Every CCA that strategies may name is in it."""
    symbols = {s.symbol for s in fragment_settings((UML / "kernel.config").read_text(), release)}
    ccas = (
        *("BBR", "CUBIC", "VEGAS", "WESTWOOD", "HTCP", "ILLINOIS", "BIC", "YEAH", "VENO"),
        *("SCALABLE", "HYBLA", "DCTCP", "CDG", "NV", "LP", "HSTCP"),
    )
    assert symbols >= {f"CONFIG_TCP_CONG_{name}" for name in ccas}
    assert {"CONFIG_UML_TIME_TRAVEL_SUPPORT", "CONFIG_HOSTFS", "CONFIG_NET_NS"} <= symbols
