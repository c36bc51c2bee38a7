"""`make check CHANGED=1`: what a change can touch is among the tests that it runs."""

from __future__ import annotations

import pytest
from tests.support.changed import EVERYTHING, touched_tests
from tests.support.modules import ROOT, modules

FIGURES = "tests/unit/analysis/figures/test_by_mix.py"
REPORT = "tests/unit/analysis/report/test_report.py"
RUNNER = "tests/unit/controlplane/run/test_runner.py"
SEARCH = "tests/unit/analysis/nash/test_search.py"


@pytest.mark.parametrize(
    ("changed", "runs", "spares"),
    [
        ("analysis/nash/search.py", SEARCH, "tests/unit/analysis/captures/test_evidence.py"),
        ("analysis/figures/by_mix.py", FIGURES, SEARCH),
        ("tests/fakes/flows.py", RUNNER, FIGURES),  # started by its name
        ("tests/unit/conftest.py", FIGURES, "tests/model/test_droptail.py"),
        ("hosts/dpdk/core/queue.c", "tests/model", FIGURES),
        ("analysis/report/templates/report.html.j2", REPORT, SEARCH),
        ("README.md", "tests/unit/test_docs.py", FIGURES),
    ],
)
def test_a_change_runs_its_tests_and_spares_others(changed: str, runs: str, spares: str) -> None:
    found = touched_tests([changed])
    assert runs in found
    assert spares not in found


@pytest.mark.parametrize("changed", ["Makefile", "pyproject.toml", "tests/conftest.py"])
def test_what_all_depend_on_runs_everything(changed: str) -> None:
    assert touched_tests([changed]) == EVERYTHING


def test_every_module_is_reached_by_a_test() -> None:
    rules = set(touched_tests([]))
    for module in modules().values():
        name = str(module.path.relative_to(ROOT))
        if module.path.name != "__init__.py" and "__main__" not in module.path.read_text():
            assert set(touched_tests([name])) - rules, f"{name}: no test imports it"
