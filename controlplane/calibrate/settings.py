"""What a testbed is calibrated at, from its file and what its target can do."""

from __future__ import annotations

from dataclasses import dataclass

from ..contract.errors import ConfigError
from ..contract.target import Capabilities, Limit
from ..contract.testbed import Testbed
from ..contract.units import PACKET_BYTES, Duration, Rate

LIMITS_BYTES = (30_000, 100_000, 1_000_000)
LIMIT_PACKETS = 64
LIMIT_CELLS = (1_250, 80)
BASE_RTTS_NS = (5 * 10**6, 20 * 10**6, 40 * 10**6, 100 * 10**6)
SMALL_SHARE = 10
SECONDS = 3.0


@dataclass(frozen=True)
class Settings:
    """What is measured.

    Attributes:
        rates_bps: Bottleneck rates.
        limits: Buffer limits.
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
        can: What the target can do.
        rates: Rates to calibrate at.
        base_rtts: Base RTTs to calibrate at.

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
        if limit.unit in can.limit_units and _bytes_at_most(limit) <= can.max_buffer_bytes
    )


def _bytes_at_most(limit: Limit) -> int:
    return (
        limit.value * {"bytes": 1, "packets": PACKET_BYTES, "cells": limit.cell_bytes}[limit.unit]
    )
