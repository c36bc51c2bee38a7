"""The equilibria of a run as JSON: `nashbed equilibria --json`, and `equilibria` in summary.json.

Mixes are flows by group and strategy name.
"""

from nashbed.controlplane.contract.model import ContractModel

from ..state import State
from .crossing_interval import CONFIDENCE, CrossingInterval, mixes_between
from .equilibria import Verdict
from .of_run import SettingEquilibria
from .pairs import PairEquilibria

MixCounts = dict[str, dict[str, int]]
"""Flow group -> strategy -> flows."""


class LeadEndAnswer(ContractModel):
    """Where a lead ends, in flows of the second strategy.

    Attributes:
        at: By the fitted lead; null where it ends beyond the outermost measured mixes.
        low: Lower end of the 95 % interval.
        high: Upper end of it.
        sure: Whether the lead surely ends there.
    """

    at: float | None
    low: float
    high: float
    sure: bool


class IntervalAnswer(LeadEndAnswer):
    """Where the lead of the second strategy ends, with the mixes that are equilibria there.

    Attributes:
        strategy: The second strategy, whose flows are counted.
        mixes: The first and the last mix within the interval.
    """

    strategy: str
    mixes: tuple[MixCounts, MixCounts]


class HeadlineAnswer(ContractModel):
    """The headline as data.

    Attributes:
        intervals: Where the lead ends.
        confidence: Level of the intervals.
        settled: Whether the mixes that decide are known to have settled in every trial. If not, the
            equilibrium and its interval are those of trials of this length and start alone.
        condition: That length and start, in words; null: the shares had settled.
        not_settled: The deciding mixes that are not known to have settled.
        without_interval: Why there is no interval; empty where there is one.
        notes: What is not certain, each in a few words.
        unclear: Mixes whose further repetition could change the verdict.
        repetitions_ran_out: Whether they are unclear after all repetitions that there are.
    """

    intervals: tuple[IntervalAnswer, ...]
    confidence: float
    settled: bool
    condition: str | None
    not_settled: tuple[MixCounts, ...]
    without_interval: str
    notes: tuple[str, ...]
    unclear: tuple[MixCounts, ...]
    repetitions_ran_out: bool


class VerdictAnswer(ContractModel):
    """An equilibrium.

    Attributes:
        mix: Its flows.
        text: The same in words.
        gain_bps: The largest gain of a flow that switches; null: a neighbour is not measured.
        gain_of_fair_share: The same as a share of the fair share.
        probability: How probably the mix is the equilibrium; null: not known.
    """

    mix: MixCounts
    text: str
    gain_bps: float | None
    gain_of_fair_share: float | None
    probability: float | None


class PairAnswer(ContractModel):
    """The game of two strategies of several.

    Attributes:
        first: One strategy.
        second: The other.
        summary: The equilibrium in words.
        settled: Whether the mixes that decide are known to have settled in every trial.
        condition: Length and start of the trials, in words, if they are not; else null.
        equilibria_flows_of_second: Flows of the second one at each equilibrium.
        shares_of_first: Share of the flows that run the first one at each.
        intervals: Where the second one's lead ends.
    """

    first: str
    second: str
    summary: str
    settled: bool
    condition: str | None
    equilibria_flows_of_second: tuple[int, ...]
    shares_of_first: tuple[float, ...]
    intervals: tuple[LeadEndAnswer, ...]


class CrossingAnswer(ContractModel):
    """Where per-flow throughput is equal.

    Attributes:
        at: Flows of the second strategy, by linear interpolation.
        between: The measured mixes around it, by those flows.
    """

    at: float
    between: tuple[int, int]


class RepetitionAnswer(ContractModel):
    """The equilibria of one repetition's trials alone.

    Attributes:
        repetition: Its number.
        mixes: Mixes that it has.
        equilibria: The mixes in which no flow gains.
    """

    repetition: int
    mixes: int
    equilibria: tuple[MixCounts, ...]


