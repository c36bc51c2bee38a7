"""The page's section on queue and throughput, as plain data."""

from __future__ import annotations

import math
from typing import Any

from ..correlation import RunCorrelation, mix_readings
from ..correlation.of_run import READINGS, MixReadings
from ..metrics.interval import Estimate
from ..metrics.occupancy_share import ShareLine
from ..state import state_text
from ..text import DISPLAY, number, shown, with_interval

Json = dict[str, Any]


def correlation_context(run: RunCorrelation) -> Json | None:
    """Everything the section shows; None if nothing could be correlated."""
    fits = _fits(run)
    mixes = _mixes(run)
    if not fits and not mixes:
        return None
    return {
        "k": run.k.text() if run.k is not None else "",
        "fits": fits,
        "columns": [_heading(title, unit) for title, unit, _ in READINGS.values()],
        "mixes": mixes,
    }


def without_nan(value: Any) -> Any:
    """The same nested data with None where a number is not finite."""
    if isinstance(value, dict):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _fits(run: RunCorrelation) -> list[Json]:
    rows = []
    for setting in run.measures.run.settings:
        for name in (None, *run.measures.strategies):
            fit = run.fit(setting, name)
            if fit is None:
                continue
            numbers = [
                str(fit.n),
                number(fit.slope),
                number(fit.r2),
                number(fit.explained),
                number(shown(fit.rms_residual, "bit/s")),
                *_line(run.shares(setting, name)),
            ]
            rows.append({"setting": setting.label, "flows": name or "all", "numbers": numbers})
    return rows


def _line(line: ShareLine | None) -> list[str]:
    return [number(None), number(None)] if line is None else [number(line.slope), number(line.r2)]


def _mixes(run: RunCorrelation) -> list[Json]:
    rows = []
    for setting in run.measures.run.settings:
        for mix in mix_readings(run, setting):
            if not any(mix.readings.values()):
                continue
            text = state_text(mix.state, run.measures.strategies, run.measures.group_names)
            cells = [_cell(mix, name, unit) for name, (_, unit, _) in READINGS.items()]
            rows.append({"setting": setting.label, "mix": text, "cells": cells})
    return rows


def _cell(mix: MixReadings, name: str, unit: str) -> Json:
    estimate: Estimate | None = mix.readings[name]
    mean, interval = with_interval(None if estimate is None else estimate.scaled(shown(1, unit)))
    model = mix.model.get(name)
    return {
        "mean": mean,
        "interval": interval,
        "model": "" if model is None else number(shown(model, unit)),
    }


def _heading(title: str, unit: str) -> str:
    shown_unit = DISPLAY[unit][1]
    text = title[0].upper() + title[1:]
    return f"{text} ({shown_unit})" if shown_unit else text
