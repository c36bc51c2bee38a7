"""Harm of a run: which mixes show it, and what comes out of made-up trials."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from nashbed.analysis.figures.plot import Bars
from nashbed.analysis.figures.traffic import run_sketches
from nashbed.analysis.measures import RunMeasures
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.report.first_screen import first_screen
from nashbed.analysis.results.acceptance import check_measures
from nashbed.analysis.results.fairness import fairness_lines
from nashbed.analysis.results.frames import made_section, made_table
from nashbed.analysis.results.harm import harm_of_run
from nashbed.analysis.results.summary import RunSummary, summary_rows
from nashbed.controlplane.cli.console import section_text
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.plan.sweep import mix_label, scenario_mixes
from nashbed.controlplane.store.errors import RunError
from tests.support.drawn import panels
from tests.unit.analysis.made_measures import BASE, made

STRATEGIES = ["cubic", "reno", "bbr"]
HARM = {"strategies": STRATEGIES, "sweep": {"mixes": {"harm_to": "cubic"}}}
WEB = {"name": "web", "count": 3, "base_rtt": "40ms", "strategy": "cubic"}
TO_WEB = HARM | {
    "flows": [BASE["flows"][0], WEB], "sweep": {"mixes": {"harm_to": "web"}},
}  # fmt: skip
MBIT = 1e6
RATES = {"cubic": 40.0, "reno": 60.0, "bbr": 10.0}
"""What a CUBIC flow gets beside another one of each strategy; alone it gets 80."""


def planned(raw: dict[str, Any]) -> dict[str, dict[str, int]]:
    scenario = Scenario.model_validate({**BASE, **raw})
    mixes = scenario_mixes(scenario)
    return {
        mix_label(scenario, mix): {s: n for s, n in mix[0].counts.items() if n} for mix in mixes
    }


def test_a_strategy_runs_alone_beside_itself_and_beside_each() -> None:
    assert planned(HARM) == {
        "k00x00of01": {"cubic": 1}, "k00x00": {"cubic": 2}, "k01x00": {"cubic": 1, "reno": 1},
        "k00x01": {"cubic": 1, "bbr": 1},
    }  # fmt: skip
    four = HARM | {"flows": [{"name": "main", "count": 4, "base_rtt": "40ms"}]}
    assert {"cubic": 1, "bbr": 3} in planned(four).values()


def test_a_group_that_is_no_part_of_the_mix_can_be_the_victim() -> None:
    assert planned(TO_WEB) == {
        "k00x00of00": {}, "k00x00": {"cubic": 2}, "k02x00": {"reno": 2}, "k00x02": {"bbr": 2},
    }  # fmt: skip


def test_media_can_be_the_victim_and_transfers_of_the_mix_cannot() -> None:
    media = {k: WEB[k] for k in ("name", "count", "base_rtt")}
    udp = {"rate": "1mbit", "packet": "1200B", "every": "20ms"}
    mixes = planned(TO_WEB | {"flows": [BASE["flows"][0], media | {"udp": udp}]})
    assert mixes["k00x00of00"] == {}
    of_mix = {"name": "web", "base_rtt": "40ms", "arrivals": {"every": "1s"}, "size": "1MB"}
    with pytest.raises(ValueError, match="harm_to: 'web' is neither"):
        planned(TO_WEB | {"flows": [BASE["flows"][0], of_mix]})


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ({"sweep": {"mixes": {"harm_to": "vegas"}}}, "harm_to: 'vegas' is neither a strategy"),
        ({"flows": [BASE["flows"][0] | {"count": 1}]}, "has nobody beside it; write `count: 2`"),
        (
            {"flows": [BASE["flows"][0], BASE["flows"][0] | {"name": "far"}]},
            "needs a scenario with one flow group in the mix",
        ),
    ],
)
def test_what_shows_no_harm_is_refused(raw: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Scenario.model_validate({**BASE, **HARM, **raw})


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ({"duration": {"until": "settled"}}, "cannot settle; write a fixed `duration`"),
        ({"window": "whole"}, "`window: whole` is about; remove it"),
    ],
)
def test_a_group_that_is_alone_has_a_fixed_window(raw: dict[str, Any], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Scenario.model_validate({**BASE, **TO_WEB, **raw})


def measured(raw: dict[str, Any] = HARM, factors=(0.98, 1.0, 1.02)) -> RunMeasures:
    """A CUBIC flow alone gets 80 Mbit/s; beside others by RATES. Trials vary by 2 %."""
    plain = made(raw, lambda setting, strategy, second: 1.0, factors=factors)
    trials = []
    for trial in plain.trials:
        present = [s for s in STRATEGIES if s in trial.strategy]
        other = present[-1] if len(trial.strategy) > 1 else None
        rate = MBIT * (80.0 if other is None else RATES[other])
        rates = np.full(len(trial.strategy), rate * trial.per_flow["per_flow_throughput"][0])
        loss = np.full(len(trial.strategy), 0.0 if other is None else 0.01)
        trials.append(
            replace(trial, per_flow={"per_flow_throughput": rates, "per_flow_loss_rate": loss})
        )
    return replace(plain, trials=tuple(trials))


def test_harm_by_hand() -> None:
    # (80 - 40) / 80, (80 - 60) / 80, (80 - 10) / 80: the 2 % cancel, for each repetition is held
    # against itself. Of loss: 0 alone and 1 % beside others is all their doing.
    found = {(h.by, h.metric): h for h in harm_of_run(measured())}
    means = {by: found[by, "per_flow_throughput"].harm.mean for by in STRATEGIES}
    assert means == pytest.approx({"cubic": 0.5, "reno": 0.25, "bbr": 0.875})
    assert {by: found[by, "per_flow_loss_rate"].harm.mean for by in STRATEGIES} == dict.fromkeys(
        STRATEGIES, 1.0
    )
    assert found["bbr", "per_flow_throughput"].alone.mean == pytest.approx(80 * MBIT)
    assert found["bbr", "per_flow_throughput"].harm.n == 3
    assert len(found) == 6
    own = found["cubic", "per_flow_throughput"]
    assert found["bbr", "per_flow_throughput"].against(own) == "more"
    assert found["reno", "per_flow_throughput"].against(own) == "less"
    assert found["bbr", "per_flow_loss_rate"].against(found["cubic", "per_flow_loss_rate"]) == (
        "as much"
    )


def test_one_repetition_tells_no_verdict() -> None:
    found = {(h.by, h.metric): h for h in harm_of_run(measured(factors=(1.0,)))}
    own = found["cubic", "per_flow_throughput"]
    assert own.harm.ci95 is None
    assert found["bbr", "per_flow_throughput"].against(own) is None


def test_whether_it_is_fair_and_would_be_adopted() -> None:
    # 80 alone and 10 beside BBR; another CUBIC leaves 40. Who switches from 40 to BBR gets 10 here.
    assert fairness_lines(measured(factors=(1.0, 1.0, 1.0))) == [
        "b2bdp: bbr is not fair, as it does more harm: it takes 87.5 ± 0.0 % of the throughput of "
        "a cubic flow, another cubic flow 50.0 ± 0.0 %",
        "b2bdp: a cubic flow that switches to bbr gets 10.0 ± 0.0 instead of 40.0 ± 0.0 Mbit/s: "
        "it would not switch",
    ]
    first, second = fairness_lines(measured(factors=(1.0,)))
    assert "bbr is undecided, as there are too few trials for an interval: it takes 87.5 %" in first
    assert second.endswith("undecided, as there are too few trials for an interval")


def test_a_report_of_harm_answers_first() -> None:
    screen = first_screen(RunSummary(measured(factors=(1.0, 1.0, 1.0)), [], [], []))
    assert screen["question"] == "Is it fair to what is deployed, and would it be adopted?"
    fair, adopted = (answer["text"] for answer in screen["answers"])
    assert fair == "With a buffer of 2 BDP, bbr is not fair, as it does more harm."
    assert adopted.startswith(
        "With a buffer of 2 BDP, a cubic flow that switches to bbr gets 10.0 "
    )
    assert screen["answers"][1]["sure"] == "It would not switch."


def test_table_of_harm() -> None:
    rows = made_table(RunSummary(measured(), [], [], []), "harm").to_dicts()
    assert len(rows) == 6
    bbr = next(r for r in rows if r["by"] == "bbr" and r["metric"] == "per_flow_throughput")
    assert bbr["harm"] == pytest.approx(0.875)
    assert (bbr["against_own"], bbr["against_cubic"], bbr["against_reno"]) == ("more",) * 3
    own = next(r for r in rows if r["by"] == "cubic" and r["metric"] == "per_flow_throughput")
    assert (own["against_own"], own["against_reno"]) == (None, "more")


def test_a_terminal_shows_what_the_page_shows() -> None:
    section = made_section(RunSummary(measured(), [], [], []), "harm")
    bbr = next(r for r in section["rows"] if r["words"] == ["bbr", "Throughput per flow", "Mbit/s"])
    (alone, _), (beside, _), (harm, _), *verdicts = bbr["values"]
    assert (alone, beside, harm) == ("80.0", "10.0", "0.875")
    assert verdicts == [("more", "")] * 3
    line = next(x for x in section_text(section).splitlines() if "Throughput" in x and "bbr" in x)
    assert "Mbit/s" in line
    assert "0.875" in line


def test_other_runs_show_no_harm() -> None:
    other = made({}, lambda setting, strategy, second: MBIT)
    assert harm_of_run(other) == []
    with pytest.raises(RunError, match="harm takes a victim alone"):
        made_table(RunSummary(other, [], [], []), "harm")


def test_mixes_of_a_victim_are_no_game() -> None:
    measures = measured()
    found = equilibria_of_measures(measures)
    assert not measures.run.scenario.seeks_equilibria(any_decided=True)
    rows = summary_rows(measures, found)
    assert [row.counts for row in rows if sum(row.counts.values()) == 1] == [
        {"cubic": 1, "reno": 0, "bbr": 0}
    ]
    assert next(r for r in rows if sum(r.counts.values()) == 1).equilibrium is None


def test_the_figure_has_a_bar_for_each_strategy_and_metric() -> None:
    (sketch,) = run_sketches(measured())
    assert (sketch.name, sketch.title) == ("harm-b2bdp", "Harm to cubic")
    (panel,) = panels(sketch.made())
    heights = [height for bars in panel.of(Bars) for height in bars.y]
    assert heights == pytest.approx([0.5, 1, 0.25, 1, 0.875, 1])
    assert panel.labels == ["cubic (its own kind)", "reno", "bbr"]
    assert list(run_sketches(made({}, lambda setting, strategy, second: MBIT))) == []


@pytest.mark.parametrize(("most", "passed"), [(0.9, True), (0.8, False)])
def test_bound_on_harm(most: float, passed: bool) -> None:
    bound = {"metric": "harm", "of": "per_flow_throughput", "by": "bbr", "max": most}
    measures = measured(HARM | {"acceptance": [bound]})
    (found,) = check_measures(measures, equilibria_of_measures(measures))
    assert found.value == pytest.approx(0.875)
    assert found.passed is passed


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        ({"sweep": {"mixes": "all"}}, "acceptance.0: harm takes a victim alone"),
        ({"strategies": ["cubic", "reno"]}, "acceptance.0.by: 'bbr' is not among the strategies"),
    ],
)
def test_bounds_on_harm_that_no_run_shows(raw: dict[str, Any], what: str) -> None:
    bound = {"metric": "harm", "of": "mean_rtt", "by": "bbr", "max": 0.5}
    with pytest.raises(ValueError, match=what):
        Scenario.model_validate({**BASE, **HARM, "acceptance": [bound], **raw})
