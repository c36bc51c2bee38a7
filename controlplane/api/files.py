"""What a caller names: scenarios and testbeds, as files, shipped ones, objects or mappings."""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from nashbed.controlplane.config import Loaded, load_scenario, load_testbed, parse_scenario
from nashbed.controlplane.config.load import parse_testbed
from nashbed.controlplane.config.strict_yaml import parse
from nashbed.controlplane.contract.errors import ConfigError, HostError, did_you_mean
from nashbed.controlplane.contract.model import WRITTEN, ContractModel
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.strategy import CcaInFile, ProgramInFile
from nashbed.controlplane.contract.testbed import Testbed
from nashbed.controlplane.contract.units import Buffer, Duration, Rate, Share, Size
from nashbed.controlplane.machine.paths import CONFIGS, DEFAULT_TESTBED
from nashbed.controlplane.store.staging import scratch_folder
from ruamel.yaml import YAML

__all__ = [
    "Loaded",
    "ScenarioLike",
    "TestbedLike",
    "parse_changes",
    "quantity",
    "read_scenario",
    "read_testbed",
    "scenario_text",
    "shipped",
    "work_folder",
]

M = TypeVar("M", bound=ContractModel)
Q = TypeVar("Q", Rate, Duration, Buffer, Share, Size)
ScenarioLike = str | Path | Mapping[str, Any] | Scenario | Loaded[Scenario]
"""A file, the name of one in configs/scenarios, a mapping with the file's keys, an object, or one
that was read before."""
TestbedLike = str | Path | Mapping[str, Any] | Testbed | Loaded[Testbed]
"""The same of a testbed, in configs/testbeds."""


def read_scenario(what: ScenarioLike, changes: Mapping[str, Any] | None = None) -> Loaded[Scenario]:
    """Read a scenario.

    Args:
        what: A file, a shipped one's name (`quickstart`), a mapping, or an object. Files of CCAs
            that a mapping or an object names are relative to the working directory.
        changes: Path of a key -> its value instead of what is written, as `Scenario.replace` has
            it.

    Raises:
        ConfigError: One line for each mistake.
    """
    if changes:
        read = read_scenario(what)
        return parse_scenario(scenario_text(read.model.replace(changes=changes)), read.name)
    if isinstance(what, Loaded):
        return what
    if isinstance(what, Scenario):
        return Loaded(what, scenario_text(what), f"{what.name}.yaml")
    if isinstance(what, Mapping):
        return _of_mapping(parse_scenario, "scenario", what)
    return load_scenario(find_scenario(what))


def parse_changes(written: Iterable[str]) -> dict[str, Any]:
    """What `--set KEY=VALUE` says: path of a key -> its value.

    Args:
        written: Each `KEY=VALUE`, with the value as in a scenario.

    Raises:
        ConfigError: One is no such pair.
    """
    changes = {}
    for each in written:
        key, equals, value = each.partition("=")
        if not (key and equals):
            raise ConfigError(f"--set {each}: write KEY=VALUE, e.g. bottleneck.rate=50mbit")
        changes[key] = parse(value, f"--set {key}").data
    return changes


def read_testbed(what: TestbedLike | None) -> Loaded[Testbed]:
    """Read a testbed.

    Args:
        what: A file, a shipped one's name (`virtual`), a mapping, an object, or None: `virtual`.

    Raises:
        ConfigError: One line for each mistake.
    """
    if what is None:
        return load_testbed(DEFAULT_TESTBED)
    if isinstance(what, Loaded):
        return what
    if isinstance(what, Testbed):
        return Loaded(what, yaml_text(_as_written(what)), f"{what.name}.yaml")
    if isinstance(what, Mapping):
        return _of_mapping(parse_testbed, "testbed", what)
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
        name.written if isinstance(name, CcaInFile | ProgramInFile) else name
        for name in scenario.strategies
    ]
    return yaml_text(written)


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
        names = sorted(each.stem for each in path.parent.glob("*.yaml"))
        known = ", ".join(each for each in names if not each.endswith(".example"))
        examples = ", ".join(each for each in names if each.endswith(".example"))
        raise ConfigError(
            f"testbed {text!r}: there is no such file in configs/testbeds/; write one of {known}, "
            f"or the path of one that you have made of {examples}"
        )
    return path


def shipped(kind: str) -> dict[str, str]:
    """The files that nashbed brings along: name -> its title, or its description.

    Args:
        kind: `scenarios` or `testbeds`.
    """
    folder = CONFIGS / kind
    told = {}
    for path in sorted(folder.rglob("*.yaml")):
        # Only one line of each is parsed: there are hundreds.
        line = re.search(r"^(?:title|description): .*$", path.read_text("utf-8"), re.MULTILINE)
        name = str(path.relative_to(folder).with_suffix(""))
        told[name] = next(iter(YAML(typ="safe").load(line[0]).values())) if line else ""
    return told


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


def _of_mapping(
    parse: Callable[[str, str], Loaded[M]], kind: str, what: Mapping[str, Any]
) -> Loaded[M]:
    """What a mapping says; its mistakes name no file and no line, for it has none."""
    name = str(what.get("name", kind))
    try:
        return parse(yaml_text(what), f"{name}.yaml")
    except ConfigError as error:
        place = rf"^{re.escape(name)}\.yaml(:\d+)?"
        message = re.sub(place, f"{kind} {name}", error.message, flags=re.MULTILINE)
        raise ConfigError(message) from error


def _as_written(model: ContractModel) -> dict[str, Any]:
    """The keys of a file that a model came from, or might have come from."""
    return model.model_dump(mode="json", exclude_unset=True, context=WRITTEN)


def yaml_text(data: Mapping[str, Any]) -> str:
    """The YAML file that says the same as a mapping, its keys in the mapping's order."""
    writer = YAML(typ="safe", pure=True)
    writer.default_flow_style = False
    writer.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # its types say None
    text = io.StringIO()
    writer.dump(dict(data), text)
    return text.getvalue()


def write_template(
    template: Path, file: Path, folder: Path, changes: Mapping[str, str] | None = None
) -> Path:
    """Write a file for its user to change; one that is there stays as it is.

    Args:
        template: What it begins as.
        file: Its name.
        folder: Where it is written.
        changes: Text of it -> text in its place.

    Returns:
        The file.

    Raises:
        ConfigError: There is such a file, it cannot be written, or its name has a folder.
    """
    if str(file.parent) != ".":
        raise ConfigError(f"{file}: write a name without a folder; it is written in this one")
    path, text = folder / file, template.read_text(encoding="utf-8")
    for old, new in (changes or {}).items():
        text = text.replace(old, new)
    try:
        with path.open("x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError as error:
        raise ConfigError(f"{path}: exists already; take another name, or remove it") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    return path