class EquilibriaAnswer(ContractModel):
    """The equilibria of one setting.

    Attributes:
        setting: Label of the setting.
        rate_bps: Its rate.
        buffer: Its buffer, as the scenario has it.
        base_rtt_ns: Base RTT of each flow group.
        discipline: Its queue's discipline, with what of it is not as by default.
        kernel: Its guest kernel; empty: the testbed's.
        strategies: Names of the strategies.
        utility: Utility of a flow, in words.
        epsilon: Allowed gain of the epsilon-equilibria, as a share of the fair share.
        fair_share_bps: Applied rate / number of flows.
        summary: The headline in one line.
        headline: The same as data.
        trials: Trials of the measured mixes with flows of several strategies.
        trials_unsettled: How many of them had not settled.
        equilibria: The mixes in which no flow gains by switching.
        epsilon_equilibria: Those in which none gains more than epsilon; equilibria, too.
        pairs: Of a scenario of pairs: each pair that was measured.
        undecided: Mixes that cannot be judged for want of measurements.
        mixes: Number of mixes of the game.
        mixes_not_measured: How many of them were not measured.
        crossings: Where per-flow throughput is equal.
        each_trial: The equilibria of each repetition alone, where there are several.
    """

    setting: str
    rate_bps: int
    buffer: str
    base_rtt_ns: tuple[int, ...]
    discipline: str
    kernel: str
    strategies: tuple[str, ...]
    utility: str
    epsilon: float
    fair_share_bps: float
    summary: str
    headline: HeadlineAnswer
    trials: int
    trials_unsettled: int
    equilibria: tuple[VerdictAnswer, ...]
    epsilon_equilibria: tuple[VerdictAnswer, ...]
    pairs: tuple[PairAnswer, ...]
    undecided: tuple[MixCounts, ...]
    mixes: int
    mixes_not_measured: int
    crossings: tuple[CrossingAnswer, ...]
    each_trial: tuple[RepetitionAnswer, ...]


def equilibria_answer(found: SettingEquilibria) -> EquilibriaAnswer:
    """The equilibria of a setting for a script."""
    setting = found.setting
    return EquilibriaAnswer(
        setting=setting.label,
        rate_bps=setting.rate_bps,
        buffer=setting.buffer_label,
        base_rtt_ns=tuple(setting.base_rtt_ns),
        discipline=setting.queue_label,
        kernel=setting.kernel,
        strategies=found.strategies,
        utility=found.utility,
        epsilon=found.epsilon,
        fair_share_bps=found.fair_share,
        summary=found.summary(),
        headline=_headline(found),
        trials=found.trials,
        trials_unsettled=found.unsettled,
        equilibria=tuple(_verdict(found, each) for each in found.equilibria),
        epsilon_equilibria=tuple(_verdict(found, each) for each in found.epsilon_equilibria),
        pairs=tuple(pair_answer(pair) for pair in found.pairs),
        undecided=tuple(_counts(found, each.state) for each in found.undecided),
        mixes=found.state_count,
        mixes_not_measured=found.missing_count,
        crossings=tuple(CrossingAnswer(**vars(each)) for each in found.crossings),
        each_trial=tuple(
            RepetitionAnswer(
                repetition=each.repetition,
                mixes=each.mixes,
                equilibria=tuple(_counts(found, state) for state in each.states),
            )
            for each in found.by_trial
        ),
    )


def pair_answer(pair: PairEquilibria) -> PairAnswer:
    """The game of a pair for a script."""
    return PairAnswer(
        first=pair.first,
        second=pair.second,
        summary=pair.text(),
        settled=not pair.not_settled,
        condition=pair.condition or None,
        equilibria_flows_of_second=pair.equilibria,
        shares_of_first=tuple(pair.shares_of_first),
        intervals=tuple(
            LeadEndAnswer(**vars(each)) for each in (pair.ends.intervals if pair.ends else ())
        ),
    )


def _headline(found: SettingEquilibria) -> HeadlineAnswer:
    ends = found.ends
    return HeadlineAnswer(
        intervals=tuple(_interval(found, each) for each in ends.intervals) if ends else (),
        confidence=CONFIDENCE,
        settled=not found.not_settled,
        condition=found.condition or None,
        not_settled=tuple(_counts(found, state) for state in found.not_settled),
        without_interval=ends.problem if ends else "several groups, or not two strategies",
        notes=tuple(found.notes()),
        unclear=tuple(_counts(found, state) for state in found.unclear),
        repetitions_ran_out=bool(found.exhausted),
    )


def _interval(found: SettingEquilibria, interval: CrossingInterval) -> IntervalAnswer:
    first, last = mixes_between(interval.low, interval.high, found.flows)
    return IntervalAnswer(
        **vars(interval),
        strategy=found.strategies[1],
        mixes=(_line(found, first), _line(found, last)),
    )


def _line(found: SettingEquilibria, second: int) -> MixCounts:
    return _counts(found, ((found.flows - second, second),))


def _verdict(found: SettingEquilibria, verdict: Verdict) -> VerdictAnswer:
    return VerdictAnswer(
        mix=_counts(found, verdict.state),
        text=found.text(verdict.state),
        gain_bps=verdict.gain,
        gain_of_fair_share=None if verdict.gain is None else verdict.gain / found.fair_share,
        probability=found.probability(verdict.state),
    )


def _counts(found: SettingEquilibria, state: State) -> MixCounts:
    named = zip(found.groups, state, strict=True)
    return {g: dict(zip(found.strategies, counts, strict=True)) for g, counts in named}
