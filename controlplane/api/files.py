"""What a caller names: scenarios and testbeds, as files, shipped ones, objects or mappings."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from nashbed.controlplane.config import Loaded, load_scenario, load_testbed, parse_scenario
from nashbed.controlplane.config.load import parse_testbed
from nashbed.controlplane.contract.errors import ConfigError, HostError, did_you_mean
from nashbed.controlplane.contract.model import ContractModel
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.strategy import CcaInFile
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import Buffer, Duration, Rate, Share, Size
from nashbed.controlplane.machine.paths import CONFIGS, DEFAULT_TESTBED, VIRTUAL_TESTBED
from nashbed.controlplane.store.staging import scratch_folder
from ruamel.yaml import YAML

__all__ = [
    "Loaded",
    "ScenarioLike",
    "TestbedLike",
    "quantity",
    "read_scenario",
    "read_testbed",
    "scenario_text",
    "work_folder",
]

Q = TypeVar("Q", Rate, Duration, Buffer, Share, Size)
ScenarioLike = str | Path | Mapping[str, Any] | Scenario | Loaded[Scenario]
"""A file, the name of one in configs/scenarios, a mapping with the file's keys, an object, or one
that was read before."""
TestbedLike = str | Path | Mapping[str, Any] | Testbed | Loaded[Testbed]
"""The same of a testbed, in configs/testbeds."""


def read_scenario(what: ScenarioLike) -> Loaded[Scenario]:
    """Read a scenario.

    Args:
        what: A file, a shipped one's name (`quickstart`), a mapping, or an object. Files of CCAs
            that a mapping or an object names are relative to the working directory.

    Raises:
        ConfigError: One line for each mistake.
    """
    if isinstance(what, Loaded):
        return what
    if isinstance(what, Scenario):
        return Loaded(what, scenario_text(what), f"{what.name}.yaml")
    if isinstance(what, Mapping):
        return parse_scenario(_yaml(dict(what)), f"{what.get('name', 'scenario')}.yaml")
    return load_scenario(find_scenario(what))


def read_testbed(what: TestbedLike | None) -> Loaded[Testbed]:
    """Read a testbed.

    Args:
        what: A file, a shipped one's name (`virtual`), a mapping, an object, or None: the one that
            suits this user, `embedded` for root, else `virtual`.

    Raises:
        ConfigError: One line for each mistake.
    """
    if what is None:
        return load_testbed(usual_testbed())
    if isinstance(what, Loaded):
        return what
    if isinstance(what, Testbed):
        return Loaded(what, _yaml(_as_written(what)), f"{what.name}.yaml")
    if isinstance(what, Mapping):
        return parse_testbed(_yaml(dict(what)), f"{what.get('name', 'testbed')}.yaml")
    return load_testbed(find_testbed(what))


def quantity(kind: type[Q], name: str, value: str | Q) -> Q:
    """Read a quantity such as `50mbit`; one that is read already stays as it is.

    Args:
        kind: Which quantity.
        name: What it was given as, an argument or an option.
        value: The text.

    Raises:
        ConfigError: The text is not such a quantity; the message begins with the name.
    """
    if not isinstance(value, str):
        return value
    try:
        return kind.parse(value)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error


def scenario_text(scenario: Scenario) -> str:
    """A scenario as the YAML file that says the same; what was left out stays left out."""
    written = _as_written(scenario)
    written["strategies"] = [
        name.path if isinstance(name, CcaInFile) else name for name in scenario.strategies
    ]
    return _yaml(written)


def find_scenario(name: str | Path) -> Path:
    """A scenario file: a path, or a bare name of one that is shipped.

    Raises:
        ConfigError: There is none, but one of nearly that name is shipped.
    """
    folder, path = CONFIGS / "scenarios", Path(name)
    if path.exists():
        return path
    if (shipped := folder / f"{name}.yaml").is_file():
        return shipped
    names = (str(each.relative_to(folder).with_suffix("")) for each in folder.rglob("*.yaml"))
    if hint := did_you_mean(str(name), names):
        raise ConfigError(f"{name}: no such scenario file; {hint}see configs/scenarios/")
    return path


def find_testbed(name: str | Path) -> Path:
    """A testbed file: a path, or a bare name of one that is shipped."""
    text = str(name)
    if "/" in text or text.endswith((".yaml", ".yml")):
        return Path(name)
    path = CONFIGS / "testbeds" / f"{name}.yaml"
    if not path.exists():
        known = sorted(p.stem for p in path.parent.glob("*.yaml") if "example" not in p.name)
        raise ConfigError(
            f"testbed {text!r}: there is no such file in configs/testbeds/; write one of "
            f"{', '.join(known)}, or a path"
        )
    return path


def usual_testbed() -> Path:
    """The testbed file that this user can run on."""
    return DEFAULT_TESTBED if os.geteuid() == 0 else VIRTUAL_TESTBED


@contextmanager
def work_folder(keep: str | Path | None = None) -> Iterator[Path]:
    """A new folder for logs and raw measurements.

    Args:
        keep: Where it is and stays; None: it is removed afterwards.

    Raises:
        ConfigError: There is such a folder.
        HostError: It cannot be made.
    """
    if keep is None:
        with scratch_folder("work") as folder:
            yield folder
        return
    kept = Path(keep)
    try:
        kept.mkdir(parents=True)
    except FileExistsError as error:
        raise ConfigError(f"{kept}: already exists; keep it in a new folder") from error
    except OSError as error:
        raise HostError(f"{kept}: cannot be made: {error.strerror}") from error
    yield kept.resolve()


def _as_written(model: ContractModel) -> dict[str, Any]:
    """The keys of a file that a model came from, or might have come from."""
    return model.model_dump(mode="json", exclude_unset=True)


def _yaml(data: Mapping[str, Any]) -> str:
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # its types say None
    text = io.StringIO()
    writer.dump(data, text)
    return text.getvalue()


def write_template(template: Path, file: Path, folder: Path) -> Path:
    """Write a file for its user to change; one that is there stays as it is.

    Args:
        template: What it begins as.
        file: Its name.
        folder: Where it is written.

    Returns:
        The file.

    Raises:
        ConfigError: There is such a file, it cannot be written, or its name has a folder.
    """
    if str(file.parent) != ".":
        raise ConfigError(f"{file}: write a name without a folder; it is written in this one")
    path, text = folder / file, template.read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError as error:
        raise ConfigError(f"{path}: exists already; take another name, or remove it") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    return path
