"""Whether two runs measure the same: shares within a margin, verdicts, exit codes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.results.equivalence import equivalence_of_runs
from nashbed.controlplane.cli.comparison_text import CELLS, drawn_interval, equivalence_text
from nashbed.controlplane.cli.main import run as cli
from nashbed.controlplane.store.errors import RunError
from tests.support.synthetic_run import SCENARIO, RunWriter
from tests.unit.analysis.made_measures import made

Capture = pytest.CaptureFixture[str]
Shares = Mapping[tuple[str, int], Sequence[float]]
"""(label of a setting, BBR flows) -> BBR's share in each trial."""
RAW: dict[str, Any] = {
    "flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}],
    "sweep": {"buffer": ["1bdp", "2bdp"], "mixes": [1, 3]},
}
QUIET = (0.499, 0.5, 0.501)


def with_shares(shares: Shares, raw: Mapping[str, Any] = RAW) -> RunMeasures:
    """A run whose BBR flows have these shares; a mix that is left out has no trial."""
    most = max(len(values) for values in shares.values())
    run = made(dict(raw), lambda *_: 1e6, factors=[1.0] * most)
    trials = [
        replace(trial, per_flow={"throughput_share": _split(trial.flow_mask("bbr"), values[n])})
        for trial in run.trials
        for n in [trial.trial.record.repetition]
        for values in [shares.get((trial.trial.setting.label, trial.flow_mask("bbr").sum()), ())]
        if n < len(values)
    ]
    return replace(run, trials=tuple(trials))


def _split(bbr: np.ndarray, share: float) -> np.ndarray:
    return np.where(bbr, share / bbr.sum(), (1 - share) / max(1, (~bbr).sum()))


def everywhere(values: Sequence[float]) -> dict[tuple[str, int], Sequence[float]]:
    return {(label, bbr): values for label in ("b1bdp", "b2bdp") for bbr in (1, 3)}


def moved(by: float) -> list[float]:
    return [value + by for value in QUIET]


def test_runs_that_measure_the_same() -> None:
    found = equivalence_of_runs(
        with_shares(everywhere(QUIET)), with_shares(everywhere(moved(0.002))), 0.02
    )
    assert [(c.setting, c.mix, c.strategy) for c in found.cells] == [
        ("b1bdp", "3 cubic + 1 bbr", "bbr"), ("b1bdp", "1 cubic + 3 bbr", "bbr"),
        ("b2bdp", "3 cubic + 1 bbr", "bbr"), ("b2bdp", "1 cubic + 3 bbr", "bbr"),
    ]  # fmt: skip
    assert found.equivalent
    assert {cell.verdict for cell in found.cells} == {"equivalent"}
    # s^2 = 1e-6 on either side, n = 3: an error of sqrt(2e-6/3), v = 4, t(0.95, 4) = 2.132.
    assert found.cells[0].difference == pytest.approx(0.002)
    assert found.cells[0].ci90 == pytest.approx(2.132 * (2e-6 / 3) ** 0.5, rel=1e-3)
    assert "EQUIVALENT: 4 shares: 4 equivalent" in equivalence_text(found)


def test_one_mix_that_differs_is_enough() -> None:
    shares = {**everywhere(QUIET), ("b2bdp", 3): moved(0.05), ("b1bdp", 1): moved(0.02)}
    found = equivalence_of_runs(with_shares(everywhere(QUIET)), with_shares(shares), 0.02)
    verdicts = {(cell.setting, cell.mix): cell.verdict for cell in found.cells}
    # Three points beyond the margin are different; at the margin itself no number of trials tells.
    assert verdicts == {
        ("b1bdp", "3 cubic + 1 bbr"): "too few to tell",
        ("b1bdp", "1 cubic + 3 bbr"): "equivalent",
        ("b2bdp", "3 cubic + 1 bbr"): "equivalent",
        ("b2bdp", "1 cubic + 3 bbr"): "different",
    }
    assert not found.equivalent
    text = equivalence_text(found)
    assert "\nDIFFERENT: 4 shares: 1 too few to tell, 2 equivalent, 1 different" in text


