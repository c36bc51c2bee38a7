"""Asking models: many questions side by side, and where a model expects the mix to settle.

In a game of CUBIC and a second CCA, the excess of a mix is the second one's share
less k/N, its flows' fair part: above zero one of its flows is ahead of a CUBIC flow, below zero
behind. The crossing is where it goes from plus to minus as its flows grow. As on every line of the
search (`nash/crossing_interval.py`), no such flow counts as ahead and all N as behind; so there is
always one, and at a corner it is 0 or N.

Where a model's excess changes its sign several times, this is one of the crossings, the one that
the questions from the start lead to; `metrics/mixes.py` finds all of them in a table of every
mix. (The published `n_cubic_at_first_crossing` is the first.)
"""

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import pairwise

from nashbed.controlplane.contract.model import ContractModel, Number

from .competition import Competition
from .prediction import Model, Prediction

OVERSHOOT = 1.5
"""First step, by how far it is to where the share would be fair if it stayed as it is: a share
grows with the flows, so that the end of the lead is further away."""
GROWTH = 3
"""By how much each further step is longer, until the crossing is passed."""
ShowAsked = Callable[[str, int, int], None]
"""(what is asked, how much of it is answered, of how much)."""


class CrossingAnswer(ContractModel):
    """Where a model expects the second CCA's lead to end, in JSON, in numbers of flows.

    Attributes:
        bbr: Those of the second CCA, whatever its name; null if refused.
        cubic: The others.
        bbr_range: The least and the most over the seeds; null if refused.
        questions: Mixes that the model was asked for.
        reasons: Why there is no number, or the model's reservations.
    """

    model: str
    flows: int
    bbr: Number | None
    cubic: Number | None
    bbr_range: tuple[Number, Number] | None
    questions: int
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class PredictedCrossing:
    """Where the second CCA's lead over CUBIC ends, by a model.

    Attributes:
        flows: Flows N.
        second: Flows of the second CCA at which its throughput per flow is the fair share, a
            fraction between two whole mixes; 0 or N at a corner; None if refused.
        low: Where the smallest share over the seeds crosses; `second` if the model has no chance
            in it; None if refused.
        high: The same of the largest share.
        questions: Mixes that the model was asked for.
        refusals: Why there is no number.
        flags: The model's reservations about the mixes next to the crossing.
    """

    flows: int
    second: float | None
    low: float | None = None
    high: float | None = None
    questions: int = 0
    refusals: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def first(self) -> float | None:
        """The equilibrium in flows of the first CCA, CUBIC's; None if refused."""
        return None if self.second is None else self.flows - self.second

    @property
    def share(self) -> float | None:
        """Part of the flows that runs the second CCA, 0 to 1; None if refused."""
        return None if self.second is None else self.second / self.flows

    def answer(self, model: str) -> CrossingAnswer:
        """This crossing in JSON, as a model's of a name."""
        within = None if self.low is None or self.high is None else (self.low, self.high)
        return CrossingAnswer(
            model=model,
            flows=self.flows,
            bbr=self.second,
            cubic=self.first,
            bbr_range=within,
            questions=self.questions,
            reasons=(*self.refusals, *self.flags),
        )


class _Refused(Exception):  # noqa: N818 - a way out of the search, no error
    """The model refuses a mix."""


@dataclass
class _Asked:
    """What a model was asked, and its answers by flows of the second CCA."""

    model: Model
    question: Competition
    answers: dict[int, Prediction] = field(default_factory=dict)

    def excess(self, flows: int) -> float:
        """The share of so many flows less their fair part, asking the model if it was not yet."""
        if flows not in self.answers:
            self.answers[flows] = self.model.predict(self.question.with_second(flows))
        share = self.answers[flows].share
        if share is None:
            raise _Refused(*self.answers[flows].refusals)
        return share - flows / self.question.flows

    def excess_of(self, share: Callable[[Prediction], float]) -> dict[int, float]:
        """The excess of every mix that was asked, by another of its shares."""
        return {k: share(a) - k / self.question.flows for k, a in sorted(self.answers.items())}


