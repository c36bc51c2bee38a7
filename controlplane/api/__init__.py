"""nashbed from Python: what is named in `__all__` is what callers may rely on.

>>> import nashbed as nb
>>> scenario = nb.Scenario(
...     name="mine",
...     title="Six flows at 50 Mbit/s",
...     bottleneck=nb.Bottleneck(rate="50mbit", buffer="2bdp"),
...     flows=[nb.FlowGroup(name="main", count=6, base_rtt="30ms")],
...     strategies=["cubic", "bbr"],
...     duration="60s",
...     warmup="10s",
... )
>>> nb.plan(scenario, "virtual").estimated_seconds
>>> with nb.start(scenario, "virtual") as running:
...     for progress in running:
...         print(progress.finished, "of", progress.total)
...     run = running.finish()
>>> run.headlines
>>> run.trials[0].postcards.filter(pl.col("flow") == 0).collect()

The command line does what these functions do. Names are imported when they are first used: a
process that only asks for a quantity does not wait for the analysis.
"""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nashbed.analysis.metrics import METRICS, Metric
    from nashbed.analysis.nash.of_run import SettingEquilibria
    from nashbed.controlplane.contract.errors import (
        ConfigError,
        HostError,
        Interrupted,
        NashbedError,
        TargetError,
    )
    from nashbed.controlplane.contract.flow_group import FlowGroup
    from nashbed.controlplane.contract.plan import Plan
    from nashbed.controlplane.contract.scenario import Scenario
    from nashbed.controlplane.contract.scenario_keys import Bottleneck, Hosts, Telemetry
    from nashbed.controlplane.contract.sweep import Equilibrium, Sweep
    from nashbed.controlplane.contract.testbed import Testbed
    from nashbed.controlplane.contract.units import Buffer, Duration, Rate, Share, Size
    from nashbed.controlplane.machine.log import shown_log
    from nashbed.controlplane.run.progress import Snapshot, TimeLeft
    from nashbed.controlplane.store.errors import RunError

    from . import aqm, atlas, captures, cc, doctor, figures, kernels, models, tables, testbeds
    from .files import Loaded, read_scenario, read_testbed, scenario_text
    from .planning import Preview, plan, preview
    from .running import (
        RunInProgress,
        VerificationInProgress,
        Verified,
        resume,
        run,
        start,
        verify,
    )
    from .runs import CheckedRun, Run, Trial, check_files, compare, equivalence, open_run

__all__ = [
    "METRICS",
    "Bottleneck",
    "Buffer",
    "CheckedRun",
    "ConfigError",
    "Duration",
    "Equilibrium",
    "FlowGroup",
    "HostError",
    "Hosts",
    "Interrupted",
    "Loaded",
    "Metric",
    "NashbedError",
    "Plan",
    "Preview",
    "Rate",
    "Run",
    "RunError",
    "RunInProgress",
    "Scenario",
    "SettingEquilibria",
    "Share",
    "Size",
    "Snapshot",
    "Sweep",
    "TargetError",
    "Telemetry",
    "Testbed",
    "TimeLeft",
    "Trial",
    "VerificationInProgress",
    "Verified",
    "aqm",
    "atlas",
    "captures",
    "cc",
    "check_files",
    "compare",
    "doctor",
    "equivalence",
    "figures",
    "kernels",
    "models",
    "open_run",
    "plan",
    "preview",
    "read_scenario",
    "read_testbed",
    "resume",
    "run",
    "scenario_text",
    "shown_log",
    "start",
    "tables",
    "testbeds",
    "verify",
]


@cache
def _homes() -> dict[str, str]:
    """Public name -> the module that has it, as the imports for type checkers above say."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    return {
        each.name: f"nashbed.{node.module}" if node.level else str(node.module)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for each in node.names
    }


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a name of `__all__` when it is first used."""
        if name not in __all__:
            raise AttributeError(f"module 'nashbed' has no attribute {name!r}")
        if name not in _homes():
            return import_module(f"nashbed.{name}")
        value = getattr(import_module(_homes()[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What a caller sees."""
    return sorted(__all__)
