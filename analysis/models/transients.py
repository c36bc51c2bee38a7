"""Which settings of a plan would be measured before shares have settled, by the fluid model.

A few mixes of each setting are looked at: of one flow group the planned one nearest to the
predicted equilibrium, the one at which BBR's share there would be fair once it has settled, which
is where the equilibrium goes, and with selected mixes the ends; of several groups mixes with a
third and two thirds of the flows on BBR.
"""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from nashbed.controlplane.contract.model import ContractModel, Number
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting, scenario_at
from nashbed.controlplane.contract.units import NS_PER_S

from ..state import State, strategy_totals
from .asked import problem_of, question_of
from .competition import Competition, by_kind
from .expected import expected_crossing, mixes_of
from .settling import SettlingTime, settling_of
from .starts import BBR

GOLDEN = (math.sqrt(5) - 1) / 2
"""Steps of it fall evenly on a circle, however many there are (Weyl)."""

MATTERS = 0.02
"""Part of the throughput: a smaller bias is no reason for longer trials."""

ShowSetting = Callable[[str, int, int], None]
"""(label of a setting, settings looked at, of how many)."""


class MixSettling(ContractModel):
    """When a mix settles, in JSON; shares are of the throughput of all flows.

    Attributes:
        flows: CCA -> flows.
        measured_s: Begin and end of the measured time.
        bbr_share_by_start: BBR's share in that time, by each start.
        bbr_share_settled: Its share once settled.
        transient: Whether the mix is measured before it has settled.
        settled_after_s: Length of a trial that it needs; null: longer than was simulated.
    """

    flows: dict[str, int]
    measured_s: tuple[Number, Number]
    bbr_share_by_start: tuple[float, ...]
    bbr_share_settled: Number
    transient: bool
    settled_after_s: Number | None
    simulated_s: Number


class SettlingAnswer(ContractModel):
    """Whether a setting's trials are long enough, in JSON.

    Attributes:
        transient: Whether a mix is measured before it has settled, and it matters.
        settled_after_s: Length of a trial that all of the mixes need; null: longer than was
            simulated.
        range_s: Least and most that was found, over mixes and with one seed left out.
        mixes: Of each mix that was looked at.
    """

    setting: str
    transient: bool
    settled_after_s: Number | None
    range_s: tuple[Number | None, Number | None]
    mixes: tuple[MixSettling, ...]


@dataclass(frozen=True)
class SettingSettling:
    """What the fluid model says of the length of a setting's trials.

    Attributes:
        mixes: Of each mix that was looked at.
    """

    setting: Setting
    mixes: tuple[SettlingTime, ...]

    @property
    def transient(self) -> bool:
        """Whether a mix is measured before it has settled, and it matters."""
        return any(mix.transient and _bias(mix) >= MATTERS for mix in self.mixes)

    @property
    def after_s(self) -> float:
        """Length of a trial that all of the mixes need; infinite: longer than was simulated."""
        return max(mix.after_s for mix in self.mixes)

    @property
    def range_s(self) -> tuple[float, float]:
        """Least and most that was found, over mixes and with one seed left out."""
        return min(mix.low_s for mix in self.mixes), max(mix.high_s for mix in self.mixes)

    @property
    def worst(self) -> SettlingTime:
        """The mix whose measured share of BBR is furthest from the settled one."""
        return max(self.mixes, key=_bias)

    def answer(self) -> SettlingAnswer:
        """These transients in JSON."""
        low, high = self.range_s
        return SettlingAnswer(
            setting=self.setting.label,
            transient=self.transient,
            settled_after_s=_finite(self.after_s),
            range_s=(_finite(low), _finite(high)),
            mixes=tuple(_of_mix(mix) for mix in self.mixes),
        )


def _bias(mix: SettlingTime) -> float:
    return float(abs(mix.planned_shares(BBR) - mix.settled_share(BBR)).max())


