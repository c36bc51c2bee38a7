"""nashbed from Python: what `dir(nashbed)` names is what callers may rely on.

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

import ast
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nashbed.analysis.metrics import METRICS as METRICS
    from nashbed.analysis.metrics import Metric as Metric
    from nashbed.analysis.nash.of_run import SettingEquilibria as SettingEquilibria
    from nashbed.controlplane.contract.errors import ConfigError as ConfigError
    from nashbed.controlplane.contract.errors import HostError as HostError
    from nashbed.controlplane.contract.errors import Interrupted as Interrupted
    from nashbed.controlplane.contract.errors import NashbedError as NashbedError
    from nashbed.controlplane.contract.errors import TargetError as TargetError
    from nashbed.controlplane.contract.flow_group import FlowGroup as FlowGroup
    from nashbed.controlplane.contract.plan import Plan as Plan
    from nashbed.controlplane.contract.scenario import Scenario as Scenario
    from nashbed.controlplane.contract.scenario_keys import Bottleneck as Bottleneck
    from nashbed.controlplane.contract.scenario_keys import Hosts as Hosts
    from nashbed.controlplane.contract.scenario_keys import Telemetry as Telemetry
    from nashbed.controlplane.contract.sweep import Equilibrium as Equilibrium
    from nashbed.controlplane.contract.sweep import Sweep as Sweep
    from nashbed.controlplane.contract.testbed import Testbed as Testbed
    from nashbed.controlplane.contract.units import Buffer as Buffer
    from nashbed.controlplane.contract.units import Duration as Duration
    from nashbed.controlplane.contract.units import Rate as Rate
    from nashbed.controlplane.contract.units import Share as Share
    from nashbed.controlplane.contract.units import Size as Size
    from nashbed.controlplane.machine.log import shown_log as shown_log
    from nashbed.controlplane.run.progress import Snapshot as Snapshot
    from nashbed.controlplane.run.progress import TimeLeft as TimeLeft
    from nashbed.controlplane.store.errors import RunError as RunError

    from . import aqm as aqm
    from . import atlas as atlas
    from . import captures as captures
    from . import cc as cc
    from . import doctor as doctor
    from . import figures as figures
    from . import kernels as kernels
    from . import models as models
    from . import programs as programs
    from . import tables as tables
    from . import testbeds as testbeds
    from .evaluation import Evaluation as Evaluation
    from .evaluation import compare_evaluations as compare_evaluations
    from .evaluation import evaluate as evaluate
    from .files import Loaded as Loaded
    from .files import read_scenario as read_scenario
    from .files import read_testbed as read_testbed
    from .files import scenario_text as scenario_text
    from .planning import Preview as Preview
    from .planning import plan as plan
    from .planning import preview as preview
    from .running import RunInProgress as RunInProgress
    from .running import VerificationInProgress as VerificationInProgress
    from .running import Verified as Verified
    from .running import resume as resume
    from .running import run as run
    from .running import start as start
    from .running import verify as verify
    from .runs import CheckedRun as CheckedRun
    from .runs import Run as Run
    from .runs import Trial as Trial
    from .runs import check_files as check_files
    from .runs import compare as compare
    from .runs import equivalence as equivalence
    from .runs import open_run as open_run


@cache
def _homes() -> dict[str, str]:
    """Public name -> the module that has it, as the imports for type checkers above say."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    return {
        each.name: f"nashbed.{node.module or each.name}" if node.level else str(node.module)
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for each in node.names
    }


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name == "__all__":
            return __dir__()
        if name not in _homes():
            raise AttributeError(f"module 'nashbed' has no attribute {name!r}")
        home = import_module(_homes()[name])
        value = home if home.__name__ == f"nashbed.{name}" else getattr(home, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """What callers may rely on."""
    return sorted(_homes())
