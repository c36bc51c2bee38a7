"""The unit tests in C: what `meson test -C build/hosts` runs."""

from __future__ import annotations

import json
import subprocess
from functools import cache

import pytest
from tests.conftest import BUILD

HOSTS = BUILD / "hosts"


@cache
def c_tests() -> dict[str, list[str]]:
    """Name -> command of each test that the build has; none where it is not built."""
    if not (HOSTS / "build.ninja").is_file():
        return {}
    told = subprocess.run(
        ["meson", "introspect", "--tests", str(HOSTS)], capture_output=True, text=True, check=True
    )
    return {test["name"]: test["cmd"] for test in json.loads(told.stdout)}


@pytest.mark.dataplane
@pytest.mark.parametrize("name", c_tests())
def test_passes(name: str) -> None:
    done = subprocess.run(c_tests()[name], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
