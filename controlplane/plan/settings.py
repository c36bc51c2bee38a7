"""Which settings a scenario sweeps, and what each asks of the target."""

from __future__ import annotations

from ..contract.course import StartSpec, start_label
from ..contract.scenario import Scenario
from ..contract.target import BottleneckProgram, Limit
from ..contract.trial import Setting
from ..contract.units import Buffer, Duration, Rate, Share, bdp_bytes


def scenario_settings(scenario: Scenario) -> list[tuple[Setting, BottleneckProgram]]:
    """Every combination of what is swept, with its program."""
    rates = scenario.sweep.rate or (scenario.bottleneck.rate,)
    rtts = scenario.sweep.base_rtt or (scenario.flows[0].base_rtt,)
    buffers = scenario.sweep.buffer or (scenario.bottleneck.buffer,)
    losses = scenario.sweep.random_loss or (None,)
    kernels = scenario.sweep.kernel or (scenario.kernel or "",)
    starts = scenario.sweep.start or (None,)
    return [
        _started(scenario, start, _setting(scenario, kernel, rate, rtt, loss, buffer))
        for start in starts
        for kernel in kernels
        for rate in rates
        for rtt in rtts
        for loss in losses
        for buffer in buffers
    ]


def _started(
    scenario: Scenario, start: StartSpec | None, made: tuple[Setting, BottleneckProgram]
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
    setting = Setting(
        label=label,
        rate_bps=rate.bps,
        buffer_bytes=size,
        buffer_label=str(buffer),
        buffer_bdp=size / bdp_bytes(rate, rtt),
        base_rtt_ns=(rtt.ns, *others),
        overhead_bytes=scenario.bottleneck.overhead.bytes,
        arrivals=scenario.bottleneck.arrivals,
        random_loss_ppb=None if loss is None else loss.ppb,
        kernel=kernel,
    )
    program = BottleneckProgram(
        rate_bps=rate.bps,
        limit=_limit(scenario, buffer, size),
        overhead_bytes=scenario.bottleneck.overhead.bytes,
        arrivals=scenario.bottleneck.arrivals,
    )
    return setting, program


def _limit(scenario: Scenario, buffer: Buffer, size: int) -> Limit:
    """The limit in the unit that it is meant in: cells, packets or bytes."""
    cell = scenario.bottleneck.cell
    if cell is not None:
        return Limit(unit="cells", value=size // cell.bytes, cell_bytes=cell.bytes)
    if buffer.unit == "packets":
        return Limit(unit="packets", value=int(buffer.amount))
    return Limit(unit="bytes", value=size)
