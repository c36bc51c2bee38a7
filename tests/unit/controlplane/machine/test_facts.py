"""What the manifest says of the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.machine.host import facts


def test_a_clone_on_a_machine_without_git_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert facts.git(tmp_path) == {}
