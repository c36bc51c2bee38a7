"""Metrics, models and targets of other distributions, installed for a test as pip installs them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest
from nashbed.analysis.metrics import Metric
from nashbed.analysis.models import Model
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.plugins import WithPlugins
from nashbed.controlplane.machine.paths import CONFIGS
from tests.support.synthetic_run import write_run

MODULE = """
import numpy as np
from nashbed.analysis.metrics import Metric
from nashbed.analysis.models import Model, Prediction
from nashbed.controlplane.targets.registry import _dpdk

FIRST = Metric("first_flow", "first flow", "1", "trial", "Always 0.5.", "nobody", lambda data: 0.5)
EVEN = Model("even", "Even", "nobody", "always", lambda game: Prediction("even", game, 0.25))

def mine():
    return _dpdk()
"""
POINTS = {"metrics": "first_flow = plugin:FIRST", "models": "even = plugin:EVEN",
          "targets": "mine = plugin:mine"}  # fmt: skip


def install(folder: Path, points: dict[str, str], module: str = MODULE) -> None:
    """Lay a distribution out as pip does."""
    info = folder / "plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1.0\n")
    text = "".join(f"[nashbed.{group}]\n{point}\n" for group, point in points.items())
    (info / "entry_points.txt").write_text(text)
    (folder / "plugin.py").write_text(module)


def told(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """What a Python that has the distribution says to a script."""
    env = os.environ | {"PYTHONPATH": str(folder)}
    command = [sys.executable, "-c", script]
    return subprocess.run(
        command, env=env, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.slow
def test_what_is_installed_takes_part(tmp_path: Path) -> None:
    install(tmp_path / "site", POINTS)
    run = write_run(tmp_path / "run")
    said = told(
        tmp_path / "site",
        f"""
import json
import nashbed as nb
from pathlib import Path
run = nb.open_run({str(run)!r})
question = dict(rate="50mbit", base_rtt="40ms", buffer="5bdp", flows=4, second_flows=2)
bed = dict(name="b", target="mine", ports=dict(senders=dict(driver="af_xdp"),
           receivers=dict(driver="af_xdp")), capacity=dict(rate="1gbit", lanes=1))
print(json.dumps([
    run.trials[0].metrics["first_flow"], run.tables["trials"]["first_flow"].to_list(),
    nb.models.models()[-1].share(**question), nb.plan(
        Path({str(CONFIGS / "scenarios" / "quickstart.yaml")!r}), bed).expected_trials]))
""",
    )
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout) == [0.5, [0.5] * 5, 0.25, 50]


@pytest.mark.parametrize(
    ("group", "point", "says"),
    [
        ("metrics", "jain_index = plugin:FIRST", "has a name that is taken; rename it"),
        ("metrics", "other = plugin:FIRST", "names itself 'first_flow'; both names must be"),
        ("metrics", "even = plugin:EVEN", "is a Model, not a Metric"),
        ("models", "even = plugin:NOTHING", "cannot be imported: AttributeError"),
        ("models", "even = nosuchmodule:EVEN", "cannot be imported: ModuleNotFoundError"),
        ("targets", "mine = plugin:EVEN", "is a Model, not a function"),
    ],
)
def test_a_plugin_that_does_not_fit_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, point: str, says: str
) -> None:
    install(tmp_path, {group: point})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "plugin", raising=False)
    kind: Any = {"metrics": Metric, "models": Model, "targets": FunctionType}[group]
    name, value = point.split(" = ")
    with pytest.raises(ConfigError) as error:
        list(WithPlugins(group, kind, {"jain_index": None}))
    said = f"plugin '{name}' (plugin, {value}) of nashbed.{group} {says}"
    assert error.value.message.startswith(said)
