"""Where programs are looked for, and what is said where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest
from nashbed.controlplane.contract.errors import PrerequisiteError
from nashbed.controlplane.machine import paths


def test_a_missing_program_is_to_be_built_in_a_checkout_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nashbed-dataplane"
    with pytest.raises(PrerequisiteError, match="not built; run `make build`"):
        paths.built(program)
    monkeypatch.setattr(paths, "IS_INSTALLED", True)
    with pytest.raises(PrerequisiteError, match="nashbed-dataplane: not in the wheel"):
        paths.built(program)
    program.touch()
    assert paths.built(program) == program
