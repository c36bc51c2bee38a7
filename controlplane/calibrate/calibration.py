"""What a testbed is calibrated at, from its file and what its target can do."""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from ..contract.certificate import CalibrationCheck
from ..contract.errors import ConfigError, NashbedError
from ..contract.target import Applied, Capabilities, Lane, Limit
from ..contract.testbed import Testbed
from ..contract.units import PACKET_BYTES, Duration, Rate
from .checks import (
    judge_base_rtts,
    judge_clock,
    judge_completeness,
    judge_full_queue,
    judge_open_path,
    judge_rate,
    rate_error_percent,
    tolerance_ms,
)
from .drop_point import BURST_PPS, STOPPED_BPS, burst_steps, judge_drop_point, limit_name
from .load import BurstStep
from .rig import CalibrationRig, Observation, Stimulus

LOG = logging.getLogger(__name__)

LIMITS_BYTES = (30_000, 100_000, 1_000_000)
LIMIT_PACKETS = 64
LIMIT_CELLS = (1_250, 80)
BASE_RTTS_NS = (5 * 10**6, 20 * 10**6, 40 * 10**6, 100 * 10**6)
SMALL_SHARE = 10
SECONDS = 3.0
OVERLOAD_PERCENT = 115
QUEUE_S = 0.02
LEAST_QUEUE_PACKETS = 30
IDLE_S = 1.0
OPEN_LOAD_S = 1.2
PROBE_TAIL_S = 0.3
ATTEMPTS = 3
MOST_EMPTYING_S = 120
Resolve = Callable[[Lane], Applied]


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Attributes:
        base_rtts_ns: Base RTTs, one flow group each.
        open_rate_bps: A rate that is out of the way.
        load_bps: Load that the path must carry without a queue.
        seconds: How long each rate is overloaded.
    """

    rates_bps: tuple[int, ...]
    limits: tuple[Limit, ...]
    base_rtts_ns: tuple[int, ...]
    open_rate_bps: int
    load_bps: int
    seconds: float = SECONDS


def make_settings(
    testbed: Testbed,
    can: Capabilities,
    rates: tuple[Rate, ...] = (),
    base_rtts: tuple[Duration, ...] = (),
) -> Settings:
    """Decide what is measured.

    Args:
        testbed: Its capacity is the rate to be used, unless rates are given.

    Raises:
        ConfigError: The target cannot do what is asked.
    """
    capacity = min(testbed.capacity.rate.bps, can.max_rate_bps)
    asked = tuple(rate.bps for rate in rates) or (capacity // SMALL_SHARE, capacity)
    for rate in asked:
        if rate > can.max_rate_bps:
            raise ConfigError(
                f"--rate {Rate(rate)}: target {can.target} supports at most "
                f"{Rate(can.max_rate_bps)}"
            )
    return Settings(
        rates_bps=asked,
        limits=limits_of(can),
        base_rtts_ns=tuple(rtt.ns for rtt in base_rtts) or BASE_RTTS_NS,
        open_rate_bps=can.max_rate_bps,
        load_bps=max(asked) * 9 // 10,
    )


def limits_of(can: Capabilities) -> tuple[Limit, ...]:
    """Limits in each unit that the target enforces, as far as its buffer goes."""
    cells, cell_bytes = LIMIT_CELLS
    every = (
        *(Limit(unit="bytes", value=value) for value in LIMITS_BYTES),
        Limit(unit="packets", value=LIMIT_PACKETS),
        Limit(unit="cells", value=cells, cell_bytes=cell_bytes),
    )
    return tuple(
        limit
        for limit in every
        if limit.unit in can.names("unit") and _bytes_at_most(limit) <= can.max_buffer_bytes
    )


def _bytes_at_most(limit: Limit) -> int:
    return (
        limit.value * {"bytes": 1, "packets": PACKET_BYTES, "cells": limit.cell_bytes}[limit.unit]
    )


@dataclass(frozen=True)
class Measurement:
    """One thing to measure."""

    title: str
    stimulus: Stimulus
    judge: Callable[[Observation], list[CalibrationCheck]]


def plan_measurements(
    settings: Settings, rig: CalibrationRig, can: Capabilities, resolve: Resolve
) -> list[Measurement]:
    """Everything that a calibration measures."""
    return [
        _open_path(settings, rig, can),
        *(_overload(rate, settings, rig, can) for rate in settings.rates_bps),
        *(
            _drop_point(limit, rig, can, resolve)
            for limit in settings.limits
            if _is_soon_empty(limit, resolve)
        ),
    ]


def calibrate(
    rig: CalibrationRig, measurements: list[Measurement], show_step: Callable[[str, int], None]
) -> tuple[CalibrationCheck, ...]:
    """Measure everything; returns the verdicts.

    Args:
        show_step: Called before each measurement: its title, and how many are done.
    """
    checks: list[CalibrationCheck] = []
    for done, measurement in enumerate(measurements):
        show_step(measurement.title, done)
        verdicts = _measure(rig, measurement)
        for each in verdicts:
            LOG.info("%s at %s: %s %s", each.name, each.setting, each.value, each.detail)
        checks += verdicts
    show_step("done", len(measurements))
    return tuple(checks)


def _measure(rig: CalibrationRig, measurement: Measurement) -> list[CalibrationCheck]:
    """Measure until nothing was lost on the way, as often as that is worth trying.

    A frame that a busy machine lost says nothing about the bottleneck. A bound that is missed
    by a whole measurement is a result: it is not tried again.
    """
    for left in reversed(range(ATTEMPTS)):
        observed = rig.measure(measurement.stimulus)
        if left == 0 or not disturbed(observed):
            break
    return measurement.judge(observed)


def disturbed(observed: Observation) -> bool:
    """Whether frames were lost that the bottleneck has nothing to do with."""
    arrived = sum(observed.counters.flows.arrived_packets)
    departed = sum(observed.counters.flows.departed_packets)
    sent = observed.sent + len(observed.schedule)
    return observed.lost_elsewhere > 0 or arrived != sent or departed != len(observed.seen)


def _open_path(settings: Settings, rig: CalibrationRig, can: Capabilities) -> Measurement:
    load = str(Rate(settings.load_bps))
    pps = _packets_per_second(settings.load_bps)
    stimulus = Stimulus(
        name="open-path",
        bottleneck=Lane(rate_bps=settings.open_rate_bps, limit=_limit(can, can.max_buffer_bytes)),
        burst=rig.lane.burst(_full_sized(pps, OPEN_LOAD_S), pps),
        probe_seconds=IDLE_S + OPEN_LOAD_S + PROBE_TAIL_S,
        lead_seconds=IDLE_S,
    )

    def judge(observed: Observation) -> list[CalibrationCheck]:
        checks = judge_base_rtts(observed, rig.lane, tolerance_ms(can))
        return [*checks, judge_open_path(load, observed, rig.lane, tolerance_ms(can))]

    return Measurement(f"base RTTs, and the open path under {load}", stimulus, judge)


def _overload(rate: int, settings: Settings, rig: CalibrationRig, can: Capabilities) -> Measurement:
    setting = str(Rate(rate))
    pps = _packets_per_second(rate * OVERLOAD_PERCENT // 100)
    room = max(int(rate * QUEUE_S / 8), LEAST_QUEUE_PACKETS * PACKET_BYTES)
    stimulus = Stimulus(
        name=f"rate-{setting}",
        bottleneck=Lane(rate_bps=rate, limit=_limit(can, room)),
        burst=rig.lane.burst(_full_sized(pps, settings.seconds), pps),
        probe_seconds=settings.seconds,
    )

    def judge(observed: Observation) -> list[CalibrationCheck]:
        return [
            judge_rate(setting, observed, rate_error_percent(can)),
            judge_full_queue(setting, observed, rig.lane, tolerance_ms(can)),
            *judge_clock(setting, observed),
            judge_completeness(setting, observed),
        ]

    return Measurement(f"rate and telemetry at {setting}", stimulus, judge)


def _drop_point(
    limit: Limit, rig: CalibrationRig, can: Capabilities, resolve: Resolve
) -> Measurement:
    setting = limit_name(limit)
    bottleneck = _slowest(limit, resolve)
    steps = burst_steps(resolve(bottleneck).limit, rig.step_s)
    sizes = [step.frame_bytes for step in steps for _ in range(step.count)]
    stimulus = Stimulus(
        name=f"drop-{limit.unit}-{limit.value}",
        bottleneck=bottleneck,
        burst=rig.lane.burst(steps, BURST_PPS),
        drain=False,
    )
    tolerance = can.queue_tolerance_bytes or 0
    return Measurement(
        f"drop point at {setting}",
        stimulus,
        lambda observed: [judge_drop_point(setting, observed, sizes, tolerance)],
    )


def _slowest(limit: Limit, resolve: Resolve) -> Lane:
    """A bottleneck as close to a standstill as the target goes."""
    programs = [Lane(rate_bps=rate, limit=limit) for rate in STOPPED_BPS]
    for program in programs[:-1]:
        try:
            resolve(program)
        except NashbedError:
            continue
        return program
    return programs[-1]


def _is_soon_empty(limit: Limit, resolve: Resolve) -> bool:
    """Whether the lane can be used again within minutes after its queue was filled.

    Where every packet has its slot, a reset waits until the last one has left.
    """
    applied = resolve(_slowest(limit, resolve))
    slot_s = applied.slot_bytes * 8 / applied.rate_bps
    return applied.buffer_bytes / PACKET_BYTES * slot_s <= MOST_EMPTYING_S


def _full_sized(pps: int, seconds: float) -> tuple[BurstStep, ...]:
    return (BurstStep(PACKET_BYTES, max(1, int(pps * seconds))),)


def _packets_per_second(rate_bps: int) -> int:
    return max(1, rate_bps // (8 * PACKET_BYTES))


def _limit(can: Capabilities, room_bytes: int) -> Limit:
    """A limit of so many bytes, in the finest unit that the target has."""
    value = min(room_bytes, can.max_buffer_bytes)
    if "bytes" in can.names("unit"):
        return Limit(unit="bytes", value=value)
    return Limit(unit="packets", value=max(1, value // PACKET_BYTES))
