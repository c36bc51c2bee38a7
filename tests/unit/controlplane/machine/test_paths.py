"""Where programs are looked for, and what is said where they are not."""

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


def test_a_wheel_without_a_kernel_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert paths.guest_configuration().is_file()
    monkeypatch.setattr(paths, "GUEST_CONFIGURATION", tmp_path / "kernel.config")
    with pytest.raises(PrerequisiteError, match=r"`pip install nashbed_kernel-\*\.whl`"):
        paths.guest_configuration()
