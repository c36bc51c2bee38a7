"""What a scenario sweeps: its settings and its mixes."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from ..contract.course import start_label
from ..contract.disciplines import file_label
from ..contract.errors import ConfigError
from ..contract.harm import HarmMixes
from ..contract.limit import Admission, Limit
from ..contract.link_checks import link_events
from ..contract.path_changes import rtt_range_ns
from ..contract.scenario import Scenario, Values, combinations, varied
from ..contract.scenario_keys import Bottleneck
from ..contract.sweep import MixSpec, PairMixes, is_count, written
from ..contract.trial import GroupMix, Mix, Setting
from ..contract.units import bdp_bytes

MAX_MIXES = 20_000


LABELS: dict[str, Callable[[Any], str]] = {
    "start": start_label,
    "duration": "d{}".format,
    "shared_buffer": str,
    "discipline": str,
    "kernel": "v{}".format,
    "rate": "c{}".format,
    "base_rtt": "t{}".format,
    "random_loss": lambda loss: f"l{loss}".replace("%", "pct"),
    "buffer": "b{}".format,
}
"""A value of a sweep's key as a part of the setting's label."""


def scenario_settings(scenario: Scenario) -> list[Setting]:
    """Every combination of what is swept.

    Raises:
        ConfigError: Two of them would have one name.
    """
    settings = [_setting(varied(scenario, each), each) for each in combinations(scenario)]
    label, times = Counter(setting.label for setting in settings).most_common(1)[0]
    if times > 1:
        raise ConfigError(
            f"{scenario.name}: sweep: two settings would be called {label}; write "
            "values that differ in letters, digits, `.`, `_` or `-`"
        )
    return settings


def scenario_mixes(scenario: Scenario) -> list[Mix]:
    """All mixes of a scenario, in the order of the second strategy's flows.

    Args:
        scenario: As it is at a setting.

    Raises:
        ConfigError: There are too many to ever run.
    """
    if isinstance(scenario.sweep.mixes, PairMixes):
        return _pair_mixes(scenario, scenario.sweep.mixes)
    if isinstance(scenario.sweep.mixes, HarmMixes):
        harm = scenario.sweep.mixes.mixes(scenario.strategies, scenario.total_flows)
        return [_from_spec(scenario, spec) for spec in harm]
    if scenario.sweep.mixes != "all":
        return [_from_spec(scenario, spec) for spec in scenario.sweep.mixes]
    number = math.prod(
        math.comb(group.count + len(scenario.strategies) - 1, len(scenario.strategies) - 1)
        for group in scenario.mixed
    )
    if number > MAX_MIXES:
        raise ConfigError(
            f"{scenario.name}: sweep.mixes: all makes {number} mixes; at most {MAX_MIXES}, "
            "list the ones to run"
        )
    per_group = [
        [_group_mix(scenario, index, counts) for counts in _compositions(scenario, index)]
        for index in range(len(scenario.mixed))
    ]
    return list(itertools.product(*per_group))


def mix_label(scenario: Scenario, mix: Mix) -> str:
    """Part of the trial ids: flows of the second and later strategies, group by group.

    `k03` is 3 flows of the second strategy; groups are joined by `_`, strategies by `x`. Where not
    all flows of a group run, `k00of01` says how many do.
    """
    groups = (
        "x".join(f"{group.counts[strategy]:02d}" for strategy in scenario.strategies[1:])
        for group in mix
    )
    running = sum(sum(group.counts.values()) for group in mix)
    return "k" + "_".join(groups) + ("" if running == scenario.total_flows else f"of{running:02d}")


def _setting(scenario: Scenario, values: Values) -> Setting:
    """One setting.

    Args:
        scenario: With the values.
        values: Of each swept key.
    """
    bottleneck = scenario.bottleneck
    rtt_ns = tuple(group.base_rtt.ns for group in scenario.flows)
    counts = tuple(group.count for group in scenario.flows)
    size = bottleneck.buffer.to_bytes(bottleneck.rate, scenario.flows[0].base_rtt)
    limit = _limit(bottleneck, size)
    is_plain = bottleneck.discipline.is_droptail and "discipline" not in values
    return Setting(
        label="-".join(_label(key, value) for key, value in values.items()),
        rate_bps=bottleneck.rate.bps,
        limit=limit,
        overhead_bytes=bottleneck.overhead.bytes,
        **{name: getattr(bottleneck, name) for name in Admission.model_fields},
        **link_events(scenario, limit),
        back=back.line(bottleneck.overhead.bytes) if (back := bottleneck.return_) else None,
        discipline=None if is_plain else bottleneck.discipline,
        queues=bottleneck.several(scenario.flows[0].base_rtt),
        buffer_bytes=size,
        buffer_label=str(bottleneck.buffer),
        buffer_bdp=size / bdp_bytes(bottleneck.rate, scenario.flows[0].base_rtt),
        base_rtt_ns=rtt_ns,
        random_loss_ppb=scenario.flows[0].random_loss.ppb if "random_loss" in values else None,
        kernel=scenario.kernel or "",
        start=values.get("start"),
        duration_ns=scenario.longest.ns if "duration" in values else None,
        flow_counts=counts if any(map(is_count, values)) else None,
        swept={k: v for k, v in values.items() if k not in LABELS and not is_count(k)},
        rtt_range_ns=rtt_range_ns(scenario.flows, rtt_ns),
    )


def _label(key: str, value: Any) -> str:
    """A value as a part of the setting's label; of a key that is swept by its path, with that."""
    if key in LABELS:
        return LABELS[key](value)
    return file_label(f"{key.partition('.')[2]}{written(value)}")


def _limit(bottleneck: Bottleneck, size: int) -> Limit:
    """The limit in the unit that it is meant in; several queues share their memory in bytes."""
    buffer = bottleneck.buffer
    if buffer.unit == "packets" and bottleneck.queues is None:
        return Limit(unit="packets", value=int(buffer.amount))
    return Limit(unit="bytes", value=size)


def _compositions(scenario: Scenario, group: int) -> Iterator[tuple[int, ...]]:
    """Counts per strategy that add up to the group's flows."""
    total, others = scenario.flows[group].count, len(scenario.strategies) - 1
    for rest in itertools.product(range(total + 1), repeat=others):
        if sum(rest) <= total:
            yield (total - sum(rest), *rest)


def _pair_mixes(scenario: Scenario, mixes: PairMixes) -> list[Mix]:
    """Pair by pair; where all flows run one strategy, the mix is that of several pairs."""
    total = scenario.flows[0].count
    counts, pairs = mixes.counts(total), mixes.of(scenario.strategies)
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
