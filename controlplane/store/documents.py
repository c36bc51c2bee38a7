"""Read and write the small documents of a run directory (JSON, YAML) as contract models.

The last key of a JSON document is `sha256`, the digest of all that stands before it: a document
that is replaced again and again cannot be in a list of digests that is always right. Documents that
somebody wrote by hand have none.
"""

import hashlib
import json
import re
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
_KEY = "sha256"
_SIGNED = re.compile(rf'(.*),\n "{_KEY}": "([0-9a-f]{{64}})"\n}}\n', re.DOTALL)


def read_document(path: Path, model: type[D], remedy: str) -> D:
    """Read a JSON document.

    Args:
        model: The contract model of the document; its `format` is the only one that is read.
        remedy: What a person should do when the file is missing or damaged.

    Raises:
        RunError: The file is missing, damaged or of another version.
    """
    try:
        raw = _unchanged(path.read_text(encoding="utf-8"))
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
        content = document.model_dump_json(indent=1).removesuffix("\n}")
        write_whole(path, f'{content},\n "{_KEY}": "{_text_digest(content)}"\n}}\n')


def _unchanged(text: str) -> Any:
    """A JSON document without its digest; raises ValueError where it has another one."""
    raw = json.loads(text)
    if isinstance(raw, dict) and _KEY in raw:
        found = _SIGNED.fullmatch(text)
        if found is None or _text_digest(found[1]) != found[2]:
            raise ValueError(f"it is not what was written; without its key {_KEY} it is read as is")
        del raw[_KEY]
    return raw


def _text_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


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
