"""The page's section on models: how far each is from the measured mixes and equilibria."""

from collections.abc import Sequence

from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.store.finished_run import once

from ..measures import RunMeasures
from ..models import MODELS
from ..models.accuracy import (
    NEAR_FLOWS,
    Accuracy,
    BufferAccuracy,
    EquilibriumAccuracy,
    GameAccuracy,
    ModelErrors,
    model_errors,
)
from ..models.crossing import CrossingAnswer
from ..models.measured import mixes_of_measures
from ..text import NONE


@once
def models_of(measures: RunMeasures) -> ModelErrors:
    """Hold every model against a run."""
    measured = mixes_of_measures(measures)
    return model_errors(measured.mixes, measured.games)


def models_context(found: ModelErrors) -> JsonObject | None:
    """Everything the section shows; None if there is nothing to hold models against."""
    if not found.buffers:
        return None
    every = found.buffers[-1]
    # Of two rows the second says the same: all buffers are the one.
    rows = found.buffers if len(found.buffers) > 2 else found.buffers[:1]
    names = [e.model for e in every.models if e.answered]
    off = {each.model: each for each in found.equilibria}
    return {
        "models": [MODELS[name].title for name in names],
        "rows": [_row(row, names) for row in rows],
        "spread": _spread(every),
        "equilibria": [_game(game, names) for game in found.games],
        "equilibrium_errors": [_within(off.get(name)) for name in names] if found.games else [],
        "near": NEAR_FLOWS,
        "sentences": _sentences(every, off),
        "refusals": _refusals(every),
    }


def _row(row: BufferAccuracy, names: Sequence[str]) -> JsonObject:
    errors = {error.model: error for error in row.models}
    return {
        "buffer": "all" if row.buffer_bdp is None else f"{row.buffer_bdp:g} BDP",
        "mixes": row.mixes,
        "errors": [_error(errors[name], row.mixes) for name in names],
    }


def _error(error: Accuracy, mixes: int) -> JsonObject:
    if error.median_abs is None or error.median is None or error.p90_abs is None:
        return {"median": NONE, "rest": "refused"}
    bias = round(100 * error.median, 1) + 0.0  # never -0.0
    rest = f"{bias:+.1f}; {100 * error.p90_abs:.1f}"
    answered = "" if error.answered == mixes else f"; n {error.answered}"
    return {"median": f"{100 * error.median_abs:.1f}", "rest": f"({rest}{answered})"}


def _spread(row: BufferAccuracy) -> str:
    """How far apart the seeds of a model with chance are."""
    spreads = [
        f"{MODELS[e.model].title}: {100 * e.spread:.1f}" for e in row.models if e.spread is not None
    ]
    return ", ".join(spreads)


def _game(game: GameAccuracy, names: Sequence[str]) -> JsonObject:
    return {
        "setting": game.setting,
        "measured": ", ".join(map(str, game.measured_cubic)),
        "flows": game.flows,
        "predicted": [_crossing(game.of(name)) for name in names],
    }


def _crossing(each: CrossingAnswer) -> str:
    """CUBIC flows at a model's equilibrium, with their range where it has one."""
    if each.cubic is None or each.bbr_range is None:
        return NONE
    low, high = each.bbr_range
    text = f"{each.cubic:.1f}"
    return text if low == high else f"{text} ({each.flows - high:.1f} to {each.flows - low:.1f})"


def _within(error: EquilibriumAccuracy | None) -> str:
    if error is None or error.median_abs is None or error.within is None:
        return NONE
    near = round(error.within * error.answered)
    return f"{error.median_abs:.1f} ({near} of {error.answered})"


def _sentences(row: BufferAccuracy, off: dict[str, EquilibriumAccuracy]) -> list[str]:
    """Which model is nearest, in plain words."""
    return [*_nearest_share(row), *_nearest_equilibrium(off)]


def _nearest_share(row: BufferAccuracy) -> list[str]:
    nearest = row.nearest
    if nearest is None or nearest.median_abs is None or nearest.p90_abs is None:
        return []
    rest = [e for e in row.models if e.median_abs is not None and e is not nearest]
    text = (
        f"Closest to the {nearest.answered} measured mixes is {_quoted(nearest.model)}: its error "
        f"in BBR's share of the throughput is {100 * nearest.median_abs:.1f} percentage points in "
        f"the median, and in nine of ten mixes at most {100 * nearest.p90_abs:.1f}"
    )
    if not rest:
        return [f"{text}.", *_outside_band(row)]
    others = "; ".join(f"{MODELS[e.model].title} {100 * (e.median_abs or 0):.1f}" for e in rest)
    return [f"{text}. Median errors of the others: {others}.", *_outside_band(row)]


def _outside_band(row: BufferAccuracy) -> list[str]:
    """What Mishra's two bounds say together: their authors predict a share between them."""
    band = row.band
    if band is None:
        return []
    return [
        f"Mishra's two bounds are a band of {100 * band.width:.1f} points (median); "
        f"{100 * band.holds:.0f} % of {band.answered} mixes are inside, and the median distance to "
        f"it is {100 * band.outside:.1f} points."
    ]


def _nearest_equilibrium(off: dict[str, EquilibriumAccuracy]) -> list[str]:
    whole = [e for e in off.values() if e.median_abs is not None and not e.refused]
    if not whole:
        return []
    nearest = min(whole, key=lambda e: e.median_abs or 0.0)
    near = round((nearest.within or 0.0) * nearest.answered)
    settings = "the setting" if nearest.answered == 1 else f"{nearest.answered} settings"
    return [
        f"Closest to the measured equilibria is {_quoted(nearest.model)}: its median error is "
        f"{nearest.median_abs:.1f} flows over {settings}, and in {near} it is within {NEAR_FLOWS} "
        "flows."
    ]


def _quoted(model: str) -> str:
    return f'"{MODELS[model].title}"'


def _refusals(row: BufferAccuracy) -> list[str]:
    """Who refused something, those with the same reason together."""
    alike: dict[tuple[int, str], list[str]] = {}
    for error in row.models:
        if error.refused and error.answered:
            alike.setdefault((error.refused, error.reason), []).append(MODELS[error.model].title)
    return [
        f"{'; '.join(titles)} refused {refused} of {row.mixes} mixes: {reason}."
        for (refused, reason), titles in alike.items()
    ]
