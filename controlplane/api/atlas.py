"""A map of the equilibrium that a model predicts, with measured settings on it.

>>> import nashbed as nb
>>> nb.atlas.draw("atlas", x="buffer=0.4..60bdp", y="flows=2..100", model="closed-form")
"""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from nashbed.analysis.atlas.compute import EquilibriumMap, compute_map
from nashbed.analysis.atlas.plane import STARTS, MapPlane, plane_of, read_axis
from nashbed.analysis.atlas.settings import (
    PlacedSetting,
    place_settings,
    published_settings,
    run_settings,
)
from nashbed.analysis.atlas.tables import AtlasAnswer, asked_for
from nashbed.analysis.figures.atlas_map import check_folder, write_map
from nashbed.analysis.models import MODELS
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.units import Buffer, Duration, Rate, Size
from nashbed.controlplane.machine.host import facts
from nashbed.controlplane.machine.paths import PUBLISHED_EQUILIBRIA
from nashbed.controlplane.machine.process.clock import utc_now

from .files import quantity
from .steps import ShowStep, show_nothing

__all__ = ["Atlas", "AtlasAnswer", "EquilibriumMap", "PlacedSetting", "draw"]

COLUMNS, ROWS = 40, 25
NONE = "none"


@dataclass(frozen=True)
class Atlas:
    """A map that was written.

    Attributes:
        map: What the model says at every point.
        settings: The measured settings that belong on it.
        answer: What was asked, how many points are refused or uncertain, the files.
    """

    map: EquilibriumMap
    settings: tuple[PlacedSetting, ...]
    answer: AtlasAnswer


def draw(  # noqa: PLR0913 - each is a part of the question
    out: str | Path,
    *,
    x: str = "buffer=0.4..60bdp",
    y: str = "bdp-per-flow=0.5..100pkt",
    rate: str | Rate | None = None,
    base_rtt: str | Duration | None = None,
    buffer: str | Buffer | None = None,
    flows: int | None = None,
    duration: str | Duration = "120s",
    start: str = "together",
    window: str | Size | None = None,
    model: str = "fluid",
    other: str | None = None,
    settled: bool = False,
    runs: Sequence[str | Path] = (),
    overwrite: bool = False,
    processes: int | None = None,
    on_step: ShowStep = show_nothing,
) -> Atlas:
    """Map the equilibrium that a model predicts.

    Over any two of buffer, BDP per flow, rate, base RTT and flows: which share of the flows runs
    BBR where no flow gains by switching. Measured settings that belong on the map are marked in
    the colour of their own equilibrium. Hatched: chance alone moves it by more than 10 % of the
    flows, or the other model disagrees by more than 3 of 50 flows. Dotted, where that is asked:
    the equilibrium's mix has not settled in the time that it has.

    It writes atlas.png, .pdf, .svg, atlas.csv (every point) and atlas.json (what was asked).

    Args:
        out: The folder that they go into.
        x: To the right, `quantity=low..high`: buffer (bdp), bdp-per-flow (pkt; it sets the rate),
            rate, base_rtt or flows; behind a colon log (usual) or linear, and how many values.
        y: Upwards.
        rate: Bottleneck, if not an axis; None: 100mbit.
        base_rtt: Base RTT, if not an axis; None: 40ms.
        buffer: Buffer in BDP, if not an axis; None: 5bdp.
        flows: CUBIC and BBR flows in all, if not an axis; None: 50.
        duration: How long they compete.
        start: How they start: together, or iperf3 as in published trials.
        window: Most that a flow has in flight, e.g. 2.7MB; None: no limit.
        model: Whose equilibrium it shows: a name of `models.models()`.
        other: Hatch where this model disagrees; none: do not; None: closed-form.
        settled: Dot where the mix does not settle in time; slow.
        runs: Also mark this run's equilibria.
        overwrite: Replace an atlas in that folder.
        processes: How many compute; None: one for each core.
        on_step: Called after each row.

    Raises:
        ConfigError: The question makes no sense, or the folder holds something else.
        RunError: A run cannot be read.
        HostError: The folder cannot be written.
    """
    folder = Path(out)
    fixed = _fixed(rate, base_rtt, buffer, flows)
    axes = read_axis("x", x, COLUMNS), read_axis("y", y, ROWS)
    plane = replace(plane_of(*axes, fixed), **_course(duration, start, window))
    names = _models(model, other)
    check_folder(folder, overwrite)
    placed = _measured(plane, runs)
    began = time.monotonic()
    title = f"rows of {len(plane.x.values)} points"
    computed = compute_map(
        plane,
        *names,
        processes or os.cpu_count() or 1,
        lambda done, rows: on_step(title, done, rows),
        settled,
    )
    seconds = time.monotonic() - began
    made = {
        "utc": utc_now(),
        "seconds": round(seconds, 3),
        "software": facts.software(),
        "git": facts.git(),
    }
    today = datetime.now(UTC)
    written = write_map(computed, placed, folder, f"{today.day} {today:%B %Y}", made)
    answer = AtlasAnswer(
        **vars(asked_for(computed)),
        settings=len(placed),
        seconds=seconds,
        files=tuple(map(str, written)),
    )
    return Atlas(computed, tuple(placed), answer)


