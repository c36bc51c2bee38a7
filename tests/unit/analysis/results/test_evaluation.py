"""What an evaluation makes of made-up runs: readings, references in the control's place, pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.report.evaluation import write_pages
from nashbed.analysis.results.evaluation import Evaluated, Evaluation, placed
from nashbed.analysis.results.summary import RunSummary
from nashbed.controlplane.contract.battery import Battery
from tests.unit.analysis.made_measures import BASE, made

RUN = {
    "strategies": ["cubic", "reno", "bbr"],
    "trials": 3,
    "flows": [{"name": "main", "count": 2, "base_rtt": "40ms"}],
    "sweep": {"mixes": [{"bbr": 2}, {"cubic": 2}, {"reno": 2}]},
}
MBIT = {"cubic": 20.0, "reno": 15.0, "bbr": 10.0}


def battery(better: str | None = "more") -> Battery:
    reads = [{"metric": "per_flow_throughput", "mix": {"subject": 2}, "better": better}]
    return Battery.model_validate({
        "name": "made", "title": "Made up", "source": "nobody", "subject": "subject",
        "references": ["cubic", "reno"], "harm": "harm", "sizes": {"default": {"trials": 3}},
        "criteria": [
            {"section": "1", "name": "One", "asks": "this", "scenario": "alone", "reads": reads},
            {"section": "2", "name": "Two", "asks": "that", "not_measured": "nobody can"},
        ],
    })  # fmt: skip


def summary(raw: dict[str, Any] = RUN) -> RunSummary:
    def mbit(setting: Any, strategy: str, second: Any) -> float:
        return 1e6 * MBIT[strategy]

    measures = made({**BASE, **raw}, mbit, factors=(0.9, 1.0, 1.1))
    return RunSummary(measures, equilibria_of_measures(measures), [], [])


def evaluated(control: str = "bbr", better: str | None = "more") -> Evaluated:
    return found_by(battery(better), control)


def found_by(asked: Battery, control: str = "bbr") -> Evaluated:
    evaluation = Evaluation(asked, control, "default")
    evaluation.measured("alone", summary())
    return evaluation.end()


def suite(**limits: str) -> Battery:
    raw = battery(None).model_dump(mode="json", exclude_none=True) | {"references": []}
    raw["criteria"][0]["reads"][0] |= limits
    return Battery.model_validate(raw)


def test_references_are_read_in_the_controls_place_trial_by_trial() -> None:
    # The trials vary by 10 % in step: so the difference, -10 (0.9, 1.0, 1.1), varies by 1 Mbit/s,
    # and half its interval is t(2) / sqrt(3) = 4.303 / 1.732.
    row = evaluated().rows[0]
    assert row["what"] == "per flow throughput, at 2 bbr"
    assert (row["value"].mean, row["cubic"].mean) == pytest.approx((10e6, 20e6))
    assert row["less_cubic"].mean == pytest.approx(-10e6)
    assert row["less_cubic"].ci95 == pytest.approx(1e6 * 4.3027 / np.sqrt(3), rel=1e-4)


@pytest.mark.parametrize(
    ("control", "better", "twice"),
    [("bbr", "more", True), ("bbr", "less", False), ("bbr", None, False), ("reno", "more", True),
     ("cubic", "more", False)],
)  # fmt: skip
def test_a_row_is_looked_at_twice_that_is_worse_than_every_reference(
    control: str, better: str | None, twice: bool
) -> None:
    assert evaluated(control, better).rows[0]["twice"] is twice


def test_what_was_not_measured_says_why() -> None:
    evaluation = Evaluation(battery(), "bbr", "default")
    evaluation.not_measured("alone", "it crashed: mine.c:7")
    evaluation.not_measured("harm", "it crashed: mine.c:7")
    found = evaluation.end()
    assert [row["note"] for row in found.rows] == [
        "not measured: it crashed: mine.c:7", "not measured: nobody can",
    ]  # fmt: skip
    assert found.harm == ("not measured: it crashed: mine.c:7",)


def test_the_pages_say_the_same(tmp_path: Path) -> None:
    found = evaluated()
    write_pages(found, tmp_path)
    said = json.loads((tmp_path / "criteria.json").read_text())
    assert said["criteria"][0]["value"] == pytest.approx(10e6)
    assert said["criteria"][0]["less_reno"] == pytest.approx(-5e6)
    markdown = (tmp_path / "evaluation.md").read_text()
    assert "| 1 | One |" in markdown
    assert "| yes |" in markdown
    page = (tmp_path / "index.html").read_text()
    assert "look twice" in page
    assert "not measured: nobody can" in page


@pytest.mark.parametrize(
    ("limits", "within", "verdict"),
    [({"max": "11mbit"}, 3, "met"), ({"max": "10.5mbit"}, 2, "missed"),
     ({"min": "9mbit", "max": "10mbit"}, 2, "missed"),
     ({"expect": "10mbit", "tolerance": "10%"}, 3, "met")],
)  # fmt: skip
def test_the_worst_of_the_trials_decides(
    limits: dict[str, str], within: int, verdict: str, tmp_path: Path
) -> None:
    found = found_by(suite(**limits))  # which measured 9, 10 and 11 Mbit/s
    row = found.rows[0]
    assert (row["within"], row["verdict"]) == (within, verdict)
    assert (row["least"], row["most"]) == pytest.approx((9e6, 11e6))
    write_pages(found, tmp_path)
    cases = f"{len(found.missed) ^ 1} of 1 test cases are met"
    for name in ("evaluation.md", "index.html"):
        page = (tmp_path / name).read_text()
        assert cases in page
        assert "cubic" not in page, "nothing is compared"


def test_a_case_that_did_not_run_or_lacks_trials_is_not_met() -> None:
    asked = suite(max="20mbit")
    crashed = Evaluation(asked, "bbr", "default")
    crashed.not_measured("alone", "it crashed")
    assert [row["verdict"] for row in crashed.end().missed] == ["undecided"]
    few = Evaluation(asked, "bbr", "default")
    few.measured("alone", summary({**RUN, "trials": 4}))
    assert [row["verdict"] for row in few.end().rows] == ["undecided", ""]


def test_what_only_a_whole_run_has_is_no_reading_of_trials() -> None:
    raw = battery().model_dump(mode="json", exclude_none=True)
    raw["criteria"][0]["reads"] = [{"metric": "crossing"}]
    with pytest.raises(ValueError, match="crossing is of a whole run"):
        Battery.model_validate(raw)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ({"strategies": ["bbr3", "cubic"]}, {"strategies": ["cubic"]}),
        ({"mixes": [{"bbr3": 1, "cubic": 1}, {"cubic": 2}]}, {"mixes": [{"cubic": 2}]}),
        ({"cubic": 1, "bbr3": 3}, {"cubic": 4}),
        ({"ecn": ["bbr3"], "title": "bbr3 alone"}, {"ecn": ["cubic"], "title": "bbr3 alone"}),
    ],
)
def test_a_control_takes_the_place_of_another(written: Any, found: Any) -> None:
    assert placed(written, "bbr3", "cubic") == found


@pytest.mark.parametrize("key", ["scenario", "reads"])
def test_a_criterion_is_measured_or_says_why_not(key: str) -> None:
    raw = battery().model_dump(mode="json", exclude_none=True)
    del raw["criteria"][0][key]
    with pytest.raises(ValueError, match="write it with `reads`, or `not_measured` and why"):
        Battery.model_validate(raw)
