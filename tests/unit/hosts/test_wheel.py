"""What `make wheel` takes into its distributions; that they run is shown by `make fresh`."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import nashbed as nb
import pytest
from markdown_it import MarkdownIt
from nashbed.controlplane.machine.kernels.build import EXCLUDED, PATTERNS, EditedSource
from nashbed.controlplane.machine.kernels.cache import RECIPE, recipe_digest
from packaging.metadata import Metadata
from pyproject_metadata import StandardMetadata
from ruamel.yaml import YAML
from tests.support.programs import need_program

ROOT = Path(__file__).resolve().parents[3]
WHEEL = ROOT / "hosts" / "wheel"


def module(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """A module of hosts/wheel, which is a folder of scripts."""
    monkeypatch.syspath_prepend(str(WHEEL))
    for each in ("distribution", "kernel", "testbed"):
        monkeypatch.delitem(sys.modules, each, raising=False)
    return import_module(name)


def test_the_wheel_has_the_checkouts_name_version_and_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    testbed = module(monkeypatch, "testbed")
    told = tomllib.loads(testbed.BACKEND + testbed.metadata() + testbed.MESON_OPTIONS)
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    licences = ("Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Beerware", "ISC",
                "LGPL-2.1-only", "MIT")  # fmt: skip
    of_the_wheel = {
        "license-files": ["LICENSE", "LICENSES/*"],
        "license": " AND ".join(licences),
    }
    assert told["project"] == ours | of_the_wheel
    assert told["build-system"]["build-backend"] == "mesonpy"


def test_every_package_is_where_the_wheel_takes_it_from(monkeypatch: pytest.MonkeyPatch) -> None:
    testbed = module(monkeypatch, "testbed")
    folders = testbed.package_folders()
    assert {"controlplane", "analysis"} <= folders.keys()
    for place in (*folders.values(), *testbed.DATA, testbed.FLUID):
        assert (ROOT / place).is_dir()


@pytest.mark.slow
def test_what_is_laid_out_is_where_a_checkout_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_program("git")  # it says what is of the checkout
    testbed = module(monkeypatch, "testbed")
    monkeypatch.setattr(testbed, "LINKED", {})
    project = testbed.lay_out(tmp_path)
    package = tmp_path / "package"
    for name in ("controlplane/machine/paths.py", "configs/scenarios/quickstart.yaml",
                 "p4src/dpdk/bottleneck.spec", "hosts/cc/mine.c"):  # fmt: skip
        assert (package / name).read_bytes() == (ROOT / name).read_bytes()
    assert not (package / "hosts" / "uml").exists()  # GPL-2.0-only: of the other distribution
    assert (project / "subprojects" / "fluid" / "meson.build").is_file()
    assert (project / "LICENSES" / "Apache-2.0.txt").is_file()
    described_as_an_index_wants_it(project)


def described_as_an_index_wants_it(project: Path) -> None:
    """Its metadata as meson-python writes them are valid, and no link leads into a checkout."""
    (project / "LICENSES" / "other.txt").write_text("of a linked library")
    written = tomllib.loads((project / "pyproject.toml").read_text())
    made = StandardMetadata.from_pyproject(written, project).as_rfc822()
    told = Metadata.from_email(bytes(made), validate=True)
    assert told.description_content_type == "text/markdown"
    assert told.description is not None
    assert told.description.startswith("# nashbed\n")
    tokens = MarkdownIt().parse(told.description)
    inner = [child for token in tokens for child in token.children or ()]
    aims = [child.attrs.get("href", child.attrs.get("src")) for child in inner]
    assert [aim for aim in aims if aim and not str(aim).startswith("https://")] == []


def test_what_the_index_shows_first_is_right() -> None:
    """Its scenario can be planned, and its Python calls what there is."""
    text = (WHEEL / "description.md").read_text()
    blocks = dict(re.findall(r"^```(\w+)\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    assert nb.plan(YAML(typ="safe").load(blocks["yaml"]), "virtual").expected_trials == 70
    assert set(re.findall(r"nb\.\w+", blocks["python"])) == {"nb.run"}
    assert {"headlines", "tables"} <= set(dir(nb.Run))


def tree_of(folder: Path, *names: str) -> Path:
    """A kernel's tree with these files."""
    for name in ("COPYING", ".config", "Makefile", *names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_the_kernels_source_has_what_its_build_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = module(monkeypatch, "kernel")
    kept = ("drivers/char/random.c", "drivers/net/loopback.c", "drivers/gpu/Kconfig", "fs/open.c",
            "drivers/usb/Makefile", "fs/hostfs/hostfs_kern.c", "net/ipv4/tcp.c")  # fmt: skip
    left = ("drivers/gpu/drm.c", "drivers/net/usb/usbnet.c", "fs/xfs/xfs.h", "sound/core.c")
    tree = tree_of(tmp_path / "tree", *kept, *left)
    (tree / "link").symlink_to("Makefile")
    names = {path.relative_to(tree).as_posix() for path in kernel.needed(tree)}
    assert names == {"COPYING", ".config", "Makefile", "link", *kept}


def test_the_kernels_distribution_has_source_recipe_and_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = module(monkeypatch, "kernel")
    monkeypatch.setattr(kernel, "DIST", tmp_path / "dist")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "nashbed_kernel-0.0.1.tar.gz").touch()
    tree = tree_of(tmp_path / "tree", "net/ipv4/tcp.c")
    source = EditedSource(tree, "6.1.7", "linux-source 1", recipe_digest("linux-source 1"))
    packed = kernel.write_source(source)
    assert list((tmp_path / "dist").iterdir()) == [packed], "an earlier version is gone"
    with tarfile.open(packed) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        # Debian 12's Python has no filters yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path)
    assert {"PKG-INFO", "pyproject.toml", "meson.build", "build_kernel.py", "COPYING"} <= names
    assert {f"uml/{name}" for name in RECIPE} <= names
    assert {"tree/.config", "tree/net/ipv4/tcp.c"} <= names
    unpacked = tmp_path / packed.name.removesuffix(".tar.gz")
    project = tomllib.loads((unpacked / "pyproject.toml").read_text())["project"]
    assert (project["name"], project["license"]) == ("nashbed-kernel", "GPL-2.0-only")
    recipe = json.loads((unpacked / "recipe.json").read_text())
    assert (recipe["digest"], recipe["kept"]) == (source.digest, list(PATTERNS))
    assert recipe["left_out"] == list(EXCLUDED)


