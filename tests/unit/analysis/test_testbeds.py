"""A planted disagreement of testbeds is found, none is not, and few trials say so."""

import json
from dataclasses import replace

import pytest
from nashbed.analysis.nash.of_run import equilibria_of_measures
from nashbed.analysis.testbeds import Comparisons, compare_testbeds
from tests.unit.analysis.made_testbeds import Planted, alike, ran_on, shared_run

LABS = [ran_on("east"), ran_on("west")]


def bbr_gets_more_in_the_west(testbed: str, setting: str, strategy: str) -> float:
    return 1.3 if (testbed, strategy) == ("west", "bbr") and "5bdp" in setting else 1.0


def compared(trials: int, planted: Planted = alike, **more: float) -> Comparisons:
    found = compare_testbeds(shared_run(LABS * trials, planted, **more))
    assert found is not None
    return found


def test_a_planted_disagreement_is_found_where_it_is() -> None:
    found = compared(5, bbr_gets_more_in_the_west)
    assert len(found.each) == 12
    (setting,) = found.disagreeing_settings
    assert "5bdp" in setting
    differing = found.disagreements()
    assert [c.strategy for c in differing] == ["bbr"] * 3
    for each in differing:
        assert each.testbeds == ("east", "west")
        assert each.ci95 is not None
        assert abs(each.difference - 6e6) < each.ci95 < 2e6
    # What is alike is said to be so: 2 % of 20 Mbit/s is far within 10 % of 25.
    assert {c.verdict for c in found.each if c not in differing} == {"alike"}
    assert found.note(setting) == "testbeds east and west disagree"
    assert found.sentence() == (f"testbeds east, west DISAGREE at {setting} (12 comparisons)")


def test_the_headline_of_the_setting_says_so_and_no_other() -> None:
    measures = shared_run(LABS * 5, bbr_gets_more_in_the_west)
    said = [
        "testbeds east and west disagree" in e.notes() for e in equilibria_of_measures(measures)
    ]
    assert said == [False, True]
    (alone, both) = (e.summary() for e in equilibria_of_measures(measures))
    assert "disagree" in both
    assert "disagree" not in alone


@pytest.fixture(scope="module", params=[100, pytest.param(300, marks=pytest.mark.long)])
def alike_everywhere(request: pytest.FixtureRequest) -> list[Comparisons]:
    """So many runs without a disagreement."""
    return [compared(3, seed=seed) for seed in range(request.param)]


@pytest.mark.slow
def test_no_disagreement_is_hardly_ever_found(alike_everywhere: list[Comparisons]) -> None:
    """5 % of runs without one may raise a false alarm, and three standard errors."""
    runs = len(alike_everywhere)
    alarms = sum(bool(found.disagreements()) for found in alike_everywhere)
    assert alarms < 0.05 * runs + 3 * (0.05 * 0.95 * runs) ** 0.5


def test_one_trial_is_too_few_to_tell() -> None:
    found = compared(1, bbr_gets_more_in_the_west)
    assert {c.verdict for c in found.each} == {"too few to tell"}
    assert all(c.p is c.ci95 is None for c in found.each)
    assert found.sentence() == (
        "testbeds east, west: no disagreement found "
        "(12 comparisons, 12 with too few trials to tell)"
    )


def test_a_wide_interval_is_too_few_to_tell_rather_than_alike() -> None:
    found = compared(2, spread=0.3)
    assert "alike" not in {c.verdict for c in found.each}


def test_trials_without_any_spread_prove_nothing() -> None:
    found = compared(3, bbr_gets_more_in_the_west, spread=0.0)
    assert {c.verdict for c in found.each} == {"too few to tell"}


def test_three_testbeds_are_compared_in_pairs() -> None:
    found = compare_testbeds(shared_run([*LABS, ran_on("north")] * 3))
    assert found is not None
    assert len(found.each) == 36
    assert list(found.testbeds) == ["east", "north", "west"]


@pytest.mark.parametrize("places", [[None] * 4, [ran_on("east")] * 4])
def test_one_testbed_has_nothing_to_be_compared_with(places: list[None]) -> None:
    measures = shared_run(places)
    assert compare_testbeds(measures) is None
    assert all(not e.disagreement for e in equilibria_of_measures(measures))


def test_two_testbeds_of_one_name_are_told_apart() -> None:
    places = [ran_on("lab"), ran_on("lab", "2" * 64), ran_on("lab", host="far"), None]
    found = compare_testbeds(shared_run(places * 2))
    assert found is not None
    assert list(found.testbeds) == [
        "lab on far",
        f"lab on host-of-lab ({'1' * 16})",
        f"lab on host-of-lab ({'2' * 16})",
        "the run's own",
    ]


def test_in_virtual_time_it_does_not_matter_who_computed_a_trial() -> None:
    measures = shared_run(LABS * 2)
    manifest = measures.run.manifest.model_copy(update={"repeatable": True})
    run = replace(measures.run, manifest=manifest)
    assert compare_testbeds(replace(measures, run=run)) is None


def test_testbeds_that_ran_nothing_in_common_are_said_so() -> None:
    measures = shared_run(LABS)
    east_only = tuple(
        t for t in measures.trials
        if t.trial.record.repetition == int("5bdp" in t.trial.setting.label)
    )  # fmt: skip
    found = compare_testbeds(type(measures)(measures.run, east_only, ()))
    assert found is not None
    assert found.each == ()
    assert "cannot be compared" in found.sentence()


def test_plain_data() -> None:
    plain = compared(5, bbr_gets_more_in_the_west).answer().model_dump()
    told = json.loads(json.dumps(plain, allow_nan=False))
    assert told["testbeds"]["east"] == {"trials_valid": 30, "trials": 30}
    first = told["comparisons"][0]
    assert first["margin"] == pytest.approx(0.1 * 25e6)
    assert [mean["n"] for mean in first["means"]] == [5, 5]
