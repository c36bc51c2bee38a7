"""Read fields out of the data plane's answers, refusing what is not as agreed."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from ..contract.errors import TargetError
from ..contract.shared import FLOW_REGISTERS
from ..contract.target import Limit
from ..contract.units import PACKET_BYTES
from .base import TelemetryTotals


def whole(answer: dict[str, Any], key: str) -> int:
    """A whole number that is not negative."""
    value = answer.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TargetError(f"data plane: {key} is {value!r}, expected a whole number")
    return value


def mapping(answer: dict[str, Any], key: str) -> dict[str, Any]:
    """An object."""
    value = answer.get(key)
    if not isinstance(value, dict):
        raise TargetError(f"data plane: {key} is {type(value).__name__}, expected an object")
    return value


def flow_registers(answer: dict[str, Any], count: int) -> dict[str, list[int]]:
    """The per-flow registers, one list of `count` numbers each."""
    found = mapping(answer, "flows")
    registers: dict[str, list[int]] = {}
    for name in FLOW_REGISTERS:
        values = found.get(name)
        if not isinstance(values, list) or len(values) != count:
            raise TargetError(f"data plane: counters: {name} has not {count} values")
        registers[name] = [whole({name: value}, name) for value in values]
    return registers


def lane_registers(answer: dict[str, Any]) -> dict[str, Any]:
    """The lane's own registers, with everything that is looked at later."""
    lane = mapping(answer, "lane")
    for key in ("queue_packets", "delay_packets"):
        whole(lane, key)
    lateness = mapping(lane, "lateness")
    for key in ("count", "p50_ns", "p999_ns", "max_ns", "max_gap_ns"):
        whole(lateness, key)
    return lane


def totals(answer: dict[str, Any]) -> TelemetryTotals:
    """Totals of a telemetry stream."""
    return TelemetryTotals(
        seen=whole(answer, "seen"),
        written=whole(answer, "written"),
        gaps=whole(answer, "gaps"),
        lost=whole(answer, "lost"),
    )


def limit(answer: dict[str, Any]) -> Limit:
    """A limit as applied."""
    try:
        return Limit.model_validate(mapping(answer, "limit"))
    except ValidationError as error:
        raise TargetError(f"data plane: limit is {answer['limit']!r}") from error


def limit_bytes(found: Limit) -> int:
    """A limit as bytes; a packet counts as a full-sized frame."""
    if found.unit == "packets":
        return found.value * PACKET_BYTES
    return found.value * (found.cell_bytes if found.unit == "cells" else 1)
