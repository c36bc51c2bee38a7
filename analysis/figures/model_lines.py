"""What models predict, and how figures draw it: the one table of their looks."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import MODELS, Competition
from ..models.crossing import ask_all
from .plot import Band, Item, Line, in_legend
from .style import MUTED

FloatArray = NDArray[np.float64]
Transform = Callable[[FloatArray, FloatArray], FloatArray]
"""(places, shares of BBR) -> what is drawn there."""

PAYLOAD_PART = 1448 / 1514
"""Payload share of a full frame: models predict link throughput, figures show goodput."""
MISHRA_BAND = "Mishra 2022's bounds"
HATCHED: dict[str, Any] = {"facecolor": "none", "hatch": "////", "linewidth": 0.4}


@dataclass(frozen=True)
class Look:
    """How a model is drawn: ours as lines, published ones thinner than these.

    Attributes:
        colour: Where colours do not stand for CCAs.
        width: Line width in points.
        band: Models of the same one are the two ends of a band, which has this name.
    """

    colour: str
    style: Any
    width: float
    band: str = ""


LOOKS = {
    "fluid": Look("#5E3C99", "-", 1.3),
    "closed-form": Look("#5E3C99", (0, (5, 1.6)), 1.0),
    "ware": Look("#8C6D31", ":", 1.0),
    "mishra-two-flow": Look("#6a7380", "--", 0.8),
    "mishra-synchronised": Look("#6a7380", "--", 0.8, MISHRA_BAND),
    "mishra-desynchronised": Look("#6a7380", "-.", 0.8, MISHRA_BAND),
}
"""Every model that figures draw; one without a value of its own for k has no line."""


@dataclass(frozen=True)
class ModelCurve:
    """What a model says along an axis.

    Attributes:
        x: The places, shape (n,).
        share: BBR's aggregate share there, shape (n,).
        low: The smallest over the seeds, shape (n,); None: no chance in it.
        high: The largest.
        delay_s: Mean queueing delay in seconds, shape (n,); None: it does not say.
    """

    name: str
    x: FloatArray
    share: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    delay_s: FloatArray | None = None

    @property
    def look(self) -> Look:
        """How it is drawn."""
        return LOOKS[self.name]

    @property
    def title(self) -> str:
        """The model in a legend."""
        return MODELS[self.name].title


def model_curves(asked: Iterable[tuple[float, Competition | None]]) -> list[ModelCurve]:
    """What each drawn model says; nothing of one that refuses everywhere.

    A curve like one before it is left out: of one flow against one, three models are the same.

    Args:
        asked: Place on the axis, and the question there; None: models do not speak of it.
    """
    known = [(x, question) for x, question in asked if question is not None]
    curves: list[ModelCurve] = []
    for name in (name for name in MODELS if name in LOOKS):
        curve = _curve(name, known)
        if curve is not None and not any(_alike(curve, other) for other in curves):
            curves.append(curve)
    return curves


def _curve(name: str, asked: Sequence[tuple[float, Competition]]) -> ModelCurve | None:
    answers = ask_all(MODELS[name], [question for _, question in asked])
    said = [(x, a) for (x, _), a in zip(asked, answers, strict=True) if a.share is not None]
    if not said:
        return None
    ranges = [a.share_range for _, a in said if a.share_range is not None]
    delays = [a.inner["queueing_delay_s"] for _, a in said if "queueing_delay_s" in a.inner]
    low, high = np.array(ranges).T if len(ranges) == len(said) else (None, None)
    return ModelCurve(
        name,
        np.array([x for x, _ in said], float),
        np.array([a.share for _, a in said], float),
        low,
        high,
        np.array(delays) if len(delays) == len(said) else None,
    )


def _alike(one: ModelCurve, other: ModelCurve) -> bool:
    """Whether two curves look the same and are not the two ends of a band."""
    ends = one.look.band and one.look.band == other.look.band
    return not ends and np.array_equal(one.x, other.x) and np.allclose(one.share, other.share)


def curve_items(
    curves: Sequence[ModelCurve], drawn: Transform, colour: str | None = None
) -> list[Item]:
    """Models: lines, a shade for a range over seeds, a hatched band between two bounds.

    Args:
        drawn: What is drawn of a share.
        colour: Of a CCA's curves, whose models then differ by style alone and have
            no labels: see `entries`; None: each model its own, with a label.
    """
    items: list[Item] = []
    bands = _bands(curves)
    for curve in (c for c in curves if c.look.band not in bands):
        shade, label = colour or curve.look.colour, None if colour else curve.title
        if curve.low is not None and curve.high is not None:
            low, high = drawn(curve.x, curve.low), drawn(curve.x, curve.high)
            items.append(Band(curve.x, low, high, color=shade, alpha=0.2, zorder=1.5))
        look = {"color": shade, "linestyle": curve.look.style, "linewidth": curve.look.width}
        items.append(Line(curve.x, drawn(curve.x, curve.share), label, zorder=3, **look))
    for name in bands:  # between two models, where both say something
        one, other = _of_band(curves, name)
        x = np.intersect1d(one.x, other.x)
        low, high = (drawn(x, end.share[np.isin(end.x, x)]) for end in (one, other))
        items.append(Band(x, low, high, None if colour else name, zorder=1, alpha=0.3,
                          edgecolor=colour or one.look.colour, **HATCHED))  # fmt: skip
    return items


def entries(curves: Sequence[ModelCurve]) -> list[Item]:
    """Name models that are drawn in the colours of CCAs, each once, in grey."""
    bands = _bands(curves)
    lines: list[Item] = [
        in_legend(c.title, color=MUTED, linestyle=c.look.style, linewidth=c.look.width)
        for c in curves
        if c.look.band not in bands
    ]
    return lines + [Band((), (), (), name, edgecolor=MUTED, **HATCHED) for name in bands]


def _bands(curves: Sequence[ModelCurve]) -> list[str]:
    """The bands of which both ends are there."""
    names = dict.fromkeys(curve.look.band for curve in curves if curve.look.band)
    return [name for name in names if len(_of_band(curves, name)) == 2]


def _of_band(curves: Sequence[ModelCurve], band: str) -> list[ModelCurve]:
    return [curve for curve in curves if curve.look.band == band]


def goodput_of_share(share: float, rate_bps: float) -> float:
    """A share of the link as goodput in bit/s."""
    return share * rate_bps * PAYLOAD_PART