def test_what_is_missing_is_not_equivalent() -> None:
    """A run that was cut short must not pass."""
    whole, part = everywhere(QUIET), everywhere(QUIET)
    del part["b2bdp", 1]
    found = equivalence_of_runs(with_shares(whole), with_shares(part), 0.02)
    assert found.missing == ("b2bdp: 3 cubic + 1 bbr",)
    assert not found.equivalent
    assert "NOT SHOWN EQUIVALENT: 3 shares: 3 equivalent, 1 not tested" in equivalence_text(found)
    assert f"no valid trial in both: {found.missing[0]}" in equivalence_text(found)
    assert equivalence_of_runs(with_shares(part), with_shares(whole), 0.02).missing == found.missing
    # Nor is a setting that the other run does not have.
    raw = {**RAW, "sweep": {**RAW["sweep"], "buffer": ["1bdp"]}}
    smaller = {key: values for key, values in whole.items() if key[0] == "b1bdp"}
    found = equivalence_of_runs(with_shares(smaller, raw), with_shares(whole), 0.02)
    assert found.missing == ("b2bdp: 3 cubic + 1 bbr", "b2bdp: 1 cubic + 3 bbr")
    # Unless one setting is all that was asked for.
    assert equivalence_of_runs(
        with_shares(whole), with_shares(part), 0.02, setting="b1bdp"
    ).equivalent


def test_a_mix_without_repetitions_is_not_told() -> None:
    shares = {**everywhere(QUIET), ("b1bdp", 1): (0.5,)}
    found = equivalence_of_runs(with_shares(everywhere(QUIET)), with_shares(shares), 0.02)
    assert (found.cells[0].verdict, found.cells[0].second.n) == ("too few to tell", 1)
    assert not found.equivalent
    alone = everywhere((0.5,))
    with pytest.raises(RunError, match="no mix of several strategies has two valid trials in both"):
        equivalence_of_runs(with_shares(alone), with_shares(alone), 0.02)


def test_of_three_ccas_every_share_is_tested() -> None:
    raw = {
        "strategies": ["cubic", "bbr", "reno"],
        "flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}],
        "sweep": {"buffer": ["1bdp", "2bdp"], "mixes": [{"cubic": 2, "bbr": 1, "reno": 1}]},
    }
    shares = {("b1bdp", 1): QUIET, ("b2bdp", 1): QUIET}
    run = with_shares(shares, raw)
    found = equivalence_of_runs(run, run, 0.02)
    assert [cell.strategy for cell in found.cells] == ["cubic", "bbr", "reno"] * 2


def pairs_of(rates: Mapping[str, float]) -> RunMeasures:
    """Every pair of strategies, one flow each, which share the link as these rates do."""
    mixes = {"pairs": "all", "second": [1]}
    raw = {"strategies": list(rates), "sweep": {"buffer": ["2bdp"], "mixes": mixes}}
    run = made(raw, lambda _setting, name, _flows: rates[name], factors=[1.0] * len(QUIET))
    trials = [
        replace(trial, per_flow={"throughput_share": np.array([1 - share, share])})
        for trial in run.trials
        for noise in [QUIET[trial.trial.record.repetition] - 0.5]
        for share in [trial.per_flow["throughput_share"][1] + noise]
    ]
    return replace(run, trials=tuple(trials))


