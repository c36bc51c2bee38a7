"""Load scenario, testbed and cluster files, and export their JSON schemas for editors."""

import hashlib
import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import AliasChoices, BaseModel, ValidationError

from ..contract.battery import Battery
from ..contract.cluster import Cluster
from ..contract.errors import ConfigError
from ..contract.functions import load_function
from ..contract.model import WRITTEN, ContractModel, JsonObject
from ..contract.program import FlowProgram
from ..contract.scenario import Scenario
from ..contract.sweep import UserUtility
from ..contract.testbed import Testbed
from .named_files import FindFile, NamedFiles
from .strict_yaml import KeyPath, parse, shown, to_config_error

LOG = logging.getLogger(__name__)
M = TypeVar("M", bound=ContractModel)
KINDS: dict[str, type[ContractModel]] = {
    "scenario": Scenario,
    "testbed": Testbed,
    "cluster": Cluster,
    "battery": Battery,
    "program": FlowProgram,
}


@dataclass(frozen=True)
class Loaded(Generic[M]):
    """A model and the file it came from.

    Attributes:
        model: The validated model.
        text: The file, verbatim.
        name: The file's name for messages.
        files: Path of a file that a scenario names for its content, as written -> where it is.
    """

    model: M
    text: str
    name: str
    files: Mapping[str, Path] = field(default_factory=dict)

    def __repr__(self) -> str:
        """What it is, and where from."""
        return f"<{type(self.model).__name__} of {self.name}>"

    @property
    def digest(self) -> str:
        """SHA-256 of the file's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def load_scenario(path: Path, find: FindFile | None = None) -> Loaded[Scenario]:
    """Load a scenario file; see `parse_scenario`."""
    return parse_scenario(_read(path, "scenario"), str(path), find)


def load_testbed(path: Path) -> Loaded[Testbed]:
    """Load a testbed file; raises ConfigError with one line for each mistake."""
    return parse_testbed(_read(path, "testbed"), str(path))


def load_cluster(path: Path) -> Loaded[Cluster]:
    """Load a cluster file; raises ConfigError with one line for each mistake."""
    return parse_cluster(_read(path, "cluster"), str(path))


def load_battery(path: Path) -> Loaded[Battery]:
    """Load a battery's manifest; raises ConfigError with one line for each mistake."""
    return _parse(_read(path, "battery"), str(path), Battery)


def parse_scenario(text: str, name: str, find: FindFile | None = None) -> Loaded[Scenario]:
    """Parse a scenario from text, and read the files that it names for their content.

    Args:
        name: Its file, which the others are relative to.
        find: Where a file is instead.

    Raises:
        ConfigError: One line for each mistake.
    """
    loaded, files = _parse(text, name, Scenario), NamedFiles(name, find)
    return replace(loaded, model=files.read(loaded.model), files=files.found)


def parse_testbed(text: str, name: str) -> Loaded[Testbed]:
    """Parse a testbed from text."""
    return _parse(text, name, Testbed)


def parse_cluster(text: str, name: str) -> Loaded[Cluster]:
    """Parse a cluster from text; its paths are as written."""
    return _parse(text, name, Cluster)


def check_utility(scenario: Scenario, where: str) -> None:
    """Refuse a scenario whose own utility could not be called at the end of the run.

    Args:
        where: File name for messages.

    Raises:
        ConfigError: The function cannot be imported or takes other arguments.
    """
    utility = scenario.equilibrium.utility
    if not isinstance(utility, UserUtility):
        return
    try:
        load_function(utility.function, arguments=1)
    except ConfigError as error:
        raise ConfigError(f"{where}: equilibrium.utility.function: {error.message}") from error


def render(model: type[ContractModel]) -> str:
    """The schema of a model as text, the same on every run."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema |= model.model_json_schema()
    return json.dumps(schema, indent=2, sort_keys=True) + "\n"


def write_schemas(folder: Path) -> list[Path]:
    """Write every schema into a folder; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind, model in KINDS.items():
        path = folder / f"{kind}.schema.json"
        path.write_text(render(model), encoding="utf-8")
        written.append(path)
    return written


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
        raise ConfigError(f"{name}:1: must be a mapping of keys; see docs/how-to/scenario.md")
    try:
        loaded = Loaded(model.model_validate(source.data, context=WRITTEN), text, name)
    except ValidationError as error:
        _refuse_another_kind(source.data, name, model)
        raise to_config_error(error, source, _schema(model)) from error
    for path, new in _renamed(loaded.model, source.data, ()):
        LOG.warning("%s: %s: is called %s now; write that", source.where(path), shown(path), new)
    return loaded


def _renamed(part: object, data: Any, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Where keys stand by the names that they had in the version before, and what they are now."""
    if isinstance(part, tuple) and isinstance(data, list):
        for index, (each, written) in enumerate(zip(part, data, strict=False)):
            yield from _renamed(each, written, (*path, index))
    if not isinstance(part, BaseModel) or not isinstance(data, dict):
        return
    for name, info in type(part).model_fields.items():
        key = info.alias or name
        if isinstance(info.validation_alias, AliasChoices):
            for old in info.validation_alias.choices[1:]:
                if old in data:
                    yield (*path, str(old)), name
        if key in data:
            yield from _renamed(getattr(part, name), data[key], (*path, key))


def _refuse_another_kind(data: JsonObject, name: str, model: type[ContractModel]) -> None:
    """Raise ConfigError if a file's keys are those of another kind of file."""
    kinds = {known: kind for kind, known in KINDS.items()}
    for other, kind in kinds.items():
        if set(data) <= set(other.model_fields) and set(data) - set(model.model_fields):
            raise ConfigError(f"{name}: is a {kind} file; a {kinds[model]} file is wanted here")


@cache
def _schema(model: type[ContractModel]) -> JsonObject:
    return model.model_json_schema()
