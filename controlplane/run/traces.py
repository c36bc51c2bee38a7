"""The trace of a run's scenario: kept with it, and the same again."""

from __future__ import annotations

import shutil
from pathlib import Path

from ..config import Loaded
from ..config.trace import FOLDER, trace_file
from ..contract.errors import ConfigError
from ..contract.manifest import Manifest
from ..contract.scenario import Scenario
from ..store.errors import disk_errors


def keep_traces(folder: Path, scenario: Loaded[Scenario]) -> dict[str, str]:
    """Copy a scenario's trace into a run directory; returns its digest by name.

    Args:
        folder: The run directory.
        scenario: The scenario.
    """
    trace = scenario.model.bottleneck.trace
    if trace is None:
        return {}
    source = trace_file(scenario.name, trace)
    with disk_errors(folder):
        (folder / FOLDER).mkdir(exist_ok=True)
        shutil.copyfile(source, folder / FOLDER / source.name)
    return {source.name: trace.content.digest}


def require_traces(scenario: Loaded[Scenario], manifest: Manifest) -> None:
    """Refuse a run whose trace is not as it was: results depend on it.

    Args:
        scenario: The scenario, loaded from the run directory.
        manifest: The run's manifest.

    Raises:
        ConfigError: It was changed.
    """
    trace = scenario.model.bottleneck.trace
    if trace is None:
        return
    content = trace.content
    if manifest.traces.get(content.name) != content.digest:
        raise ConfigError(
            f"{scenario.name}: bottleneck.trace: {trace.file} was changed after the run started; "
            "restore it, or start a new run"
        )