def test_a_strategy_against_its_counterpart() -> None:
    """Also in one run, in which others have mixes of their own, which say nothing here."""
    run = pairs_of({"cubic": 1.0, "bbr": 1.0, "reno": 4.0, "vegas": 1.0})
    found = equivalence_of_runs(run, run, 0.02, counterparts={"bbr": "reno"})
    assert [(cell.strategy, cell.mix) for cell in found.cells] == [
        ("bbr", "1 cubic + 1 bbr | 1 cubic + 1 reno"),
        ("vegas", "1 bbr + 1 vegas | 1 reno + 1 vegas"),
    ]
    assert [cell.difference for cell in found.cells] == pytest.approx([0.3, -0.3])
    assert {cell.verdict for cell in found.cells} == {"different"}
    found = equivalence_of_runs(run, run, 0.02, counterparts={"bbr": "vegas"})
    # Neither mixes without either nor the one with both are missing.
    assert (found.equivalent, found.missing) == (True, ())


def test_counterparts_of_two_runs_in_another_order() -> None:
    first = pairs_of({"cubic": 1.0, "bbr": 1.5})
    second = pairs_of({"reno": 1.5, "cubic": 1.0})
    (cell,) = equivalence_of_runs(first, second, 0.02, counterparts={"bbr": "reno"}).cells
    assert (cell.difference, cell.verdict) == (pytest.approx(0, abs=0.01), "equivalent")


def test_a_counterpart_that_a_run_does_not_have() -> None:
    run = pairs_of({"cubic": 1.0, "bbr": 1.5})
    for pair in ({"bbr": "reno"}, {"reno": "bbr"}):
        with pytest.raises(RunError, match="no strategy 'reno'; there are cubic, bbr"):
            equivalence_of_runs(run, run, 0.02, counterparts=pair)


def test_an_interval_as_it_is_drawn() -> None:
    # 21 characters from -4 to 4 points: 2.5 a point, the margins of 2 at 5 and 15.
    assert drawn_interval(0.0, 0.8, 2.0) == "     ┊  ━━●━━  ┊     "
    assert drawn_interval(2.0, None, 2.0) == "     ┊         ●     "
    assert drawn_interval(-9.0, 1.0, 2.0) == "◀    ┊         ┊     "
    assert len(drawn_interval(0.0, 90.0, 2.0)) == CELLS


@pytest.fixture(scope="module")
def run_of_five(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Five repetitions of an even mix at two buffers: noisy, and BBR's caricature differs."""
    raw = {**SCENARIO, "sweep": {"buffer": ["1bdp", "4bdp"], "mixes": [2]}, "duration": "3s"}
    writer = RunWriter(tmp_path_factory.mktemp("equivalence") / "run", {**raw, "trials": 5})
    for setting in writer.settings():
        for repetition in range(5):
            writer.add(setting, (2,), repetition)
    return str(writer.finish())


@pytest.mark.slow
def test_on_the_command_line(run_of_five: str, capsys: Capture) -> None:
    """A run against itself passes with a margin above its noise; two buffers do not."""
    args = ["compare", run_of_five, run_of_five, "--equivalence"]
    assert cli([*args, "30%"]) == 0
    assert "EQUIVALENT: 2 shares" in capsys.readouterr().out
    assert cli([*args, "0.01%", "--setting", "b1bdp", "--against", "b4bdp", "--json"]) == 20
    answer = json.loads(capsys.readouterr().out)
    assert (answer["equivalent"], answer["margin"]) == (False, 0.0001)
    (cell,) = answer["cells"]
    assert (cell["setting"], cell["against"], cell["strategy"]) == ("b1bdp", "b4bdp", "bbr")
    assert cell["verdict"] in {"different", "too few to tell"}
    assert cell["p_equivalent"] > 0.05


@pytest.mark.parametrize(
    ("margin", "message"),
    [
        ("0%", "more than 0% and less than 100%"),
        ("100%", "more than 0% and less than 100%"),
        ("2", "--equivalence:"),
    ],
)
def test_a_margin_that_makes_no_sense(
    run_of_five: str, capsys: Capture, margin: str, message: str
) -> None:
    assert cli(["compare", run_of_five, run_of_five, "--equivalence", margin]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert message in line
