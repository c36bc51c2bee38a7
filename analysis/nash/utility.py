"""The utility of a flow: throughput, throughput less a cost of delay, or a user's function."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from nashbed.controlplane.contract.functions import load_function
from nashbed.controlplane.contract.sweep import DelayUtility, UserUtility, UtilitySpec
from nashbed.controlplane.store.errors import RunError

from ..measures import TrialMeasures

Utility = Callable[[TrialMeasures, str, int], float]
"""(trial, strategy, group) -> utility of a flow of that strategy and group, in bit/s."""


def utility_of(spec: UtilitySpec) -> Utility:
    """The utility that a scenario asks for.

    Args:
        spec: The scenario's `equilibrium.utility`.

    Raises:
        ConfigError: The person's own function cannot be imported.
    """
    if isinstance(spec, DelayUtility):
        return throughput_less_delay(spec.delay_cost.bps * 1000)
    if isinstance(spec, UserUtility):
        return users_function(spec.function)
    return throughput


def utility_text(spec: UtilitySpec) -> str:
    """A utility in words."""
    if isinstance(spec, DelayUtility):
        return f"throughput less {spec.delay_cost} for each ms of mean queueing delay"
    return spec.function if isinstance(spec, UserUtility) else "throughput"


def throughput(trial: TrialMeasures, strategy: str, group: int) -> float:
    """Mean throughput of the like flows, in bit/s."""
    return trial.value("per_flow_throughput", strategy, group)


def throughput_less_delay(cost: float) -> Utility:
    """Throughput less cost x mean queueing delay of the flow's own packets.

    Where only the delay of all packets was measured, that one is taken.

    Args:
        cost: What a second of delay costs, in bit/s.

    Source: design of this testbed; linear in delay as in Vivace (Dong et al., NSDI 2018).
    """

    def utility(trial: TrialMeasures, strategy: str, group: int) -> float:
        delay_s = trial.value("per_flow_queueing_delay", strategy, group)
        if math.isnan(delay_s):
            delay_s = trial.value("mean_queueing_delay")
        return throughput(trial, strategy, group) - cost * delay_s

    return utility


def users_function(path: str) -> Utility:
    """A person's own utility.

    The function takes one mapping, metric (such as `per_flow_throughput`) -> its mean over the
    flows of one strategy and group, or the trial's value, in base units. What was not measured
    is not in it. It returns a number in bit/s, because gains are given as a share of the fair
    share. It is not called where the mix has no such flow.

    Args:
        path: Import path, `module:function`.

    Raises:
        ConfigError: It cannot be imported.
    """
    function = load_function(path, arguments=1)

    def utility(trial: TrialMeasures, strategy: str, group: int) -> float:
        if not trial.flow_mask(strategy, group).any():
            return math.nan
        try:
            return float(function(_metrics(trial, strategy, group)))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            raise RunError(f"utility {path} failed on trial {trial.trial.id}: {reason}") from error

    return utility


def _metrics(trial: TrialMeasures, strategy: str, group: int) -> Mapping[str, float]:
    names = [*trial.per_flow, *trial.total]
    return MappingProxyType({name: trial.value(name, strategy, group) for name in names})
