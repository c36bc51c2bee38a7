"""The equilibrium of a setting as a newcomer reads it: the question, the answer, how sure it is."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from .crossing_interval import LeadEnds, mixes_between
from .headline import NO_EQUILIBRIUM, Headline
from .of_run import SettingEquilibria
from .pairs import PairEquilibria


def question(strategies: Sequence[str], flows: Sequence[int]) -> str:
    """What a run asks that looks for equilibria.

    Args:
        flows: Flows of each setting.
    """
    numbers = sorted(set(flows))
    number = _listed(numbers) if len(numbers) > 1 else str(numbers[0])
    who = "a flow" if numbers == [1] else f"each of {number} flows"
    return f"If {who} could choose between {_and(strategies)}, how many would run which?"


class Answer(NamedTuple):
    """An equilibrium in a sentence, and how sure it is in a clause; neither has a stop."""

    text: str
    sure: str


def answers(found: SettingEquilibria) -> list[Answer]:
    """The equilibrium of a setting; of pairs one for each, if these are few."""
    if found.lists_pairs:
        return [_of_pair(pair) for pair in found.pairs]
    headline = found.headline()
    return [Answer(_of_game(found, headline), certainty(headline, found.ends))]


def _of_game(found: SettingEquilibria, headline: Headline) -> str:
    if found.table.pairs:  # how they rank
        return headline.mix
    states = [verdict.state for verdict in found.equilibria]
    if len(found.strategies) != 2 or len(found.groups) != 1:
        return _of_mixes([found.text(state) for state in states], headline)
    counts = [second for ((_, second),) in states]
    return _on_line(counts, found.strategies, found.flows, found.ends, headline)


def certainty(headline: Headline, ends: LeadEnds | None) -> str:
    """How sure an answer is, in one clause.

    Args:
        headline: The same equilibrium as a headline.
        ends: Where the lead ends, which says why there is no interval; None: it is no line.
    """
    without = ends.problem if ends else ""
    told = f"95 % interval: {headline.interval}" if headline.interval else without
    settled = (
        f"not settled, so it holds {headline.condition}"
        if headline.condition
        else "shares had settled"
    )
    return "; ".join(part for part in (told, settled) if part)


def overview(found: Sequence[SettingEquilibria]) -> str:
    """In how many settings which strategies remain, in one sentence; empty: none is decided."""
    kinds = Counter(_remaining(each) for each in found)
    several = kinds.pop("", 0)
    told = [f"{kind} in {count}" for kind, count in kinds.most_common()]
    text = f"Of {len(found)} settings: {', '.join(told)}" if told else ""
    return f"{text}; undecided in {several}" if several and text else text


def _remaining(found: SettingEquilibria) -> str:
    """Which strategies flows run at the equilibria; empty: that is not known."""
    states = [verdict.state for verdict in found.equilibria]
    if found.table.pairs or (found.ends is not None and _is_open(found.ends, found.flows)):
        return ""
    if found.ends is not None and (places := _places(found.ends, found.flows)):
        states = [((found.flows - place, place),) for place in places]
    if not states:
        return ""
    runs = {i for state in states for counts in state for i, count in enumerate(counts) if count}
    names = [found.strategies[i] for i in sorted(runs)]
    return f"{_and(names)} would remain" if len(names) > 1 else f"all would run {names[0]}"


def _and(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _of_pair(pair: PairEquilibria) -> Answer:
    names, headline = (pair.first, pair.second), pair.headline()
    text = _on_line(pair.equilibria, names, pair.flows, pair.ends, headline)
    return Answer(f"{pair.game}: {text}", certainty(headline, pair.ends))


def _on_line(
    counts: Sequence[int], names: Sequence[str], flows: int, ends: LeadEnds | None, told: Headline
) -> str:
    """The answer of a game of one group and two strategies.

    Args:
        counts: Flows of the second strategy at the equilibria of the means.
        ends: Where the lead ends, which counts more than `counts`.
        told: The headline, for where neither knows.
    """
    if ends is not None and _is_open(ends, flows):
        return f"any mix of the {flows} flows may be where switching ends: these trials cannot tell"
    places = (_places(ends, flows) if ends is not None else []) or list(counts)
    if not places:
        return _of_mixes([], told)
    if len(places) > 1:
        return f"{_listed(places)} of {flows} flows would run {names[1]}"
    (place,) = places
    first, second = names
    if place in (0, flows):
        stays, leaves = (second, first) if place else (first, second)
        who = {1: "the flow", 2: "both flows"}.get(flows, f"all {flows} flows")
        return f"{who} would run {stays}: one that switched to {leaves} would gain nothing"
    return f"{place} of {flows} flows would run {second}: one more would gain nothing by switching"


def _is_open(ends: LeadEnds, flows: int) -> bool:
    """Whether an interval reaches from one end of the line to the other."""
    return any(each.low <= 0 and each.high >= flows for each in ends.intervals)


def _places(ends: LeadEnds, flows: int) -> list[int]:
    """Flows of the second strategy where its lead surely ends."""
    known = [each.at for each in ends.intervals if each.sure and each.at is not None]
    return sorted({mixes_between(at, at, flows)[0] for at in known})


def _listed(places: Sequence[int]) -> str:
    """Counts that are read one after the other: `2, 3 or 5`, and `2 to 9` of many neighbours."""
    if len(places) > 2 and places[-1] - places[0] == len(places) - 1:
        return f"{places[0]} to {places[-1]}"
    return f"{', '.join(map(str, places[:-1]))} or {places[-1]}"


def _of_mixes(mixes: Sequence[str], told: Headline) -> str:
    """The answer of any game: its mixes, or what the headline has in their place."""
    if mixes:
        return f"nobody would gain by switching at {' or at '.join(mixes)}"
    if told.mix == "undecided":
        return "it is undecided where flows would stop switching: too few mixes were measured"
    if told.mix == NO_EQUILIBRIUM:
        return "in every mix some flow would gain by switching"
    return told.mix
