"""What a setting says of its equilibria: the headline, each repetition, what is not certain."""

import json
from dataclasses import replace
from typing import Any

import pytest
from nashbed.analysis.measures import RunMeasures, TrialMeasures
from nashbed.analysis.nash.answer import equilibria_answer
from nashbed.analysis.nash.crossing_interval import CrossingInterval
from nashbed.analysis.nash.of_run import SettingEquilibria, equilibria_of_measures
from nashbed.analysis.results.summary import summary_rows
from nashbed.controlplane.cli.results import equilibria_text
from nashbed.controlplane.contract.trial import Setting, StrategyDrift
from nashbed.controlplane.store.sealed_trial import SealedTrial
from tests.unit.analysis.made_measures import PerFlow, made, with_repetition

TEN: dict[str, Any] = {"flows": [{"name": "main", "count": 10, "base_rtt": "40ms"}], "trials": 2}


def ending(at: float, slope: float = 0.2) -> PerFlow:
    """BBR's lead ends at so many BBR flows."""

    def per_flow(setting: Setting, strategy: str, second: int) -> float:
        return 1e7 + (slope * 1e6 * (at - second) if strategy == "bbr" else 0.0)

    return per_flow


def repeated(first: float, second: float, raw: dict[str, Any] = TEN, slope: float = 0.2):
    """A run of two repetitions whose leads end at different places."""
    return with_repetition(made(raw, ending(first, slope)), made(raw, ending(second, slope)))


def only(measures) -> SettingEquilibria:
    (found,) = equilibria_of_measures(measures)
    return found


def test_the_headline_is_an_interval() -> None:
    found = only(repeated(6.4, 6.2))
    assert found.ends is not None
    (interval,) = found.ends.intervals
    assert interval.at == pytest.approx(6.3, abs=0.1)
    assert found.summary().startswith("4 cubic + 6 bbr (95 %: ")
    plain = equilibria_answer(found).model_dump(mode="json")
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    (said,) = plain["headline"]["intervals"]
    assert (said["strategy"], said["sure"]) == ("bbr", True)
    assert said["low"] <= 6.3 <= said["high"]
    counts = [mix["main"]["bbr"] for mix in said["mixes"]]
    assert counts[0] <= 6 <= counts[1]
    assert plain["headline"]["confidence"] == 0.95


IPERF3: dict[str, Any] = {**TEN, "duration": "120s", "start": "iperf3"}


def unsettled_at(measures: RunMeasures, *places: int) -> RunMeasures:
    """The run, but trials with so many BBR flows had not settled."""

    def moving(trial: TrialMeasures) -> TrialMeasures:
        if trial.state[0][1] not in places:
            return trial
        record = trial.trial.record
        assert record.steadiness is not None
        steadiness = record.steadiness.model_copy(update={"settled": False})
        record = record.model_copy(update={"steadiness": steadiness})
        return replace(trial, trial=SealedTrial(trial.trial.path, record))

    return replace(measures, trials=tuple(map(moving, measures.trials)))


def test_an_equilibrium_whose_mixes_had_not_settled_is_that_of_its_length_and_start() -> None:
    measures = repeated(6.35, 6.25, IPERF3)
    settled = only(measures)
    assert settled.ends is not None
    (interval,) = settled.ends.intervals
    assert 5 < interval.low < 6 < interval.high < 7  # 5 and 7 are the nearest mixes about it
    assert (settled.condition, settled.not_settled) == ("", ())
    for place in (5, 7):
        assert only(unsettled_at(measures, place)).not_settled == (((10 - place, place),),)
    found = only(unsettled_at(measures, 6))
    assert found.not_settled == (((4, 6),),)
    assert found.condition == "at 120 s, from a start by iperf3"
    assert found.summary().startswith(f"{found.condition}: 4 cubic + 6 bbr (6 to ")
    assert "95 %" not in found.summary()
    assert found.headline().facts()[0].startswith("95 % interval of trials of this length and ")
    text = equilibria_text(found)
    assert f"b2bdp: {found.condition}: 4 cubic + 6 bbr\n" in text
    assert "settles" not in text
    said, plain = (equilibria_answer(each).headline for each in (found, settled))
    assert (said.settled, said.condition) == (False, found.condition)
    assert said.not_settled == ({"main": {"cubic": 4, "bbr": 6}},)
    assert (plain.settled, plain.condition, plain.not_settled) == (True, None, ())


def test_mixes_that_do_not_decide_need_not_have_settled() -> None:
    found = only(unsettled_at(repeated(6.35, 6.25, IPERF3), 1, 2, 3, 4, 8, 9))
    assert (found.condition, found.not_settled) == ("", ())
    assert found.summary().startswith("4 cubic + 6 bbr (95 %: ")


def test_trials_that_are_too_short_to_tell_are_not_settled() -> None:
    short = only(made({**TEN, "trials": 1}, ending(6.3), {"throughput_drift": 0.0}))
    assert short.unsettled == 0
    assert short.summary().startswith("at 60 s, from a common start: ")


def test_without_an_interval_the_equilibrium_and_its_neighbours_decide() -> None:
    few = made({**IPERF3, "trials": 1, "sweep": {"mixes": [5, 6, 7]}}, ending(6.3))
    assert only(few).condition == ""
    for place in (5, 6, 7):
        assert only(unsettled_at(few, place)).not_settled == (((10 - place, place),),)
    assert (
        only(unsettled_at(few, 6))
        .summary()
        .startswith("at 120 s, from a start by iperf3: 4 cubic + 6 bbr; ")
    )


