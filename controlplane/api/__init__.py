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

from importlib import import_module
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

_MODULES = {
    "nashbed.analysis.metrics": ("METRICS", "Metric"),
    "nashbed.analysis.nash.of_run": ("SettingEquilibria",),
    "nashbed.controlplane.contract.errors": (
        "ConfigError", "HostError", "Interrupted", "NashbedError", "TargetError",
    ),
    "nashbed.controlplane.contract.flow_group": ("FlowGroup",),
    "nashbed.controlplane.contract.plan": ("Plan",),
    "nashbed.controlplane.contract.scenario": ("Scenario",),
    "nashbed.controlplane.contract.scenario_keys": ("Bottleneck", "Hosts", "Telemetry"),
    "nashbed.controlplane.contract.sweep": ("Equilibrium", "Sweep"),
    "nashbed.controlplane.contract.testbed": ("Testbed",),
    "nashbed.controlplane.contract.units": ("Buffer", "Duration", "Rate", "Share", "Size"),
    "nashbed.controlplane.machine.log": ("shown_log",),
    "nashbed.controlplane.run.progress": ("Snapshot", "TimeLeft"),
    "nashbed.controlplane.store.errors": ("RunError",),
    "nashbed.files": ("Loaded", "read_scenario", "read_testbed", "scenario_text"),
    "nashbed.planning": ("Preview", "plan", "preview"),
    "nashbed.running": (
        "RunInProgress", "VerificationInProgress", "Verified", "resume", "run", "start", "verify",
    ),
    "nashbed.runs": (
        "CheckedRun", "Run", "Trial", "check_files", "compare", "equivalence", "open_run",
    ),
}  # fmt: skip
_SUBMODULES = (
    "aqm", "atlas", "captures", "cc", "doctor", "figures", "kernels", "models",
    "tables", "testbeds",
)  # fmt: skip
_HOME = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a name of `__all__` when it is first used."""
        if name in _SUBMODULES:
            return import_module(f"nashbed.{name}")
        if name not in _HOME:
            raise AttributeError(f"module 'nashbed' has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What a caller sees."""
    return sorted(__all__)
