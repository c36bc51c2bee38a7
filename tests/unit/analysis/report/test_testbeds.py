"""What page, terminal and JSON say of a run on two testbeds that disagree."""

import json
from pathlib import Path

import numpy as np
import pytest
from nashbed.analysis.report import build_report
from nashbed.controlplane.cli.result_text import result_text, run_answer
from nashbed.controlplane.contract.certificate import Standing
from nashbed.controlplane.contract.manifest import TestbedFacts
from nashbed.runs import open_run
from tests.support.synthetic_run import SCENARIO, RunWriter, edit_json
from tests.unit.analysis.made_testbeds import ran_on
from tests.unit.analysis.report.test_report import PAGE, text_of

FACTS = TestbedFacts(
    target="tofino", testbed_digest="1" * 64, artefact_digest="ab" * 32, dataplane={}, kernel="6.1",
    certificate=Standing(state="certified", detail="east: calibrated 3 h ago"), cpu="8 x test",
    ports={}, sysctls={},
)  # fmt: skip
EXPIRED = Standing(state="expired", detail="west: the testbed file has changed")


@pytest.fixture(scope="module")
def two_labs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four trials of one mix on each of two testbeds, of which the west has half the goodput."""
    writer = RunWriter(
        tmp_path_factory.mktemp("labs") / "run", {**SCENARIO, "duration": "2s", "trials": 8}
    )
    (setting,) = writer.settings()
    chance = np.random.default_rng(3)
    for number in range(8):
        lab, scale = (("east", 0.9), ("west", 0.45))[number % 2]
        scale *= 1 + 0.01 * chance.standard_normal()
        trial = writer.add(setting, (2,), number, scale=scale)
        edit_json(trial / "trial.json", ran_on=ran_on(lab).model_dump())
    run = writer.finish()
    west = FACTS.model_copy(update={"certificate": EXPIRED})
    edit_json(
        run / "manifest.json",
        testbeds={"east": FACTS.model_dump(), "west": west.model_dump()},
    )
    return run


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_the_page_has_a_section(two_labs: Path, tmp_path: Path) -> None:
    page = build_report(two_labs, PAGE, tmp_path / "report")
    text = text_of(page)
    assert "Testbeds disagree at: b2bdp." in text
    assert "Testbeds east, west DISAGREE at b2bdp (2 comparisons)" in text
    assert "on host-of-east; target tofino; kernel 6.1; 8 x test; P4 artefact abababab" in text
    assert "Testbed west is not certified: west: the testbed file has changed." in text
    summary = json.loads((tmp_path / "report" / "summary.json").read_text())["testbeds"]
    assert summary["disagreeing_settings"] == ["b2bdp"]
    assert summary["testbeds"]["west"] == {"trials_valid": 4, "trials": 4}


def test_the_terminal_and_the_results_say_it_in_a_line(two_labs: Path) -> None:
    results = open_run(two_labs)
    lines = result_text(results, None).splitlines()
    assert "testbeds east, west DISAGREE at b2bdp (2 comparisons)" in lines
    assert run_answer(results, None).model_dump(mode="json")["testbeds"][
        "disagreeing_settings"
    ] == ["b2bdp"]
    assert "testbeds east and west disagree" in results.summary.equilibria[0].notes()


def test_the_export_says_where_each_trial_ran(two_labs: Path, tmp_path: Path) -> None:
    open_run(two_labs).export(tmp_path / "out")
    rows = (tmp_path / "out" / "trials.csv").read_text().splitlines()
    assert "testbed,host,mix" in rows[0]
    assert sum(",west,host-of-west," in row for row in rows) == 4


@pytest.mark.slow
@pytest.mark.usefixtures("no_figures")
def test_a_run_on_one_testbed_has_no_such_section(whole_run: Path, tmp_path: Path) -> None:
    page = build_report(whole_run, PAGE, tmp_path / "report")
    assert 'id="testbeds"' not in page.read_text()
    assert run_answer(open_run(whole_run), None).testbeds is None
