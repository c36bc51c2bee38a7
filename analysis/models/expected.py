"""Where a setting of a scenario is expected to settle, before anything of it is measured."""

from collections.abc import Callable

from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import Setting, scenario_at

from . import closed_form, fluid
from .asked import problem_of, question_of
from .band import equilibrium_band
from .competition import Competition
from .crossing import PredictedCrossing, crossing_of
from .starts import BBR, CUBIC

Mixes = Callable[[int], Competition]
"""BBR flows -> the question of that mix."""


def mixes_of(scenario: Scenario, setting: Setting) -> Mixes | None:
    """The questions of the mixes of one group's CUBIC and BBR flows.

    Returns:
        None where the models do not speak of the setting: it has several groups, or they say so.
    """
    flows = scenario_at(scenario, setting).total_flows

    def question(bbr: int) -> Competition:
        return question_of(scenario, setting, (counts(bbr),))

    def counts(bbr: int) -> tuple[int, ...]:
        of = {CUBIC: flows - bbr, BBR: bbr}
        return tuple(of.get(name, 0) for name in scenario.strategies)

    one_group = len(scenario.mixed) == 1 and flows > 1
    both = {CUBIC, BBR} <= set(scenario.strategies)
    if not (one_group and both) or problem_of(scenario, setting, (counts(1),)):
        return None
    return question


def quick_crossing(mixes: Mixes, flows: int) -> float | None:
    """BBR flows at which the mix settles by the closed form, in microseconds.

    Args:
        mixes: BBR flows -> the question of that mix.

    Returns:
        The middle of the band of Mishra 2022 where the closed form refuses; None where both do.
    """
    at = crossing_of(closed_form.MODEL, mixes, flows).second
    return equilibrium_band(mixes(max(1, flows // 2))).middle if at is None else at


def expected_crossing(mixes: Mixes, flows: int) -> PredictedCrossing:
    """Where the mix settles by the fluid model, from where the closed form has it.

    Args:
        mixes: BBR flows -> the question of that mix.

    Returns:
        The closed form's crossing where the fluid model is not built or refuses.
    """
    quick = quick_crossing(mixes, flows)
    found = crossing_of(fluid.MODEL, mixes, flows, quick)
    return found if found.second is not None else PredictedCrossing(flows, quick, quick, quick)