def _course(duration: str | Duration, start: str, window: str | Size | None) -> JsonObject:
    """How long flows compete, how they start, and what limits their windows, in base units."""
    if start not in STARTS:
        raise ConfigError(f"start: {start!r} is no start; write {' or '.join(STARTS)}")
    limit = None if window is None else quantity(Size, "window", window).bytes
    return {
        "duration_s": _positive("duration", quantity(Duration, "duration", duration).seconds),
        "start": start,
        "window_bytes": None if limit is None else _positive("window", limit),
    }


def _fixed(
    rate: str | Rate | None,
    base_rtt: str | Duration | None,
    buffer: str | Buffer | None,
    flows: int | None,
) -> dict[str, float | None]:
    """What is fixed, in base units; a ConfigError says which option is wrong."""
    fixed: dict[str, float | None] = dict.fromkeys(("rate", "base_rtt", "buffer", "flows"))
    if rate is not None:
        fixed["rate"] = _positive("rate", quantity(Rate, "rate", rate).bps)
    if base_rtt is not None:
        fixed["base_rtt"] = _positive("base_rtt", quantity(Duration, "base_rtt", base_rtt).seconds)
    if buffer is not None:
        size = quantity(Buffer, "buffer", buffer)
        if size.unit != "bdp":
            raise ConfigError(f"buffer: {size}: a map has it in BDP; write e.g. 5bdp")
        fixed["buffer"] = _positive("buffer", float(size.amount))
    if flows is not None:
        if flows < 2:
            raise ConfigError(f"flows: {flows}; write 2 or more, who can compete")
        fixed["flows"] = float(flows)
    return fixed


def _positive(option: str, value: float) -> float:
    if value <= 0:
        raise ConfigError(f"{option}: 0; write more than that")
    return float(value)


def _models(model: str, other: str | None) -> tuple[str, str | None]:
    """The model of the map, and the one that it is held against."""
    if other is None:
        other = "closed-form" if model != "closed-form" else NONE
    for option, name in (("model", model), ("other", other)):
        if name not in MODELS and not (option == "other" and name == NONE):
            raise ConfigError(f"{option}: there is no model {name!r}; write {', '.join(MODELS)}")
    return model, None if other in {NONE, model} else other


def _measured(plane: MapPlane, runs: Sequence[str | Path]) -> list[PlacedSetting]:
    """The published settings and those of runs that belong on the map."""
    known = published_settings(PUBLISHED_EQUILIBRIA)
    for run in runs:
        known += run_settings(Path(run))
    return place_settings(plane, known)