MAKE = """#!/bin/sh
echo "$@" >> calls
case "$*" in
*linux*) cd "$2" && echo program > linux && mkdir -p include scripts/mod &&
    echo a > include/a.h && echo symbols > Module.symvers ;;
esac
"""
"""A `make` that notes what it is asked for, and makes a kernel."""


def test_the_script_of_the_source_makes_what_is_looked_for(tmp_path: Path) -> None:
    source = tmp_path / "source"
    config = 'CONFIG_CC_VERSION_TEXT="gcc 12"\n'
    tree_of(source / "tree", "include/drm/x.h")
    (source / "tree" / ".config").write_text(config)
    recipe = {"release": "6.1.7", "package": "p", "digest": "d" * 64, "variables": {"A": "b"},
              "kept": [".config", "include/**/*.h"], "left_out": ["include/drm/"]}  # fmt: skip
    (source / "recipe.json").write_text(json.dumps(recipe))
    (tmp_path / "make").write_text(MAKE)
    (tmp_path / "make").chmod(0o755)
    subprocess.run(
        [sys.executable, WHEEL / "kernel" / "build_kernel.py", source, tmp_path / "kernels"],
        cwd=tmp_path, check=True, env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    folder = tmp_path / "kernels" / f"6.1.7-{'d' * 12}"
    made = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert made == {"linux", "kernel.json", "tree/.config", "tree/include/a.h"}
    record = json.loads((folder / "kernel.json").read_text())
    assert (record["release"], record["compiler"]) == ("6.1.7", "gcc 12")
    first, second = (tmp_path / "calls").read_text().splitlines()
    assert "ARCH=um A=b" in first
    assert first.endswith("olddefconfig")
    assert second.endswith("linux modules")
