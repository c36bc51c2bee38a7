"""`make check CHANGED=1`: what a change can touch is among the tests that it runs."""

import pytest
from tests.support.changed import EVERYTHING, touched_tests
from tests.support.modules import ROOT, modules

CLI = "tests/unit/controlplane/cli/test_cli.py"
EVIDENCE = "tests/unit/analysis/captures/test_evidence.py"
FIGURES = "tests/unit/analysis/figures/test_by_mix.py"
GATES = "tests/unit/controlplane/validity/test_gates.py"
REPORT = "tests/unit/analysis/report/test_report.py"
RUNNER = "tests/unit/controlplane/run/test_runner.py"
SEARCH = "tests/unit/analysis/nash/test_search.py"


@pytest.mark.parametrize(
    ("changed", "runs", "spares"),
    [
        ("analysis/nash/game_slice.py", SEARCH, RUNNER),  # which is two rooms away
        ("analysis/figures/by_mix.py", FIGURES, SEARCH),
        ("analysis/figures/by_mix.py", REPORT, CLI),  # a border crossed, and two
        ("controlplane/validity/gates.py", GATES, CLI),
        ("tests/fakes/flows.py", RUNNER, FIGURES),  # started by its name
        ("tests/unit/conftest.py", REPORT, FIGURES),  # which asks it for nothing
        ("hosts/dpdk/core/queue.c", "tests/model", "tests/rtl"),
        ("hosts/fpga/synthesise.py", "tests/rtl", "tests/model"),
        ("analysis/report/templates/report.html.j2", REPORT, SEARCH),
        ("README.md", "tests/unit/test_docs.py", FIGURES),
    ],
)
def test_a_change_runs_its_tests_and_spares_others(changed: str, runs: str, spares: str) -> None:
    found = touched_tests([changed])
    assert runs in found
    assert spares not in found


@pytest.mark.parametrize("changed", ["Makefile", "pyproject.toml"])
def test_what_all_depend_on_runs_everything(changed: str) -> None:
    assert touched_tests([changed]) == EVERYTHING


def test_a_conftest_that_acts_on_all_runs_all_below_it() -> None:
    every = {str(path.relative_to(ROOT)) for path in ROOT.glob("tests/**/test_*.py")}
    assert set(touched_tests(["tests/conftest.py"])) == every


@pytest.mark.slow
def test_every_module_is_reached_by_a_test() -> None:
    rules = set(touched_tests([]))
    for module in modules().values():
        name = str(module.path.relative_to(ROOT))
        if module.path.name != "__init__.py" and "__main__" not in module.path.read_text():
            assert set(touched_tests([name])) - rules, f"{name}: no test imports it"
