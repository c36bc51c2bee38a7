"""What an evaluation makes of made-up runs: readings, references in the control's place, pages."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import nashbed as nb
import numpy as np
import pytest
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.report.evaluation import write_pages
from nashbed.analysis.results.evaluation import Evaluated, Evaluation, placed
from nashbed.analysis.results.summary import RunSummary
from nashbed.controlplane.cli.main import run as run_cli
from nashbed.controlplane.contract.battery import Battery
from nashbed.evaluation import compare_evaluations, controls_table
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
    markdown = nb.Evaluation(tmp_path, found).markdown
    assert markdown.startswith("# ")
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
    (beside,) = controls_table([tmp_path], [tmp_path / "plate.svg"]).rows
    assert beside["bbr_is"] == verdict


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


def evaluations(folder: Path, *found: Evaluated) -> list[str]:
    """Folders of evaluations, as `cc evaluate` leaves them."""
    names = []
    for number, each in enumerate(found):
        path = folder / f"e{number}"
        path.mkdir()
        (path / "evaluation.json").touch()
        write_pages(each, path)
        names.append(str(path))
    return names


@pytest.mark.parametrize(
    ("better", "controls", "change"),
    [("more", ("bbr", "reno"), "better"), ("less", ("bbr", "reno"), "worse"),
     (None, ("reno", "bbr"), "less"), (None, ("bbr", "cubic"), "more"),
     ("more", ("bbr", "bbr"), "")],
)  # fmt: skip
def test_what_another_control_changes_is_a_mean_over_pairs(
    better: str | None, controls: tuple[str, str], change: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    folders = evaluations(tmp_path, *(evaluated(name, better) for name in controls))
    assert run_cli(["compare", *folders, "--json"]) == 0
    row, unmeasured = json.loads(capsys.readouterr().out)["changes"]
    before, after = (1e6 * MBIT[name] for name in controls)
    assert (row["first"], row["second"]) == pytest.approx((before, after))
    assert row["difference"] == pytest.approx(after - before)
    assert row["ci95"] == pytest.approx(abs(after - before) * 0.1 * 4.3027 / np.sqrt(3), rel=1e-4)
    assert (row["change"], unmeasured["change"]) == (change, "")
    assert run_cli(["compare", *folders]) == 0
    assert f"{bool(change):d} of 2 readings changed" in capsys.readouterr().out


def test_verdicts_that_change_are_named_and_other_batteries_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = [found_by(suite(max=limit)) for limit in ("20mbit", "10mbit")]
    folders = evaluations(tmp_path, *held)
    assert [row["change"] for row in compare_evaluations(*folders).changed] == ["met to missed"]
    file = Path(folders[1]) / "criteria.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "battery": "other"}))
    assert run_cli(["compare", *folders]) == 2
    assert "is of battery other, not made" in capsys.readouterr().err
    file.unlink()
    assert run_cli(["compare", *folders]) == 2
    assert "has no criteria.json; end it with `nashbed cc evaluate`" in capsys.readouterr().err


def test_controls_side_by_side_with_what_is_beyond_every_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = evaluations(tmp_path, evaluated("bbr"), evaluated("reno"))
    csv, plate = tmp_path / "controls.csv", tmp_path / "controls.svg"
    args = ["cc", "table", *folders, "--json", "--out", str(csv), "--out", str(plate)]
    assert run_cli(args) == 0
    (row,) = json.loads(capsys.readouterr().out)["controls"]
    assert row["reading"] == "per flow throughput, at 2 of it"
    assert [row[name] for name in MBIT] == pytest.approx([1e6 * mbit for mbit in MBIT.values()])
    assert [row[f"{name}_is"] for name in MBIT] == [None, None, "worse"]
    assert csv.read_text().splitlines()[0] == ",".join(row)
    assert plate.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ("bbr", "bbr", "bbr: two of the evaluations are of it; name one"),
        ("bbr", "other size", "default, quick: evaluate all by one size"),
        ("bbr", "controls.gif", "controls.gif: write a name that ends in .csv or .png, .pdf, .svg"),
    ],
)
def test_evaluations_that_cannot_be_laid_side_by_side(
    first: str, second: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = replace(evaluated("reno"), size="quick" if second == "other size" else "default")
    found = (evaluated(first), evaluated("bbr") if second == "bbr" else other)
    out = ["--out", second] if second.endswith("gif") else []
    assert run_cli(["cc", "table", *evaluations(tmp_path, *found), *out]) == 2
    assert message in capsys.readouterr().err
