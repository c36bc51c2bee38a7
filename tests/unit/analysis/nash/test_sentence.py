"""The answer in a sentence: whole flows, and why there."""

from dataclasses import replace

import pytest
from nashbed.analysis.nash.crossing_interval import CrossingInterval, LeadEnds
from nashbed.analysis.nash.game import two_strategy_table
from nashbed.analysis.nash.headline import Headline
from nashbed.analysis.nash.pairs import PairEquilibria
from nashbed.analysis.nash.sentence import answers, certainty, overview, question
from tests.unit.analysis.made_games import found, table_of

NAMES = ("cubic", "bbr")


def line(end: float, flows: int = 4):
    """A game in which the second strategy's lead ends at `end` of the flows."""
    gain = {k: (1.0, 1.0 + end - k) for k in range(flows + 1)}
    return found(two_strategy_table(gain, flows, NAMES, 1.0))


def texts(found) -> list[str]:
    return [answer.text for answer in answers(found)]


@pytest.mark.parametrize(
    ("end", "text"),
    [
        (2.3, "2 of 4 flows would run bbr: one more would gain nothing by switching"),
        (9, "all 4 flows would run bbr: one that switched to cubic would gain nothing"),
        (-1, "all 4 flows would run cubic: one that switched to bbr would gain nothing"),
        (2, "1 or 2 of 4 flows would run bbr"),
    ],
)
def test_an_equilibrium_is_told_in_whole_flows(end: float, text: str) -> None:
    assert texts(line(end)) == [text]


def test_what_trials_cannot_tell_is_not_told() -> None:
    between = CrossingInterval(0.0, 4.0, 1.0, sure=True)
    ends = LeadEnds((between,), mixes=3, trials=6)
    unknown = replace(line(2.3), ends=ends)
    assert texts(unknown) == [
        "any mix of the 4 flows may be where switching ends: these trials cannot tell"
    ]
    assert overview([unknown, line(9)]) == "Of 2 settings: all would run bbr in 1; undecided in 1"


def test_other_games_tell_their_mixes() -> None:
    several = table_of((2,), 3, lambda _: [[3.0, 2.0, 1.0]])
    assert texts(found(several)) == ["nobody would gain by switching at 2 a"]
    nothing = replace(line(2.3), verdicts=())
    assert texts(nothing) == ["in every mix some flow would gain by switching"]


def test_many_settings_are_counted() -> None:
    games = [line(9), line(9), line(-1), line(2.3)]
    assert overview(games) == (
        "Of 4 settings: all would run bbr in 2, all would run cubic in 1, "
        "cubic and bbr would remain in 1"
    )
    assert overview([replace(line(9), verdicts=())]) == ""
    assert question(("a", "b", "c"), [1]) == (
        "If a flow could choose between a, b and c, how many would run which?"
    )
    assert question(("a", "b"), [4, 8, 8, 16]).startswith("If each of 4, 8 or 16 flows could")


def test_each_pair_says_how_sure_it_is() -> None:
    ends = LeadEnds((), 2, 2, "too few")
    pair = PairEquilibria("a", "b", 3, (1,), ends, (((2, 1, 0),),), "at 9 s")
    (told,) = answers(replace(line(2.3), pairs=(pair,)))
    assert told.text == (
        "a against b: 1 of 3 flows would run b: one more would gain nothing by switching"
    )
    assert told.sure == "too few; not settled, so it holds at 9 s"


def test_how_sure_is_one_clause() -> None:
    assert (
        certainty(Headline("2 b", "1 to 3 b"), None)
        == "95 % interval: 1 to 3 b; shares had settled"
    )
    open_yet = Headline("2 b", condition="at 9 s")
    assert certainty(open_yet, LeadEnds((), 3, 3, "no repetitions")) == (
        "no repetitions; not settled, so it holds at 9 s"
    )
