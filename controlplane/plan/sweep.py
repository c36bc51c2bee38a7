"""What a scenario sweeps: its settings, each with what it asks of the target, and its mixes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from ..contract.course import StartSpec, start_label
from ..contract.disciplines import Discipline
from ..contract.errors import ConfigError
from ..contract.harm import HarmMixes
from ..contract.link_changes import link_program
from ..contract.path_changes import rtt_range_ns
from ..contract.queues import Memory
from ..contract.scenario import Scenario
from ..contract.sweep import MixSpec, PairMixes
from ..contract.target import BottleneckProgram, Limit
from ..contract.trial import GroupMix, Mix, Setting
from ..contract.units import Buffer, Duration, Rate, Share, bdp_bytes

MAX_MIXES = 20_000


def scenario_settings(scenario: Scenario) -> list[tuple[Setting, BottleneckProgram]]:
    """Every combination of what is swept, with its program."""
    rates = scenario.sweep.rate or (scenario.bottleneck.rate,)
    rtts = scenario.sweep.base_rtt or (scenario.flows[0].base_rtt,)
    buffers = scenario.sweep.buffer or (scenario.bottleneck.buffer,)
    disciplines = scenario.sweep.discipline or (scenario.bottleneck.discipline,)
    memories = scenario.sweep.memory or (None,)
    losses = scenario.sweep.random_loss or (None,)
    kernels = scenario.sweep.kernel or (scenario.kernel or "",)
    starts = scenario.sweep.start or (None,)

    def made(
        kernel: str, rate: Rate, rtt: Duration, loss: Share | None, buffer: Buffer
    ) -> tuple[Setting, BottleneckProgram]:
        plain = _setting(scenario, kernel, rate, rtt, loss, buffer)
        return _linked(scenario, rate, rtt, plain)

    return [
        _started(
            start,
            _shared(
                scenario,
                memory,
                _queued(scenario, queue, made(kernel, rate, rtt, loss, buffer)),
            ),
        )
        for start in starts
        for kernel in kernels
        for memory in memories
        for queue in disciplines
        for rate in rates
        for rtt in rtts
        for loss in losses
        for buffer in buffers
    ]


def scenario_mixes(scenario: Scenario) -> list[Mix]:
    """All mixes of a scenario, in the order of the second strategy's flows.

    Raises:
        ConfigError: There are too many to ever run.
    """
    if isinstance(scenario.sweep.mixes, PairMixes):
        return _pair_mixes(scenario, scenario.sweep.mixes)
    if isinstance(scenario.sweep.mixes, HarmMixes):
        return [_from_spec(scenario, spec) for spec in scenario.sweep.mixes.mixes(scenario)]
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


def _queued(
    scenario: Scenario, queue: Discipline, made: tuple[Setting, BottleneckProgram]
) -> tuple[Setting, BottleneckProgram]:
    """The setting with its queue's discipline."""
    swept = scenario.sweep.discipline is not None
    if queue.is_droptail and not swept:
        return made
    setting, program = made
    label = f"{queue.label}-{setting.label}" if swept else setting.label
    return (
        setting.model_copy(update={"label": label, "discipline": queue}),
        program.model_copy(update={"discipline": queue.program}),
    )


def _linked(
    scenario: Scenario, rate: Rate, rtt: Duration, made: tuple[Setting, BottleneckProgram]
) -> tuple[Setting, BottleneckProgram]:
    """The setting with what happens to its link."""
    setting, program = made
    link = link_program(scenario, rate, rtt, program.limit)
    if link is None:
        return made
    update = {"link": link}
    return setting.model_copy(update=update), program.model_copy(update=update)


def _shared(
    scenario: Scenario, memory: Memory | None, made: tuple[Setting, BottleneckProgram]
) -> tuple[Setting, BottleneckProgram]:
    """The setting with its several queues, if it has them."""
    queues = scenario.bottleneck.shared
    if queues is None:
        return made
    setting, program = made
    if memory is not None:
        queues = queues.with_memory(memory)
        setting = setting.model_copy(update={"label": f"{memory.label}-{setting.label}"})
    setting = setting.model_copy(update={"queues": queues})
    return setting, program.model_copy(update={"queues": setting.queues_program})


def _started(
    start: StartSpec | None, made: tuple[Setting, BottleneckProgram]
) -> tuple[Setting, BottleneckProgram]:
    """The setting with the start that is swept."""
    if start is None:
        return made
    setting, program = made
    label = f"{start_label(start)}-{setting.label}"
    return setting.model_copy(update={"label": label, "start": start}), program


def _setting(
    scenario: Scenario, kernel: str, rate: Rate, rtt: Duration, loss: Share | None, buffer: Buffer
) -> tuple[Setting, BottleneckProgram]:
    size = buffer.to_bytes(rate, rtt)
    label = f"b{buffer}"
    if loss is not None:
        label = f"l{str(loss).replace('%', 'pct')}-{label}"
    if scenario.sweep.base_rtt is not None:
        label = f"t{rtt}-{label}"
    if scenario.sweep.rate is not None:
        label = f"c{rate}-{label}"
    if scenario.sweep.kernel is not None:
        label = f"v{kernel}-{label}"
    others = tuple(group.base_rtt.ns for group in scenario.flows[1:])
    back = scenario.bottleneck.return_
    setting = Setting(
        label=label,
        rate_bps=rate.bps,
        buffer_bytes=size,
        buffer_label=str(buffer),
        buffer_bdp=size / bdp_bytes(rate, rtt),
        base_rtt_ns=(rtt.ns, *others),
        rtt_range_ns=rtt_range_ns(scenario.flows, (rtt.ns, *others)),
        overhead_bytes=scenario.bottleneck.overhead.bytes,
        arrivals=scenario.bottleneck.arrivals,
        limit_counts=scenario.bottleneck.limit_counts,
        random_loss_ppb=None if loss is None else loss.ppb,
        kernel=kernel,
        back=back and back.program(scenario.bottleneck.overhead.bytes),
    )
    program = BottleneckProgram(
        rate_bps=rate.bps,
        limit=_limit(scenario, buffer, size),
        overhead_bytes=scenario.bottleneck.overhead.bytes,
        arrivals=scenario.bottleneck.arrivals,
        limit_counts=scenario.bottleneck.limit_counts,
        back=setting.back,
    )
    return setting, program


def _limit(scenario: Scenario, buffer: Buffer, size: int) -> Limit:
    """The limit in the unit that it is meant in: cells, packets or bytes.

    Several queues share their memory in bytes.
    """
    cell = scenario.bottleneck.cell
    if cell is not None:
        return Limit(unit="cells", value=size // cell.bytes, cell_bytes=cell.bytes)
    if buffer.unit == "packets" and scenario.bottleneck.queues is None:
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
