"""What a flow wants: throughput, less what delay costs, and a person's own function."""

import sys
from pathlib import Path
from typing import Any

import pytest
from nashbed.analysis.measures import measure_run
from nashbed.analysis.nash.of_run import equilibria_of_run
from nashbed.analysis.report import build_report
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.functions import load_function
from nashbed.controlplane.store.errors import RunError
from tests.support.synthetic_run import SCENARIO, RunWriter, write_run

OWN = """
def negative_delay(measured):
    return -1e9 * measured["per_flow_queueing_delay"]

def broken(measured):
    return measured["no such metric"]

def text(measured):
    return "much"

def two(measured, other):
    return 0

number = 3
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of a person's own utilities on PYTHONPATH; its name."""
    (tmp_path / "own_utilities.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("own_utilities", None)
    return "own_utilities"


def run_with(folder: Path, utility: Any) -> Path:
    return write_run(folder, duration="3s", equilibrium={"utility": utility})


@pytest.mark.slow
def test_delay_costs(tmp_path: Path) -> None:
    # 100 kbit/s for each ms of delay: a flow's utility is its throughput less 1e8 x delay (s).
    run = run_with(tmp_path / "run", {"delay_cost": "100kbit"})
    (found,) = equilibria_of_run(run)
    measures = measure_run(run)
    (setting,) = measures.run.settings
    for cell in measures.cells(setting):
        for i, strategy in enumerate(("cubic", "bbr")):
            if cell.state[0][i]:
                rate = cell.estimate("per_flow_throughput", strategy).mean
                delay = cell.estimate("per_flow_queueing_delay", strategy).mean
                utility = found.table.means[cell.state][0, i]
                assert utility == pytest.approx(rate - 1e8 * delay, rel=1e-9)
    assert found.utility == "throughput less 100kbit for each ms of mean queueing delay"
    # Crossings are of throughput, whatever flows want.
    plain = equilibria_of_run(run_with(tmp_path / "plain", "throughput"))[0]
    assert found.crossings == plain.crossings


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_persons_own_function(tmp_path: Path, own: str) -> None:
    run = run_with(tmp_path / "run", {"function": f"{own}:negative_delay"})
    (found,) = equilibria_of_run(run)
    assert found.utility == f"{own}:negative_delay"
    assert (len(found.table.means), found.missing_count) == (found.state_count, 0)
    assert all((means[0][[c > 0 for c in state[0]]] < 0).all()
               for state, means in found.table.means.items())  # fmt: skip
    assert f"{own}:negative_delay" in build_report(run, ("html",)).read_text()


@pytest.mark.parametrize("name", ["broken", "text"])
def test_a_function_that_fails_says_where(tmp_path: Path, own: str, name: str) -> None:
    run = run_with(tmp_path / "run", {"function": f"{own}:{name}"})
    with pytest.raises(RunError, match=rf"utility {own}:{name} failed on trial b2bdp-k"):
        equilibria_of_run(run)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("no_such_module_at_all:f", "no module 'no_such_module_at_all'; install it"),
        ("own_utilities:nothing", "module 'own_utilities' has no 'nothing'"),
        ("own_utilities:number", "is a int, not a function"),
        ("own_utilities:two", r"must take 1 argument \("),
    ],
)
def test_functions_are_checked(own: str, path: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_function(path, arguments=1)


@pytest.mark.slow
@pytest.mark.usefixtures("unsaved_figures")
def test_three_strategies(tmp_path: Path) -> None:
    flows = [{"name": "main", "count": 2, "base_rtt": "40ms"}]
    raw = {**SCENARIO, "flows": flows, "strategies": ["cubic", "bbr", "reno"], "duration": "2s"}
    writer = RunWriter(tmp_path / "run", raw)
    (setting,) = writer.settings()
    for k in range(3):  # the writer knows two of the three
        writer.add(setting, (k,))
    run = writer.finish()
    (found,) = equilibria_of_run(run)
    assert (found.state_count, found.missing_count) == (6, 3)
    assert found.undecided
    build_report(run, ("html",))
