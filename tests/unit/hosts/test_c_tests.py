"""The unit tests in C: what `meson test -C build/hosts` runs."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.conftest import BUILD

LISTED = BUILD / "hosts" / "meson-info" / "intro-tests.json"
"""What Meson says of the build's tests; there is none before `make build`."""
TESTS = json.loads(LISTED.read_text()) if LISTED.is_file() else []


@pytest.mark.dataplane
@pytest.mark.parametrize("command", [pytest.param(test["cmd"], id=test["name"]) for test in TESTS])
def test_passes(command: list[str]) -> None:
    if not Path(command[0]).is_file():
        pytest.skip(f"{command[0]} is not built: run `make test-build`")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
