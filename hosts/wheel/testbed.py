# SPDX-License-Identifier: Apache-2.0
"""The distribution `nashbed`: a wheel for machines on which virtual time is enough.

In the wheel everything is where a checkout has it, below the package `nashbed`: so the same code
finds it in both. meson-python builds what hosts/meson.build builds.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from distribution import BACKEND, REPOSITORY, STAGE, copy_tracked, settings, write_wheel

DATA = ("configs", "p4src", "hosts/cc", "hosts/dpdk/core", "hosts/pktgen")
"""Folders that Python reads at run time, besides its own packages."""
DESCRIPTION = REPOSITORY / "hosts" / "wheel" / "description.md"
"""What a package index shows: the repository's README leads into files that it has not."""
FLUID = "analysis/models/fluid/core"
LICENCES = ("LICENSE", "LICENSES")
LINKED = {
    "libbsd-dev": ("BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"),
    "libdpdk-dev": ("BSD-3-Clause",),
    "libjansson-dev": ("MIT",),
    "libmd-dev": ("BSD-2-Clause", "BSD-3-Clause", "Beerware", "ISC"),
    "libnuma-dev": ("LGPL-2.1-only",),
}
"""Debian packages whose code is in the wheel -> its licences; their texts go with it."""
OURS = 'license = "Apache-2.0"\n'
MESON_OPTIONS = """\
[tool.meson-python.args]
setup = ["-Dwheel=true", "-Db_lto=true", "-Db_ndebug=false"]
"""
"""As the Makefile configures a checkout, for the same trials by the same code."""


def make() -> Path:
    """Write the wheel into dist/; returns it."""
    work = STAGE / "nashbed"
    shutil.rmtree(work, ignore_errors=True)
    return write_wheel(lay_out(work / "source"), work / "wheel")


def lay_out(source: Path) -> Path:
    """Copy what is tracked; returns the folder with the project that meson-python builds."""
    copy_tracked(("analysis", "controlplane", "hosts", *DATA), source)
    project = source / "hosts"
    shutil.copytree(source / FLUID, project / "subprojects" / "fluid")
    for name, place in (package_folders() | {name: name for name in DATA}).items():
        shutil.copytree(source / place, source / "package" / name, dirs_exist_ok=True)
    shutil.copy(DESCRIPTION, project / "README.md")
    copy_tracked(LICENCES, project)
    for package in LINKED:
        text = Path("/usr/share/doc") / package / "copyright"
        shutil.copy(text, project / "LICENSES" / f"{package}.txt")
    (project / "pyproject.toml").write_text(BACKEND + metadata() + MESON_OPTIONS)
    return project


def package_folders() -> dict[str, str]:
    """Where a package goes below `nashbed` -> the folder that it is."""
    folders = settings()["tool"]["setuptools"]["package-dir"]
    return {name.removeprefix("nashbed").lstrip("."): place for name, place in folders.items()}


def metadata() -> str:
    """What pyproject.toml says of the distribution, without what belongs to other tools."""
    text = (REPOSITORY / "pyproject.toml").read_text()
    tables = [table for table in re.split(r"(?m)^(?=\[)", text) if table.startswith("[project")]
    files = 'license-files = ["LICENSE", "LICENSES/*"]\n'
    text = "".join(tables).replace("dependencies = [", files + "dependencies = [", 1)
    others = sorted({licence for licences in LINKED.values() for licence in licences})
    return text.replace(OURS, f'license = "{" AND ".join(["Apache-2.0", *others])}"\n', 1)
