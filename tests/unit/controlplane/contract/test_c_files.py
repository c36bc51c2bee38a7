"""A CCA's name, and a digest that changes with whatever it is made of and with nothing else."""

import json
from pathlib import Path

import pytest
from nashbed.controlplane.contract.c_files import c_digest, c_sources, cca_name
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.machine.paths import CCA_FOLDER

HEADERS = {"cc.h": '#include "deep.h"\n', "deep.h": "int deep;\n", "unused.h": "int unused;\n"}


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    folder = tmp_path / "headers"
    folder.mkdir()
    for name, text in HEADERS.items():
        (folder / name).write_text(text)
    return folder


def own(folder: Path, text: str = '#include "cc.h"\n  # include "more/own.h"\n') -> Path:
    (folder / "more").mkdir(parents=True)
    (folder / "more" / "own.h").write_text('#include "cc.h"\n#include <none.h>\n')
    (folder / "mycc.c").write_text(text)
    return folder / "mycc.c"


def test_a_name_is_the_stem() -> None:
    assert cca_name("some/where/copa_default.c") == "copa_default"
    assert cca_name("./a23456789012345.c") == "a23456789012345"
    assert [cca_name(each) for each in ("./tcp_two/", "x/mine.bpf.c")] == ["tcp_two", "mine"]


@pytest.mark.parametrize("file", ["Bad.c", "9cc.c", "a234567890123456.c", "a b.c", "a-b.c", "./.c"])
def test_a_name_that_the_kernel_could_not_have(file: str) -> None:
    with pytest.raises(ValueError, match=f"^{file}: a congestion control has the name of its file"):
        cca_name(file)


def test_sources_are_what_is_included_wherever_it_stands(headers: Path, tmp_path: Path) -> None:
    source = own(tmp_path / "own")
    assert set(c_sources(source, headers)) == {"mycc.c", "more/own.h", "cc.h", "deep.h"}


def test_the_digest_follows_what_is_included(headers: Path, tmp_path: Path) -> None:
    source = own(tmp_path / "own")
    first = c_digest(source, headers)
    assert c_digest(own(tmp_path / "elsewhere"), headers) == first
    (headers / "unused.h").write_text("int changed;\n")
    assert c_digest(source, headers) == first
    for changed in (headers / "deep.h", source.parent / "more" / "own.h", source):
        before = c_digest(source, headers)
        changed.write_text(changed.read_text() + "int more;\n")
        assert c_digest(source, headers) != before, changed


def test_what_is_outside_its_folder_is_refused(headers: Path, tmp_path: Path) -> None:
    (tmp_path / "lib.h").write_text("")
    source = own(tmp_path / "own", '#include "../lib.h"\n')
    with pytest.raises(ConfigError, match=r"mycc\.c: includes .*/lib\.h, which is not in its fol"):
        c_digest(source, headers)


def test_the_committed_objects_are_of_the_sources_as_they_are() -> None:
    digests = json.loads((CCA_FOLDER / "objects" / "digests.json").read_text())
    objects = CCA_FOLDER.glob("objects/*.bpf.o")
    assert {path.name.removesuffix(".bpf.o") for path in objects} == set(digests)
    for name, digest in digests.items():
        assert c_digest(CCA_FOLDER / f"{name}.c", CCA_FOLDER) == digest, f"{name}: run `make cc`"
