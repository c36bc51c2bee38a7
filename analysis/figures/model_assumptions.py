"""What the Mishra model assumes of CUBIC and BBR, beside what telemetry shows, by mix."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.trial import Setting

from ..correlation.of_run import READINGS, MixReadings, RunCorrelation, mix_readings
from ..state import strategy_totals
from ..text import shown, trials_text
from .style import MUTED, NARROW, colour_of, legend_below, new_figure

ROWS: tuple[tuple[str, tuple[tuple[str, str, str], ...]], ...] = (
    ("CUBIC (kB)", (("window", "^", "cubic"), ("b_max", "o", "cubic"), ("b_min", "v", "cubic"))),
    ("RTT+ (ms)", (("rtt_plus", "s", "bbr"),)),
    ("in flight (BDP)", (("flight_real", "s", "bbr"), ("flight_own", "D", "bbr"))),
)
"""For each panel: its axis, and its readings with marker and congestion control."""


def draw(run: RunCorrelation, setting: Setting) -> Figure | None:
    """Draw one setting: measured readings with their intervals, the model's as open steps.

    Args:
        run: The run's correlations.
        setting: The setting.

    Returns:
        The figure; None with fewer than two mixes that have CUBIC losses or BBR estimates.
    """
    mixes = mix_readings(run, setting)
    measured = [m for m in mixes if m.readings["b_max"] or m.readings["rtt_plus"]]
    if len(measured) < 2:
        return None
    figure, axes = new_figure(NARROW, 6.0, rows=len(ROWS), heights=(1.6, 1, 1))
    for ax, (title, readings) in zip(axes, ROWS, strict=True):
        for name, marker, strategy in readings:
            _draw(ax, measured, name, marker, colour_of(strategy, run.measures.strategies))
        ax.set_ylabel(title)
        ax.set_ylim(bottom=0)
    counts = [e.n for m in measured for e in m.readings.values() if e is not None]
    axes[-1].set_xlabel(f"flows running {run.measures.strategies[1]} ({trials_text(counts)})")
    axes[-1].xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes[0].plot([], [], color=MUTED, linestyle="--", label="the same in the model")
    legend_below(figure, axes[0], 2, *axes[1:])
    return figure


def _draw(ax: Axes, mixes: Sequence[MixReadings], name: str, marker: str, colour: str) -> None:
    title, unit, _ = READINGS[name]
    known = [(_x(m), m.readings[name]) for m in mixes]
    points = [(x, e.scaled(shown(1, unit))) for x, e in known if e is not None]
    if points:
        half = [e.half_width or 0.0 for _, e in points]
        ax.errorbar(
            [x for x, _ in points],
            [e.mean for _, e in points],
            yerr=half if any(half) else None,
            color=colour,
            marker=marker,
            linestyle="-",
            capsize=2.5,
            label=title,
        )
    predicted = [(_x(m), shown(m.model[name], unit)) for m in mixes if name in m.model]
    if predicted and name not in ("window_tcp", "flight_own"):
        ax.plot(
            *zip(*predicted, strict=True), color=MUTED, linestyle="--", marker=marker, mfc="white"
        )


def _x(mix: MixReadings) -> int:
    return sum(strategy_totals(mix.state)[1:])
