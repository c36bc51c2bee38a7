"""How cost grows with lanes, flows and postcards: three small plots side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import INK, house_style

PANELS = (
    ("Lanes", ("cpu_per_packet_ns_dataplane_by_lanes", "cpu_per_packet_ns_flows_by_lanes")),
    ("Flows", ("replay_ns_by_flows",)),
    ("Postcards", ("analysis_s_by_postcards", "analysis_mib_by_postcards")),
)
COLOURS, MARKERS = ("#0072B2", "#D55E00"), ("o", "s")
SIZE = (10.5, 3.1)
MANY_TIMES = 3


def draw_growth(series: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the series of `nashbed bench growth`.

    Args:
        series: Each with name, label, x_label, y_label, x and y.
        path: Where to; its ending says the format.
    """
    by_name = {each["name"]: each for each in series}
    with house_style():
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.subplots(1, len(PANELS))
        for place, (title, names) in zip(axes, PANELS, strict=True):
            place.set_title(title)
            _draw(place, [by_name[name] for name in names])
        figure.savefig(path)


def _draw(axes: Axes, series: Sequence[dict[str, Any]]) -> None:
    """Logarithmic where values differ by much; a second unit has its own axis on the right."""
    for index, each in enumerate(series):
        other_unit = each["y_label"] != series[0]["y_label"]
        place = axes.twinx() if other_unit else axes
        look = {"color": COLOURS[index], "marker": MARKERS[index], "label": each["label"]}
        place.plot(each["x"], each["y"], **look)
        _scale(place, series)
        label = f"{each['label']} ({each['y_label']})" if other_unit else each["y_label"]
        place.set_ylabel(label, color=COLOURS[index] if other_unit else INK)
        place.grid(visible=not other_unit)
        place.spines["right"].set_visible(other_unit)
    axes.set_xscale("log")
    axes.set_xlabel(series[0]["x_label"])
    if len(series) > 1 and series[0]["y_label"] == series[1]["y_label"]:
        axes.legend(loc="lower right")


def _scale(place: Axes, series: Sequence[dict[str, Any]]) -> None:
    values = [value for each in series for value in each["y"]]
    if max(values) > MANY_TIMES * min(values):
        place.set_yscale("log")
    else:
        place.set_ylim(0, 1.15 * max(values))