SETTLES: dict[str, Any] = {**TEN, "duration": {"until": "settled"}, "start": "together"}


def ended_with(measures: RunMeasures, bbr: tuple[float, float]) -> RunMeasures:
    """The run, but BBR's mean in each repetition's trials is this, of a thousand bytes."""

    def known(trial: TrialMeasures) -> TrialMeasures:
        record = trial.trial.record
        assert record.steadiness is not None
        share = bbr[record.repetition]
        drifts = tuple(
            StrategyDrift(group=0, strategy=s, drift=0, error=0, steady=True, mean_bytes=mean)
            for s, mean in (("cubic", 1000 - share), ("bbr", share))
        )
        steadiness = record.steadiness.model_copy(update={"drifts": drifts})
        record = record.model_copy(update={"steadiness": steadiness})
        return replace(trial, trial=SealedTrial(trial.trial.path, record))

    return replace(measures, trials=tuple(map(known, measures.trials)))


def test_trials_that_settle_must_agree_from_opposite_starts() -> None:
    measures = repeated(6.35, 6.25, SETTLES)
    agreed = only(ended_with(measures, (500, 510)))
    assert (agreed.condition, agreed.not_settled) == ("", ())
    differing = only(ended_with(measures, (480, 520)))
    assert differing.condition == "at up to 1800 s, from either start"
    assert differing.not_settled == (((5, 5),), ((4, 6),), ((3, 7),))[::-1]
    one = made({**SETTLES, "trials": 1}, ending(6.3))
    single = only(ended_with(one, (500, 500)))
    assert single.condition == "at up to 1800 s, cubic, then bbr 5s later"


def test_a_lead_may_end_where_nothing_was_measured() -> None:
    found = only(repeated(6.4, 6.2))
    assert found.ends is not None
    ends = replace(found.ends, intervals=(CrossingInterval(8.0, 10.0, None, sure=False),))
    (said,) = equilibria_answer(replace(found, ends=ends)).headline.intervals
    assert (said.low, said.high, said.at, said.sure) == (8.0, 10.0, None, False)


def test_each_repetition_alone() -> None:
    found = only(repeated(8.5, 4.5))
    assert [(t.repetition, t.states, t.mixes) for t in found.by_trial] == [
        (0, (((2, 8),),), 11), (1, (((6, 4),),), 11),
    ]  # fmt: skip
    assert [v.state for v in found.equilibria] == [((4, 6),)]  # of the means: between the two
    each = equilibria_answer(found).model_dump(mode="json")["each_trial"]
    assert [t["equilibria"] for t in each] == [
        [{"main": {"cubic": 2, "bbr": 8}}], [{"main": {"cubic": 6, "bbr": 4}}]
    ]  # fmt: skip
    text = equilibria_text(found)
    assert "equilibria of repetition 1 (11 mixes): 2 cubic + 8 bbr" in text
    assert "equilibria of repetition 2 (11 mixes): 6 cubic + 4 bbr" in text
    assert only(made(TEN, ending(6.3))).by_trial == ()


def test_repetitions_that_ran_out_are_said() -> None:
    # Leads that end four flows apart: two repetitions do not clear the gains of the neighbours.
    unclear = only(repeated(8.5, 4.5, slope=1.0))
    assert unclear.unclear
    assert unclear.exhausted == 2
    assert unclear.summary().endswith("; undecided after 2 repetitions, all that there are")
    assert equilibria_answer(unclear).model_dump()["headline"]["repetitions_ran_out"] is True
    clear = only(repeated(6.5, 6.5 + 1e-6))
    assert (clear.unclear, clear.exhausted) == ((), 0)
    assert "undecided" not in clear.summary()
    # More repetitions were allowed: they did not run out, the run is only not at its end.
    more = only(repeated(8.5, 4.5, {**TEN, "trials": 5}, slope=1.0))
    assert more.unclear
    assert more.exhausted == 0


def test_what_hides_the_equilibrium_is_in_the_headline() -> None:
    raw = {**TEN, "trials": 1, "sweep": {"mixes": [2, 5, 8]}}
    few = only(made(raw, ending(6.3)))
    assert few.summary() == "undecided; 8 of 11 mixes not measured"
    assert few.headline().mix == "undecided"
    reason = equilibria_answer(few).headline.without_interval
    assert reason.startswith("3 mixes with both are too few")
    decided = only(made({**raw, "sweep": {"mixes": [5, 6, 7]}}, ending(6.3)))
    assert decided.summary() == (
        "4 cubic + 6 bbr; 8 mixes undecided; 3 mixes with both are too few for an interval "
        "(it takes 4)"
    )


def test_probability_by_where_the_lead_ends() -> None:
    measures = repeated(6.5, 6.1)
    found = equilibria_of_measures(measures)
    rows = summary_rows(measures, found)
    stated = [row.probability for row in rows]
    assert all(p is not None and 0 <= p <= 1 for p in stated)
    assert stated.index(max(stated)) == 6
    assert sum(stated) == pytest.approx(1, abs=0.05)
    groups = [{"name": "a", "count": 1, "base_rtt": "10ms"}, {"name": "b", "count": 1,
              "base_rtt": "50ms"}]  # fmt: skip
    several = made({"flows": groups}, ending(1.0), factors=(1.0, 1.01))
    rows = summary_rows(several, equilibria_of_measures(several))
    assert {row.probability for row in rows} == {None}
