"""Numbers as a person reads them."""

import math
from collections.abc import Sequence

from nashbed.controlplane.contract.course import start_text
from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.trial import Setting
from nashbed.controlplane.contract.units import Duration, Rate, Size

from .metrics.statistics import Estimate

NONE = "\u2013"
"""Stands where there is no number."""


def shown(value: float, unit: str) -> float:
    """A value of a metric in the unit in which it is shown."""
    return value * DISPLAY[unit][0]


def number(value: float | None, digits: int = 3) -> str:
    """A number with about `digits` significant digits, a dash where there is none."""
    if value is None or not math.isfinite(value):
        return NONE
    places = 0 if value == 0 else max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:.{min(places, digits)}f}"


def with_interval(estimate: Estimate | None) -> tuple[str, str]:
    """Mean and half width of the 95 % interval, e.g. `12.3` and `± 0.4`; empty at n = 1.

    Where the observations stand in the interval's place they are given, e.g. `(0.7, 3.1)`.
    """
    if estimate is None:
        return NONE, ""
    mean = number(estimate.mean)
    if estimate.points:
        return mean, f"({', '.join(number(point) for point in estimate.points)})"
    if estimate.ci95 is None:
        return mean, ""
    places = len(mean.partition(".")[2])
    smallest = 10.0**-places
    if 0 < estimate.ci95 < smallest / 2:
        return mean, f"± <{smallest:.{places}f}"
    return mean, f"± {estimate.ci95:.{places}f}"


def trials_text(counts: Sequence[int]) -> str:
    """How many trials are behind plotted means, e.g. `n = 2 trials` or `n = 1 to 3 trials`."""
    low, high = min(counts), max(counts)
    n = f"n = {low}" if low == high else f"n = {low} to {high}"
    return f"{n} trial{'s' if high > 1 else ''}"


def rate_text(bps: float) -> str:
    """A rate with its unit, e.g. `100 Mbit/s`."""
    return str(Rate(round(bps))).replace("mbit", " Mbit/s").replace("gbit", " Gbit/s")


def size_text(size: int) -> str:
    """A size with its unit, e.g. `1 MB`."""
    text = str(Size(size))
    unit = text.lstrip("0123456789.")
    return f"{text[: len(text) - len(unit)]} {unit}"


def duration_text(ns: int) -> str:
    """A duration with its unit, e.g. `40 ms`."""
    text = str(Duration(ns))
    unit = text.lstrip("0123456789.")
    return f"{text[: len(text) - len(unit)]} {unit}"


def buffer_text(setting: Setting, buffer_bytes: int) -> str:
    """A buffer as its scenario means it: `10 BDP`, or the applied size."""
    bdp = setting.buffer_label.replace("bdp", " BDP")
    return size_text(buffer_bytes) if bdp == setting.buffer_label else bdp


def setting_text(setting: Setting, rate_bps: int, buffer_bytes: int) -> str:
    """A setting in words, with what was applied."""
    rtts = sorted(set(setting.base_rtt_ns))
    base = "/".join(duration_text(rtt) for rtt in rtts)
    size, buffer = size_text(buffer_bytes), buffer_text(setting, buffer_bytes)
    buffer = buffer if buffer == size else f"{buffer} ({size})"
    base_text = f"{rate_text(rate_bps)}, base RTT {base}, buffer {buffer}"
    return base_text + conditions_text(setting)


def conditions_text(setting: Setting) -> str:
    """What else distinguishes a setting than rate, base RTT, buffer and loss; often nothing."""
    several = setting.discipline is not None or setting.queues is not None
    parts = [setting.queue_text] if several else []
    parts += [setting.swept_text] if setting.swept else []
    flows = " and ".join(map(str, setting.flow_counts or ()))
    parts += [f"{flows} flow{'s' if flows != '1' else ''}"] if flows else []
    parts += [f"trials of {duration_text(setting.duration_ns)}"] if setting.duration_ns else []
    parts += [f"kernel {setting.kernel}"] if setting.kernel else []
    parts += [] if setting.start is None else [start_text(setting.start)]
    return "".join(f", {part}" for part in parts)
