"""Load scenario, testbed and cluster files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from ..contract.cluster import Cluster
from ..contract.errors import ConfigError
from ..contract.model import ContractModel
from ..contract.scenario import Scenario
from ..contract.testbed import Testbed
from .explain import to_config_error
from .source import parse

M = TypeVar("M", bound=ContractModel)


@dataclass(frozen=True)
class Loaded(Generic[M]):
    """A model and the file it came from.

    Attributes:
        model: The validated model.
        text: The file, verbatim.
        name: The file's name for messages.
    """

    model: M
    text: str
    name: str

    @property
    def digest(self) -> str:
        """SHA-256 of the file's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def load_scenario(path: Path) -> Loaded[Scenario]:
    """Load a scenario file; raises ConfigError with one line for each mistake."""
    return parse_scenario(_read(path, "scenario"), str(path))


def load_testbed(path: Path) -> Loaded[Testbed]:
    """Load a testbed file; raises ConfigError with one line for each mistake."""
    return parse_testbed(_read(path, "testbed"), str(path))


def load_cluster(path: Path) -> Loaded[Cluster]:
    """Load a cluster file; raises ConfigError with one line for each mistake."""
    return parse_cluster(_read(path, "cluster"), str(path))


def parse_scenario(text: str, name: str) -> Loaded[Scenario]:
    """Parse a scenario from text."""
    return _parse(text, name, Scenario)


def parse_testbed(text: str, name: str) -> Loaded[Testbed]:
    """Parse a testbed from text."""
    return _parse(text, name, Testbed)


def parse_cluster(text: str, name: str) -> Loaded[Cluster]:
    """Parse a cluster from text; its paths are as written."""
    return _parse(text, name, Cluster)


def _read(path: Path, kind: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such {kind} file; see configs/{kind}s/") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not UTF-8 text; a {kind} is a YAML file") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error


def _parse(text: str, name: str, model: type[M]) -> Loaded[M]:
    source = parse(text, name)
    if not isinstance(source.data, dict):
        raise ConfigError(f"{name}:1: must be a mapping of keys; see configs/README.md")
    try:
        return Loaded(model.model_validate(source.data), text, name)
    except ValidationError as error:
        raise to_config_error(error, source, _schema(model)) from error


@cache
def _schema(model: type[ContractModel]) -> dict[str, Any]:
    return model.model_json_schema()
