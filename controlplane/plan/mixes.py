"""Which mixes a scenario runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from ..contract.errors import ConfigError
from ..contract.scenario import MixSpec, PairMixes, Scenario
from ..contract.trial import GroupMix, Mix

MAX_MIXES = 20_000


def scenario_mixes(scenario: Scenario) -> list[Mix]:
    """All mixes of a scenario, in the order of the second strategy's flows.

    Raises:
        ConfigError: There are too many to ever run.
    """
    if isinstance(scenario.sweep.mixes, PairMixes):
        return _pair_mixes(scenario, scenario.sweep.mixes)
    if scenario.sweep.mixes != "all":
        return [_from_spec(scenario, spec) for spec in scenario.sweep.mixes]
    number = math.prod(
        math.comb(group.count + len(scenario.strategies) - 1, len(scenario.strategies) - 1)
        for group in scenario.flows
    )
    if number > MAX_MIXES:
        raise ConfigError(
            f"{scenario.name}: sweep.mixes: all makes {number} mixes; at most {MAX_MIXES}, "
            "list the ones to run"
        )
    per_group = [
        [_group_mix(scenario, index, counts) for counts in _compositions(scenario, index)]
        for index in range(len(scenario.flows))
    ]
    return list(itertools.product(*per_group))


def mix_label(scenario: Scenario, mix: Mix) -> str:
    """Part of the trial ids: flows of the second and later strategies, group by group.

    `k03` is 3 flows of the second strategy; groups are joined by `_`, strategies by `x`.
    """
    groups = (
        "x".join(f"{group.counts[strategy]:02d}" for strategy in scenario.strategies[1:])
        for group in mix
    )
    return "k" + "_".join(groups)


def _compositions(scenario: Scenario, group: int) -> Iterator[tuple[int, ...]]:
    """Counts per strategy that add up to the group's flows."""
    total, others = scenario.flows[group].count, len(scenario.strategies) - 1
    for rest in itertools.product(range(total + 1), repeat=others):
        if sum(rest) <= total:
            yield (total - sum(rest), *rest)


def _pair_mixes(scenario: Scenario, mixes: PairMixes) -> list[Mix]:
    """Pair by pair; where all flows run one strategy, the mix is that of several pairs."""
    names, total = scenario.strategies, scenario.flows[0].count
    pairs = [
        p for p in itertools.combinations(names, 2) if mixes.pairs == "all" or p[0] == names[0]
    ]
    counts = mixes.counts(total)
    splits = [((first, total - k), (other, k)) for first, other in pairs for k in counts]
    present = (tuple((name, count) for name, count in split if count) for split in splits)
    return [_from_spec(scenario, dict(split)) for split in dict.fromkeys(present)]


def _from_spec(scenario: Scenario, spec: MixSpec) -> Mix:
    if isinstance(spec, dict):
        return (_group_mix(scenario, 0, tuple(spec.get(s, 0) for s in scenario.strategies)),)
    counts = (spec,) if isinstance(spec, int) else spec
    return tuple(
        _group_mix(scenario, index, (scenario.flows[index].count - count, count))
        for index, count in enumerate(counts)
    )


def _group_mix(scenario: Scenario, group: int, counts: tuple[int, ...]) -> GroupMix:
    named = dict(zip(scenario.strategies, counts, strict=True))
    return GroupMix(group=group, name=scenario.flows[group].name, counts=named)
