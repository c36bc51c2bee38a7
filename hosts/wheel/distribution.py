# SPDX-License-Identifier: Apache-2.0
"""What both distributions are made with: where they go, and other people's programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
STAGE = REPOSITORY / "build" / "wheel"
DIST = REPOSITORY / "dist"
BACKEND = """\
[build-system]
requires = ["meson-python>=0.17"]
build-backend = "mesonpy"

"""


def settings() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((REPOSITORY / "pyproject.toml").read_text())


def copy_tracked(places: tuple[str, ...], to: Path) -> None:
    """Copy files that git tracks, or would, as they are now."""
    for name in tracked(places):
        if (REPOSITORY / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, to / name)


def tracked(places: tuple[str, ...]) -> Iterator[str]:
    """Names of the files in folders that are not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *places]
    listed = subprocess.run(command, cwd=REPOSITORY, check=True, capture_output=True, text=True)
    yield from dict.fromkeys(name for name in listed.stdout.split("\0") if name)


def write_wheel(source: Path, work: Path) -> Path:
    """Build a source's wheel, and put libraries into it that other machines may lack.

    It is marked as good for every Python, for no Python loads its programs.

    Args:
        source: An unpacked source, or a source distribution.

    Returns:
        The wheel in dist/.
    """
    run("pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", work, source)
    (wheel,) = work.glob("*.whl")
    run("wheel", "tags", "--remove", "--python-tag", "py3", "--abi-tag", "none", wheel)
    (wheel,) = work.glob("*.whl")
    name = wheel.name.partition("-py3-")[0]
    remove(DIST.glob(f"{name.partition('-')[0]}-*.whl"))
    run("auditwheel", "repair", "--wheel-dir", DIST, wheel)
    (finished,) = DIST.glob(f"{name}-py3-*.whl")
    return finished


def remove(earlier: Iterable[Path]) -> None:
    """Remove what was made before, of any version: all that is in dist/ is published together."""
    for path in earlier:
        path.unlink()


def run(*command: str | Path) -> None:
    """Run a program of this Python's environment; its programs go before the machine's."""
    own = Path(sys.executable).parent
    path = f"{own}{os.pathsep}{os.environ['PATH']}"
    args = [str(word) for word in command]
    subprocess.run([str(own / args[0]), *args[1:]], check=True, env=os.environ | {"PATH": path})
