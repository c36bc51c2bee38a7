"""The page's section on why: the model's assumptions, CUBIC's losses and BBR's path."""

from nashbed.controlplane.contract.metrics import DISPLAY
from nashbed.controlplane.contract.model import JsonObject

from ..correlation import RunCorrelation, mix_readings, mix_text
from ..correlation.congestion_events import ShiftedNull
from ..correlation.ledger import BOUNDS, LedgerEntry, PointsMoved
from ..correlation.of_run import READINGS, MixReadings
from ..metrics.statistics import Estimate
from ..text import NONE, number, shown, with_interval


def correlation_context(run: RunCorrelation) -> JsonObject | None:
    """Everything the section shows; None if nothing could be read over time."""
    mixes = _mixes(run)
    if not mixes:
        return None
    return {
        "k": run.k.text if run.k is not None else "",
        "mixes": {
            "words": ["Setting", "Mix"],
            "columns": [_heading(title, unit) for title, unit, _ in READINGS.values()],
            "rows": mixes,
        },
        "ledgers": _ledgers(run),
    }


def _ledgers(run: RunCorrelation) -> list[JsonObject]:
    """The ledger of every mix; the first of each setting is shown open."""
    rows = []
    for setting in run.measures.run.settings:
        for index, ledger in enumerate(run.ledgers(setting)):
            rows.append(
                {
                    "setting": setting.label,
                    "mix": mix_text(run, ledger.state),
                    "open": index == 0,
                    "sentence": ledger.sentence(),
                    "rows": [_entry(entry) for entry in ledger.entries],
                }
            )
    return rows


def _entry(entry: LedgerEntry) -> JsonObject:
    unit = entry.assumption.unit
    scaled = shown(1, unit)
    mean, interval = with_interval(entry.measured.scaled(scaled))
    says = _by_bound([number(scaled * entry.says[bound]) for bound in BOUNDS])
    return {
        "words": sentence_case(entry.assumption.words),
        "equation": entry.assumption.equation,
        "unit": DISPLAY[unit][1],
        "says": f"{says} {DISPLAY[unit][1]}".rstrip(),
        "mean": mean,
        "interval": interval,
        "spread": _between([scaled * value for value in entry.spread]),
        "n": f"{entry.measured.n} / {entry.observations}",
        "chance": "" if entry.null is None else _chance(entry.null),
        "ratio": _by_bound([number(entry.ratio(bound)) for bound in BOUNDS]),
        "alone": _by_bound([_cost(entry.alone[bound]) for bound in BOUNDS]),
        "last": _by_bound([_cost(entry.last[bound]) for bound in BOUNDS]) if entry.last else NONE,
        "why": next((cost.why for cost in entry.alone.values() if cost.why), ""),
    }


def _by_bound(texts: list[str]) -> str:
    """Join the texts of the model's two bounds; one text where they agree."""
    return " / ".join(dict.fromkeys(texts))


def _between(values: list[float]) -> str:
    low, high = values
    return f"{number(low)} to {number(high)}"


def _chance(null: ShiftedNull) -> str:
    return f"by chance {number(null.mean)} ({_between([null.low, null.high])})"


def _cost(cost: PointsMoved) -> str:
    """The points, marked where they end at the edge of what can be solved."""
    if not cost.why:
        return f"{cost.points:+.1f}"
    return f"{'>' if cost.points > 0 else '<'} {cost.points:+.1f}"


def _mixes(run: RunCorrelation) -> list[JsonObject]:
    rows = []
    for setting in run.measures.run.settings:
        for mix in mix_readings(run, setting):
            if not any(mix.readings.values()):
                continue
            values = [_cell(mix, name, unit) for name, (_, unit, _) in READINGS.items()]
            words = [mix_text(run, mix.state)]
            rows.append({"setting": setting.label, "words": words, "values": values})
    return rows


def _cell(mix: MixReadings, name: str, unit: str) -> tuple[str, str]:
    estimate: Estimate | None = mix.readings[name]
    return with_interval(estimate and estimate.scaled(shown(1, unit)))


def sentence_case(text: str) -> str:
    """With a capital at the beginning; the name of a quantity, as k, keeps its letter."""
    return text if len(text) == 1 else text[0].upper() + text[1:]


def _heading(title: str, unit: str) -> str:
    shown_unit = DISPLAY[unit][1]
    text = sentence_case(title)
    return f"{text} ({shown_unit})" if shown_unit else text
