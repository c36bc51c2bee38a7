"""The small documents of a run directory (JSON, YAML) as contract models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ..contract.scenario import Scenario
from ..contract.testbed import TapFiles
from .errors import damaged

M = TypeVar("M", bound=BaseModel)


def read_json(path: Path, model: type[M], version: int, remedy: str) -> M:
    """Read a JSON document that carries a `format` number.

    Args:
        path: The file.
        model: The contract model it must fit.
        version: The only `format` that this version reads.
        remedy: What a person should do when the file is damaged.

    Raises:
        RunError: The file is missing, damaged or of another version.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise damaged(path, _plain(error), remedy) from error
    _check_version(path, raw, version)
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        raise damaged(path, error, remedy) from error


def read_scenario(path: Path) -> Scenario:
    """Read the run's own copy of its scenario.

    Raises:
        RunError: The file is missing or damaged.
    """
    remedy = "restore it from the scenario that was run, or run again"
    try:
        return Scenario.model_validate(_yaml(path))
    except (OSError, UnicodeDecodeError, YAMLError, ValidationError) as error:
        problem = error if isinstance(error, ValidationError) else _plain(error)
        raise damaged(path, problem, remedy) from error


def read_taps(path: Path) -> TapFiles | None:
    """Read the hardware taps of the run's own copy of its testbed file; None: it has none.

    Raises:
        RunError: The file is damaged.
    """
    if not path.is_file():
        return None
    remedy = "restore it from the testbed file that was used, or run again"
    try:
        raw = _yaml(path)
        named = raw.get("capture") if isinstance(raw, dict) else None
        return None if named is None else TapFiles.model_validate(named)
    except (OSError, UnicodeDecodeError, YAMLError, ValidationError) as error:
        problem = error if isinstance(error, ValidationError) else _plain(error)
        raise damaged(path, problem, remedy) from error


def _yaml(path: Path) -> Any:
    return YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))


def _check_version(path: Path, raw: Any, version: int) -> None:
    found = raw.get("format") if isinstance(raw, dict) else None
    if found != version:
        said = "has no format number" if found is None else f"has format {found!r}"
        raise damaged(
            path, f"{said}, this version reads {version}", "use the version that wrote it"
        )


def _plain(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "is missing"
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror})"
    return f"is damaged ({str(error).splitlines()[0]})"
