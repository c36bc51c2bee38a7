"""Read and write the small documents of a run directory (JSON, YAML) as contract models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ..contract.model import ContractModel
from ..contract.scenario import Scenario
from ..contract.testbed import TapFiles
from .errors import damaged, disk_errors
from .staging import write_whole

D = TypeVar("D", bound=ContractModel)


def read_document(path: Path, model: type[D], remedy: str) -> D:
    """Read a JSON document.

    Args:
        path: The file.
        model: The contract model of the document; its `format` is the only one that is read.
        remedy: What a person should do when the file is missing or damaged.

    Raises:
        RunError: The file is missing, damaged or of another version.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        other_version = _other_version(raw, model.model_fields["format"].default)
        if not other_version:
            return model.model_validate(raw)
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, error, remedy) from error
    raise damaged(path, other_version, f"use the version that wrote it, or {remedy}")


def write_document(path: Path, document: ContractModel) -> None:
    """Write a JSON document; a reader sees the whole old file or the whole new one.

    Raises:
        DiskFullError: There is no space for it.
    """
    with disk_errors(path):
        write_whole(path, document.model_dump_json(indent=1) + "\n", durable=True)


def read_scenario(path: Path) -> Scenario:
    """Read the run's own copy of its scenario.

    Raises:
        RunError: The file is missing or damaged.
    """
    try:
        return Scenario.model_validate(_yaml(path))
    except (OSError, ValueError, RecursionError, YAMLError) as error:
        remedy = "restore it from the scenario that was run, or run again"
        raise damaged(path, error, remedy) from error


def read_taps(path: Path) -> TapFiles | None:
    """Read the hardware taps of the run's own copy of its testbed file; None: it has none.

    Raises:
        RunError: The file is damaged.
    """
    if not path.is_file():
        return None
    try:
        raw = _yaml(path)
        capture = raw.get("capture") if isinstance(raw, dict) else None
        return None if capture is None else TapFiles.model_validate(capture)
    except (OSError, ValueError, RecursionError, YAMLError) as error:
        remedy = "restore it from the testbed file that was used, or run again"
        raise damaged(path, error, remedy) from error


def _yaml(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def _other_version(raw: Any, version: int) -> str:
    """Say which format a document has instead of `version`; empty: it has that one."""
    if not isinstance(raw, dict):
        raise ValueError("it is not a JSON object")
    number = raw.get("format")
    if number == version:
        return ""
    has = "has no format number" if number is None else f"has format {number!r}"
    return f"{has}, this version reads {version}"
