"""The atlas: a map of the predicted equilibrium with the measured settings on it, and its files."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter
from nashbed.controlplane.contract.course import EITHER_FIRST
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.store.staging import Staging
from numpy.typing import NDArray

from ..atlas.compute import DISAGREEMENT, WIDE_RANGE, EquilibriumMap, MapPoint
from ..atlas.plane import IPERF3, MapPlane
from ..atlas.settings import PlacedSetting
from ..atlas.tables import map_json, points_csv
from ..models import MODELS
from ..text import rate_text
from .drawing import FORMATS
from .saving import save
from .style import INK, MUTED, WIDE, house_style, share_colours

FloatGrid = NDArray[np.float64]

HEIGHT = 5.6
FILLED = np.linspace(0, 1, 51)
"""Levels of the filled colours: so many that they look even."""
LINES = tuple(tenth / 10 for tenth in range(1, 10))
HALF = 0.5
NOISE = 3
"""Points by points whose median the contour lines follow: chance in one point moves no line."""
SURE, NEARLY = 0.995, 0.90
"""Share of the flows above which a corner is named, as such and as nearly such."""
LEAST_CORNER = 0.02
"""Part of the map that a corner has at least where its name is written into it."""
HATCHES = {"seeds": "//////", "models": "\\\\\\\\", "transient": ".."}
HATCH_INK, HATCH_WIDTH = "#1b1f2466", 0.45
NOT_ANSWERED = "#d8dde3"
MARKER_POINTS = 7.0
TEXT_ROOM = (0.09, 0.075)
"""Half the width and height that a corner's name takes, in parts of the axes."""
STEM = "atlas"
FILES = (*(f"{STEM}.{suffix}" for suffix in FORMATS), f"{STEM}.csv", f"{STEM}.json")


def draw_map(
    computed: EquilibriumMap, placed: Sequence[PlacedSetting], note: str = ""
) -> Figure | None:
    """Draw a map: the share of the flows that run BBR where no flow gains by switching.

    Args:
        note: What is added to the line about the model, such as the date.

    Returns:
        The figure; None if the model answers nowhere.
    """
    shares = computed.grid(lambda point: point.crossing.share)
    if not np.isfinite(shares).any():
        return None
    figure = Figure(figsize=(WIDE, HEIGHT), layout="constrained")
    ax = figure.subplots()
    ax.set_facecolor(NOT_ANSWERED)
    _fill(figure, ax, computed, shares)
    hatched = _hatch(ax, computed)
    marks = _mark(ax, computed.plane, placed)
    _axes(ax, computed.plane)
    _name_corners(ax, computed, shares, placed)
    figure.suptitle(
        "Who runs BBR when nobody gains by switching", x=0.01, ha="left", fontweight="bold"
    )
    ax.set_title(
        "; ".join([_about(computed), *([note] if note else [])]),
        fontsize=8, fontweight="normal", color=MUTED,
    )  # fmt: skip
    handles = [*marks, *hatched]
    if handles:
        figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=8)
    return figure


def _places(computed: EquilibriumMap) -> tuple[list[float], list[float]]:
    """The values on both axes as the figure shows them."""
    x, y = computed.plane.x, computed.plane.y
    return [v * x.kind.shown for v in x.values], [v * y.kind.shown for v in y.values]


def _fill(figure: Figure, ax: Axes, computed: EquilibriumMap, shares: FloatGrid) -> None:
    places = _places(computed)
    look = share_colours("cubic", "bbr")
    known = np.ma.masked_invalid(shares)
    filled = ax.contourf(*places, known, levels=FILLED, cmap=look, zorder=1)
    filled.set_edgecolor("face")
    filled.set_rasterized(True)
    _lines(ax, places, shares)
    bar = figure.colorbar(
        ScalarMappable(Normalize(0, 1), look), ax=ax, pad=0.02, aspect=30,
        format=PercentFormatter(1, 0), label="share of the flows that run BBR",
    )  # fmt: skip
    bar.outline.set_visible(False)


def _lines(ax: Axes, places: tuple[list[float], list[float]], shares: FloatGrid) -> None:
    """Labelled contour lines through the medians of neighbouring points."""
    from scipy.ndimage import generic_filter  # noqa: PLC0415 - slow to import

    medians = generic_filter(shares, _median, size=NOISE, mode="nearest")
    medians[~np.isfinite(shares)] = np.nan
    widths = [1.6 if level == HALF else 0.6 for level in LINES]
    lines = ax.contour(*places, np.ma.masked_invalid(medians), levels=LINES, colors=INK,
                       linewidths=widths, zorder=2)  # fmt: skip
    ax.clabel(lines, fmt=lambda level: f"{level:.0%}", fontsize=7.5, inline_spacing=3)


