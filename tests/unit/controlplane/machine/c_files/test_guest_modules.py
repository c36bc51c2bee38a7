"""CCAs as modules of a guest's kernel, with a stand-in for its kbuild."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from nashbed.controlplane.contract.c_files import CFile
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.machine.c_files import guest_modules as modules
from nashbed.controlplane.machine.c_files.guest_modules import module_of
from nashbed.controlplane.machine.c_files.kinds import CCA
from nashbed.controlplane.machine.kernels.cache import GuestKernel
from nashbed.controlplane.machine.paths import CCA_FOLDER
from nashbed.controlplane.store.checksums import own_list

KBUILD = """\
name := $(shell sed -n 's/^obj-m := \\(.*\\)\\.o$$/\\1/p' $(M)/Kbuild)
modules:
	@echo built >> builds
	@{command}
	@cat $(M)/Kbuild $(M)/own/*.c > $(M)/$(name).ko
"""


def kernel_in(folder: Path, command: str = "true") -> GuestKernel:
    """A kernel whose kbuild makes a module of the text that it compiles, after a command."""
    (folder / "tree").mkdir(parents=True)
    (folder / "tree" / "Makefile").write_text(KBUILD.format(command=command))
    return GuestKernel("6.1.7", "linux-source-6.1", "d" * 64, folder / "linux", "b" * 64)


def cca_in(folder: Path, name: str = "mine", text: str = '#include "cc.h"\n') -> CFile:
    (folder / f"{name}.c").write_text(text)
    return CCA.read(folder / f"{name}.c")


def builds(kernel: GuestKernel) -> int:
    return len((kernel.tree / "builds").read_text().splitlines())


def test_a_module_is_built_once_for_each_state_of_its_cca(tmp_path: Path) -> None:
    kernel, cca = kernel_in(tmp_path / "k"), cca_in(tmp_path, "copa_default")
    module = module_of(kernel, cca)
    assert module.parent == kernel.folder / "modules"
    assert re.fullmatch(r"copa_default-[0-9a-f]{12}\.ko", module.name)
    obj, linked, *_, text = module.read_text().splitlines()
    assert obj == "obj-m := copa_default.o"
    assert linked == "copa_default-y := cc_module.o own/copa_default.o"
    assert text == '#include "cc.h"'
    assert module_of(kernel, cca) == module
    assert builds(kernel) == 1
    changed = module_of(kernel, cca_in(tmp_path, "copa_default", '#include "cc.h"\nint x;\n'))
    assert "int x;" in changed.read_text()
    assert builds(kernel) == 2
    assert sorted(module.parent.glob("*.ko")) == sorted([module, changed])


def test_a_damaged_module_is_built_again(tmp_path: Path) -> None:
    kernel, cca = kernel_in(tmp_path / "k"), cca_in(tmp_path)
    module = module_of(kernel, cca)
    whole = module.read_bytes()
    for damaged in (whole[:-1], b"", whole.replace(b"m", b"l")):
        module.write_bytes(damaged)
        assert module_of(kernel, cca).read_bytes() == whole
    own_list(module).unlink()
    assert module_of(kernel, cca).read_bytes() == whole
    assert builds(kernel) == 5


def test_all_that_it_includes_is_beside_it(tmp_path: Path) -> None:
    (tmp_path / "sums").mkdir()
    (tmp_path / "sums" / "add.h").write_text("int add;\n")
    needed = "test -f $(M)/own/cc.h -a -f $(M)/own/cc_kernel.h -a -f $(M)/own/sums/add.h"
    cca = cca_in(tmp_path, text='#include "cc.h"\n#include "sums/add.h"\n')
    assert module_of(kernel_in(tmp_path / "k", needed), cca).is_file()


def test_one_of_several_files_is_linked_of_them(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    for name in ("b.c", "a.c", "a.h", "Makefile"):
        (tmp_path / "two" / name).write_text(f"/* {name} */\n")
    module = module_of(kernel_in(tmp_path / "k"), CCA.read(tmp_path / "two"))
    linked, *_, a, b = module.read_text().splitlines()[1:]
    assert (linked, a, b) == ("two-y := cc_module.o own/a.o own/b.o", "/* a.c */", "/* b.c */")


@pytest.mark.parametrize("file", ["$(M)/own/mine.c", "own/mine.c"])
def test_the_compilers_first_error_names_the_users_file(tmp_path: Path, file: str) -> None:
    said = [f"{file}:3:1: warning: w", f"{file}:4:9: error: no such thing", f"{file}:5: error: x"]
    command = " && ".join(f"echo '{line}' >&2" for line in said) + " && false"
    kernel, cca = kernel_in(tmp_path / "k", command), cca_in(tmp_path)
    with pytest.raises(ConfigError) as refused:
        module_of(kernel, cca)
    assert refused.value.message == (
        f"{cca.source}:4:9: no such thing (as a module of the kernel 6.1.7 of virtual time)"
    )
    assert list((kernel.folder / "modules").iterdir()) == []


def test_a_missing_header_is_named(tmp_path: Path) -> None:
    said = "echo '$(M)/own/cc.h:8:10: fatal error: x.h: No such file or directory' >&2 && false"
    with pytest.raises(ConfigError, match=rf"^{CCA_FOLDER}/cc\.h:8:10: x\.h: No such file"):
        module_of(kernel_in(tmp_path / "k", said), cca_in(tmp_path))


def test_what_the_kernel_does_not_offer_is_named(tmp_path: Path) -> None:
    said = """echo 'ERROR: modpost: "tcp_x" [$(M)/mine.ko] undefined!' >&2 && false"""
    with pytest.raises(ConfigError, match=r"mine\.c: tcp_x is not there \(as a module"):
        module_of(kernel_in(tmp_path / "k", said), cca_in(tmp_path))


def test_another_failure_is_the_machines(tmp_path: Path) -> None:
    said = ("warning: it is another gcc", "  It was gcc 12", "***", "ld: a.o: No space left on it")
    command = " && ".join(f"echo '{line}' >&2" for line in said) + " && false"
    with pytest.raises(HostError, match=r"mine\.c: not built as .*: ld: a\.o: No space left on"):
        module_of(kernel_in(tmp_path / "k", command), cca_in(tmp_path))


def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    kernel, cca = kernel_in(tmp_path / "k"), cca_in(tmp_path)
    (kernel.folder / "modules" / ".mine.ko.0123abcd.tmp" / "cc").mkdir(parents=True)
    module = module_of(kernel, cca)
    assert sorted(module.parent.iterdir()) == [module, own_list(module)]


def test_builds_at_once_are_one(tmp_path: Path) -> None:
    kernel, cca = kernel_in(tmp_path / "k", "sleep 0.3"), cca_in(tmp_path)
    with ThreadPoolExecutor(4) as pool:
        modules = set(pool.map(lambda _: module_of(kernel, cca), range(4)))
    assert len(modules) == 1
    assert builds(kernel) == 1


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, cca = kernel_in(tmp_path / "k"), cca_in(tmp_path)
    (kernel.tree / "Makefile").unlink()
    remedy = rf"remove {kernel.folder} and run `make virtual KERNEL=6\.1`"
    with pytest.raises(HostError, match=remedy):
        module_of(kernel, cca)
    monkeypatch.setattr(modules, "TOOLS", ("make", "no-such-tool"))
    with pytest.raises(HostError, match=r"^no-such-tool: not installed, .* `make setup`"):
        module_of(kernel, cca)