def _of_mix(mix: SettlingTime) -> MixSettling:
    competition = mix.competition
    flows = {kind.cca: 0 for kind in competition.kinds}
    for kind in competition.kinds:
        flows[kind.cca] += kind.flows
    return MixSettling(
        flows=flows,
        measured_s=(competition.measured_from_s, competition.duration_s),
        bbr_share_by_start=tuple(float(share) for share in mix.planned_shares(BBR)),
        bbr_share_settled=mix.settled_share(BBR),
        transient=mix.transient,
        settled_after_s=_finite(mix.after_s),
        simulated_s=mix.simulated_s,
    )


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def settle_plan(
    scenario: Scenario,
    planned: Mapping[str, tuple[Setting, Sequence[State]]],
    budget_s: float,
    show: ShowSetting,
) -> tuple[list[SettingSettling], int]:
    """Look at mixes of a plan until time is up, of settings that are spread evenly over the sweep.

    Args:
        planned: Label of a setting -> the setting, and its planned mixes.
        budget_s: No mix is begun after so many seconds.

    Returns:
        What was found, in the order of the sweep, and how many settings the model speaks of.

    Raises:
        FluidNotBuiltError: The library has not been built.
    """
    end_s = time.monotonic() + budget_s
    spoken = {
        label: states
        for label, (setting, every) in planned.items()
        if (states := _spoken_of(scenario, setting, every))
    }
    order = [label for _, label in sorted((i * GOLDEN % 1, x) for i, x in enumerate(spoken))]
    left = {label: _settling_times(scenario, planned[label][0], spoken[label]) for label in order}
    found: dict[str, list[SettlingTime]] = defaultdict(list)
    while left and time.monotonic() < end_s:  # one mix of every setting, then another one
        label, mixes = next(iter(left.items()))
        del left[label]
        show(label, len(found), len(order))
        for mix in islice(mixes, 1):
            found[label].append(mix)
            left[label] = mixes
    settled = [SettingSettling(planned[x][0], tuple(found[x])) for x in spoken if x in found]
    return settled, len(order)


def _spoken_of(scenario: Scenario, setting: Setting, states: Sequence[State]) -> list[State]:
    """The mixes that the fluid model speaks of; unlike other models it knows several base RTTs."""
    like = setting.model_copy(update={"base_rtt_ns": setting.base_rtt_ns[:1]})
    return [state for state in dict.fromkeys(states) if problem_of(scenario, like, state) is None]


def _settling_times(
    scenario: Scenario, setting: Setting, states: Sequence[State]
) -> Iterator[SettlingTime]:
    """Yield the settling time of each mix of a setting that is examined."""
    of_bbr = scenario.strategies.index(BBR)
    flows = scenario_at(scenario, setting).total_flows
    tried: set[State] = set()

    def near(bbr: float) -> Iterator[SettlingTime]:
        state = min(states, key=lambda s: (abs(strategy_totals(s)[of_bbr] - bbr), _unlike(s)))
        if state not in tried:
            tried.add(state)
            yield settling_of(competition_of_mix(scenario, setting, state))

    mixes = mixes_of(scenario, setting)
    if mixes is None:
        yield from near(flows / 3)
        yield from near(2 * flows / 3)
        return
    for settled in near(expected_crossing(mixes, flows).second or 0.0):
        yield settled
        yield from near(flows * settled.settled_share(BBR))
    if scenario.sweep.mixes != "all":
        yield from near(0)
        yield from near(flows)


def _unlike(state: State) -> int:
    """How differently the groups of a mix are split."""
    most = max(max(counts) for counts in state)
    return most - min(max(counts) for counts in state)


def competition_of_mix(scenario: Scenario, setting: Setting, state: State) -> Competition:
    """A mix as the fluid model is asked about it, the flows of each group by themselves.

    Args:
        scenario: Says how flows start, how long they run, and what limits their windows.
    """
    return by_kind(
        question_of(scenario, setting, state),
        [
            (name, count, rtt / NS_PER_S)
            for rtt, counts in zip(setting.base_rtt_ns, state, strict=True)
            for name, count in zip(scenario.strategies, counts, strict=True)
        ],
    )