def _median(values: NDArray[np.float64]) -> float:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else float("nan")


def _hatch(ax: Axes, computed: EquilibriumMap) -> list[Patch]:
    """Hatch where the equilibrium is uncertain; a handle for each reason that there is."""
    words = {
        "seeds": f"uncertain by chance: over {WIDE_RANGE:.0%} of the flows",
        "models": f"{_title(computed.model)} and {_title(computed.other)}: "
        f"over {DISAGREEMENT:.0%} of the flows apart",
        "transient": f"not settled in {computed.plane.duration_s:g} s (fluid)",
    }
    handles = []
    for reason, hatch in HATCHES.items():
        where = computed.grid(partial(_has, reason))
        if where.any():
            area = ax.contourf(*_places(computed), where, levels=[0.5, 1.5], colors="none",
                               hatches=[hatch], zorder=3)  # fmt: skip
            area.set_edgecolor(HATCH_INK)
            area.set_linewidth(0)
            area.set_hatch_linewidth(HATCH_WIDTH)
            handles.append(Patch(facecolor="white", edgecolor=HATCH_INK, hatch=hatch,
                                 linewidth=0, label=words[reason]))  # fmt: skip
    return handles


def _has(reason: str, point: MapPoint) -> float:
    return float(reason in point.uncertain)


def _title(name: str | None) -> str:
    return "" if name is None else MODELS[name].title.lower()


def _name_corners(
    ax: Axes, computed: EquilibriumMap, shares: FloatGrid, placed: Sequence[PlacedSetting]
) -> None:
    """Write into each corner what every flow, or nearly every one, runs, if there is room."""
    free = _free(ax, computed, placed)
    x, y = _places(computed)
    for name, side in (("BBR", shares), ("CUBIC", 1 - shares)):
        for words, least in (("every flow", SURE), ("nearly\nevery flow", NEARLY)):
            inside = side > least
            if inside.mean() >= LEAST_CORNER and (inside & free).any():
                row, column = _deepest(inside, free)
                ax.text(x[column], y[row], f"{words}\nruns {name}", ha="center", va="center",
                        color="white", fontsize=9.5, fontweight="bold", zorder=5)  # fmt: skip
                break


def _free(ax: Axes, computed: EquilibriumMap, placed: Sequence[PlacedSetting]) -> NDArray[np.bool_]:
    """Where a name would be within the axes and hide no mark, shape (y, x)."""
    x, y = computed.plane.x.kind.shown, computed.plane.y.kind.shown
    to_axes = ax.transData + ax.transAxes.inverted()
    places = to_axes.transform([(p.x * x, p.y * y) for p in computed.points])
    room = np.array(TEXT_ROOM)
    free = np.all((places > room) & (places < 1 - room), axis=1)
    if placed:
        marks = to_axes.transform([(each.x * x, each.y * y) for each in placed])
        apart = np.abs(places[:, None] - marks[None]) > room
        free = np.logical_and(free, apart.any(axis=2).all(axis=1))
    rows = len(computed.plane.y.values), len(computed.plane.x.values)
    return np.asarray(free, dtype=np.bool_).reshape(rows)


def _deepest(inside: NDArray[np.bool_], free: NDArray[np.bool_]) -> tuple[int, int]:
    """Find the free point furthest from the border of its area and of the map."""
    from scipy.ndimage import distance_transform_edt  # noqa: PLC0415 - slow to import

    depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1] * free
    row, column = np.unravel_index(int(depth.argmax()), depth.shape)
    return int(row), int(column)


def _mark(ax: Axes, plane: MapPlane, placed: Sequence[PlacedSetting]) -> list[Line2D]:
    """Measured settings in the colour of their equilibrium; a handle for each kind of them.

    Thick edges: all that the map fixes is as on the map. Thin ones: the legend says what is not.
    """
    look = share_colours("cubic", "bbr")
    kinds: dict[tuple[object, ...], list[PlacedSetting]] = {}
    for each in sorted(placed, key=lambda each: len(each.differs)):
        key = (each.published, each.source, bool(each.differs))
        kinds.setdefault(key, []).append(each)
    handles = []
    for members in kinds.values():
        marker = "o" if members[0].published else "s"
        edge = 0.8 if members[0].differs else 1.9
        ax.scatter(
            [each.x * plane.x.kind.shown for each in members],
            [each.y * plane.y.kind.shown for each in members],
            c=[each.share for each in members], cmap=look, vmin=0, vmax=1, marker=marker,
            s=MARKER_POINTS**2, edgecolors=INK, linewidths=edge, zorder=6, clip_on=False,
        )  # fmt: skip
        handles.append(
            Line2D(
                [],
                [],
                linestyle="none",
                marker=marker,
                markersize=MARKER_POINTS,
                markeredgewidth=edge,
                markerfacecolor="white",
                markeredgecolor=INK,
                label=_whose(members),
            )
        )
    return handles