def predicted_crossing(
    model: Model, question: Competition, start: float | None = None
) -> PredictedCrossing:
    """Where the second CCA's lead ends in the mixes 1 to N - 1 of as many flows.

    Args:
        question: The question; how its flows are split plays no part.
        start: Its flows near which the crossing is expected, such as another model's; None: half
            of the flows. The nearer it is, the fewer questions; five to eight without.

    Returns:
        The crossing; refused if the model refuses one of the mixes that it was asked for.

    Source: lambda_b / N_b = C / N, section 4 of Mishra, Tiu, Leong, IMC 2022.
    """
    flows = question.flows
    if flows < 2:
        return PredictedCrossing(flows, None, refusals=("one flow competes with nobody",))
    asked = _Asked(model, question)
    try:
        ahead, behind = _narrow(asked, *_bracket(asked, flows / 2 if start is None else start))
    except _Refused as refused:
        return PredictedCrossing(
            flows, None, questions=len(asked.answers), refusals=tuple(refused.args)
        )
    at = _between(asked, ahead, behind)
    low, high = _range(asked, at)
    beside = [asked.answers[k] for k in (ahead, behind) if k in asked.answers]
    flags = tuple(dict.fromkeys(flag for answer in beside for flag in answer.flags))
    return PredictedCrossing(flows, at, low, high, len(asked.answers), flags=flags)


def _bracket(asked: _Asked, start: float) -> tuple[int, int]:
    """A mix where the second CCA leads and a later one where not; 0 and N are the corners."""
    flows = asked.question.flows
    here = min(max(round(start), 1), flows - 1)
    excess = asked.excess(here)
    step = max(1, round(OVERSHOOT * abs(excess) * flows))
    while True:
        there = min(max(here + (step if excess > 0 else -step), 0), flows)
        if there in {0, flows}:
            there = 1 if there == 0 else flows - 1
            if there == here:
                return (flows - 1, flows) if excess > 0 else (0, 1)
        if (asked.excess(there) > 0) != (excess > 0):
            return min(here, there), max(here, there)
        here, step = there, step * GROWTH


def _narrow(asked: _Asked, ahead: int, behind: int) -> tuple[int, int]:
    """Neighbouring mixes with the crossing between them: false position on whole mixes.

    A step that does not halve the interval is followed by one that does.
    """
    halve = False
    while behind - ahead > 1:
        place = (ahead + behind) / 2 if halve else _straight(asked, ahead, behind)
        middle = min(max(round(place), ahead + 1), behind - 1)
        before = behind - ahead
        if asked.excess(middle) > 0:
            ahead = middle
        else:
            behind = middle
        halve = not halve and behind - ahead > before / 2
    return ahead, behind


def _between(asked: _Asked, ahead: int, behind: int) -> float:
    """The crossing between neighbouring mixes; a corner's own is the corner."""
    if ahead == 0:
        return 1.0 if asked.excess(1) == 0 else 0.0
    return float(behind) if behind == asked.question.flows else _straight(asked, ahead, behind)


def _straight(asked: _Asked, ahead: int, behind: int) -> float:
    """Where a straight line through two mixes is zero."""
    high, low = asked.excess(ahead), asked.excess(behind)
    return ahead + (behind - ahead) * high / (high - low)


def _range(asked: _Asked, at: float) -> tuple[float, float]:
    """Where the ends of the shares' ranges cross, on the mixes that were asked."""
    if all(answer.share_range is None for answer in asked.answers.values()):
        return at, at
    low = _end(asked.excess_of(lambda a: _shares(a)[0]), asked.question.flows)
    high = _end(asked.excess_of(lambda a: _shares(a)[1]), asked.question.flows)
    return min(low, at), max(high, at)


def _shares(answer: Prediction) -> tuple[float, float]:
    mean = answer.share or 0.0
    return answer.share_range or (mean, mean)


def _end(excess: Mapping[int, float], flows: int) -> float:
    """Where an excess crosses: straight between the mixes; beyond them as if the share stayed."""
    for (ahead, more), (behind, less) in pairwise(excess.items()):
        if more > 0 >= less:
            return ahead + (behind - ahead) * more / (more - less)
    edge = max(excess) if excess[max(excess)] > 0 else min(excess)
    place = edge + excess[edge] * flows
    corner = 0.0 if place < 1 else float(flows) if place > flows - 1 else None
    return place if corner is None else corner


def show_nothing(title: str, done: int, total: int) -> None:
    """Show no progress."""


def ask_all(
    model: Model, questions: Sequence[Competition], show: ShowAsked = show_nothing
) -> list[Prediction]:
    """What a model answers to each question.

    Args:
        model: The model. One in C is asked on every core; the others take microseconds.
    """
    answers = []
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for answer in workers.map(model.predict, questions):
            answers.append(answer)
            show(model.title, len(answers), len(questions))
    return answers


def crossing_of(
    model: Model, mixes: Callable[[int], Competition], flows: int, start: float | None = None
) -> PredictedCrossing:
    """Where a model expects a game to settle whose mixes start each in their own way.

    Args:
        mixes: Flows of the second CCA -> the question of that mix.
        start: Its flows near which it is expected; None: half of the flows.
    """
    of_mix = replace(model, predict=lambda question: model.predict(mixes(question.second.flows)))
    return predicted_crossing(of_mix, mixes(max(1, flows // 2)), start)
