"""The files that a run's scenario names for their content: kept with it, and the same again."""

import hashlib
import shutil
from pathlib import Path

from ..config import Loaded, load_scenario
from ..contract.errors import ConfigError
from ..contract.manifest import FileFacts, Manifest
from ..contract.scenario import Scenario
from ..store.errors import disk_errors
from ..store.run_directory import RunDirectory

FOLDER = "files"
"""Folder of a run directory with copies of them."""


def keep_files(folder: Path, scenario: Loaded[Scenario]) -> dict[str, FileFacts]:
    """Copy what a scenario names into a run directory; returns what its manifest says.

    Args:
        scenario: The scenario, which stays as it is: the manifest says which copy is whose.
    """
    kept: dict[str, FileFacts] = {}
    with disk_errors(folder):
        for number, (written, source) in enumerate(scenario.files.items()):
            copy = Path(FOLDER) / str(number) / Path(written).name
            (folder / copy).parent.mkdir(parents=True)
            shutil.copyfile(source, folder / copy)
            kept[written] = FileFacts(kept=str(copy), digest=_digest(folder / copy))
    return kept


def load_kept(directory: RunDirectory) -> Loaded[Scenario]:
    """Load the scenario of a run, with the files that it began with.

    Raises:
        ConfigError: One of them is missing or was changed: results depend on it.
    """
    manifest = directory.read("manifest.json", Manifest)
    name = directory.path / "scenario.yaml"

    def find(written: str) -> Path:
        facts = manifest.files.get(written)
        if facts is None:
            raise ConfigError(f"{name}: {written}: is not kept with this run; start a new run")
        path = directory.path / facts.kept
        if path.is_file() and _digest(path) != facts.digest:
            raise ConfigError(
                f"{path}: was changed after the run started; restore it, or start a new run"
            )
        return path

    return load_scenario(name, find)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
