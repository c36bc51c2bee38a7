"""What a scenario sweeps: its settings and its mixes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..contract.course import start_label
from ..contract.errors import ConfigError
from ..contract.harm import HarmMixes
from ..contract.limit import Admission, Limit
from ..contract.link_checks import link_program
from ..contract.path_changes import rtt_range_ns
from ..contract.scenario import Scenario
from ..contract.scenario_keys import Bottleneck
from ..contract.sweep import MixSpec, PairMixes
from ..contract.trial import GroupMix, Mix, Setting
from ..contract.units import bdp_bytes

MAX_MIXES = 20_000


class Swept(NamedTuple):
    """A key of a sweep.

    Attributes:
        path: Where its values go in the scenario.
        label: A value as a part of the setting's label.
    """

    path: tuple[str, ...]
    label: Callable[[Any], str] = str


SWEPT = {
    "start": Swept(("start",), start_label),
    "memory": Swept(("bottleneck", "memory")),
    "discipline": Swept(("bottleneck", "discipline")),
    "kernel": Swept(("kernel",), "v{}".format),
    "rate": Swept(("bottleneck", "rate"), "c{}".format),
    "base_rtt": Swept(("flows", "base_rtt"), "t{}".format),
    "random_loss": Swept(("flows", "random_loss"), lambda loss: f"l{loss}".replace("%", "pct")),
    "buffer": Swept(("bottleneck", "buffer"), "b{}".format),
}
"""What a sweep varies, in the order of labels; a buffer is always in them."""


def scenario_settings(scenario: Scenario) -> list[Setting]:
    """Every combination of what is swept."""
    given = {key: getattr(scenario.sweep, key) for key in SWEPT}
    given["buffer"] = given["buffer"] or (scenario.bottleneck.buffer,)
    swept = {key: values for key, values in given.items() if values is not None}
    return [
        _setting(scenario, dict(zip(swept, values, strict=True)))
        for values in itertools.product(*swept.values())
    ]


def scenario_mixes(scenario: Scenario) -> list[Mix]:
    """All mixes of a scenario, in the order of the second strategy's flows.

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


def _setting(scenario: Scenario, swept: Mapping[str, Any]) -> Setting:
    """One setting.

    Args:
        scenario: The scenario.
        swept: Its value of each swept key.
    """
    for key, value in swept.items():
        scenario = _with(scenario, SWEPT[key].path, value)
    bottleneck = scenario.bottleneck
    rtt_ns = tuple(group.base_rtt.ns for group in scenario.flows)
    size = bottleneck.buffer.to_bytes(bottleneck.rate, scenario.flows[0].base_rtt)
    limit = _limit(bottleneck, size)
    is_plain = bottleneck.discipline.is_droptail and "discipline" not in swept
    return Setting(
        label="-".join(SWEPT[key].label(value) for key, value in swept.items()),
        rate_bps=bottleneck.rate.bps,
        limit=limit,
        overhead_bytes=bottleneck.overhead.bytes,
        **{name: getattr(bottleneck, name) for name in Admission.model_fields},
        back=bottleneck.return_ and bottleneck.return_.program(bottleneck.overhead.bytes),
        buffer_bytes=size,
        buffer_label=str(bottleneck.buffer),
        buffer_bdp=size / bdp_bytes(bottleneck.rate, scenario.flows[0].base_rtt),
        base_rtt_ns=rtt_ns,
        random_loss_ppb=scenario.flows[0].random_loss.ppb if "random_loss" in swept else None,
        kernel=scenario.kernel or "",
        start=swept.get("start"),
        discipline=None if is_plain else bottleneck.discipline,
        queues=bottleneck.shared,
        rtt_range_ns=rtt_range_ns(scenario.flows, rtt_ns),
        link=link_program(scenario, limit),
    )


def _with(model: Any, path: Sequence[str], value: object) -> Any:
    """A part of a scenario with another value at a path; a list has it in each of its entries."""
    if not path:
        return value
    if isinstance(model, tuple):
        return tuple(_with(part, path, value) for part in model)
    return model.model_copy(update={path[0]: _with(getattr(model, path[0]), path[1:], value)})


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