def _whose(members: Sequence[PlacedSetting]) -> str:
    """Whose measurements they are, and in what they differ from the map, with their values."""
    values = {
        "base RTT": _span([s.base_rtt_s * 1e3 for s in members], " ms"),
        "flows": _span([s.flows for s in members], ""),
        "duration": _span([s.duration_s for s in members], " s"),
    }
    names = dict.fromkeys(name for each in members for name in each.differs)
    differs = "".join(f", {name} {values[name]}" for name in names if name in values)
    if "start" in names:
        differs += f", {_started(members[0].start)}"
    return f"measured, {members[0].source}{differs}"


def _span(values: Sequence[float], unit: str) -> str:
    low, high = min(values), max(values)
    return f"{low:g}{unit}" if low == high else f"{low:g} to {high:g}{unit}"


def _axes(ax: Axes, plane: MapPlane) -> None:
    """Scales and ticks; a logarithmic axis has ticks at 1, 2 and 5."""
    ax.grid(visible=False)
    for axis, scale, limits, each in (
        (ax.xaxis, ax.set_xscale, ax.set_xlim, plane.x),
        (ax.yaxis, ax.set_yscale, ax.set_ylim, plane.y),
    ):
        values = each.values
        if each.log:
            scale("log")
            axis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
            axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_label_text(each.kind.title)
        limits(values[0] * each.kind.shown, values[-1] * each.kind.shown)


def _about(computed: EquilibriumMap) -> str:
    """The model, and what is the same everywhere on the map."""
    plane = computed.plane
    said = [_fixed(name, value) for name, value in plane.fixed.items()]
    model = f"{MODELS[computed.model].title} model"
    limit = plane.window_bytes
    window = [] if limit is None else [f"windows up to {limit / 1e6:.3g} MB"]
    return ", ".join([model, *said, f"{plane.duration_s:g} s, {_started(plane.start)}", *window])


def _started(start: str) -> str:
    """A start in words."""
    known = {IPERF3: "started by iperf3", EITHER_FIRST: "either started first"}
    return known.get(start, f"started {start}")


def _fixed(name: str, value: float) -> str:
    """A quantity that the map fixes, in words."""
    if name == "rate":
        return rate_text(value)
    if name == "base_rtt":
        return f"base RTT {value * 1e3:g} ms"
    return f"buffer {value:g} BDP" if name == "buffer" else f"{value:g} flows"


def check_folder(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that an atlas cannot go into.

    Raises:
        ConfigError: It is no folder, or has an atlas.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"out: {folder} is a file; give a folder")
    there = [name for name in FILES if (folder / name).exists()]
    if there and not overwrite:
        raise ConfigError(
            f"out: {folder} has {', '.join(there)}; give a new folder, or --overwrite"
        )


def write_map(
    computed: EquilibriumMap,
    placed: Sequence[PlacedSetting],
    folder: Path,
    note: str,
    made: Mapping[str, object],
) -> list[Path]:
    """Write all files of an atlas; a stop leaves the files that were there before.

    Args:
        folder: Where they go; it is made if it is missing.
        note: What the figure says besides, such as the date.
        made: When and by what it was made, for the JSON file.

    Raises:
        ConfigError: The model answers nowhere on the map.
        HostError: A file cannot be written.
    """
    with house_style():
        figure = draw_map(computed, placed, note)
        if figure is None:
            why = computed.points[0].crossing.refusals
            raise ConfigError(f"model: {computed.model} answers nowhere on the map: {why[0]}")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with Staging(folder, STEM) as staging:
                work = staging.place
                save(figure, work / STEM, FORMATS)
                (work / f"{STEM}.csv").write_text(points_csv(computed))
                (work / f"{STEM}.json").write_text(map_json(computed, placed, made))
                return [staging.publish(work / name, folder / name) for name in FILES]
        except OSError as error:
            raise HostError(f"{folder}: cannot be written ({error.strerror or error})") from error
