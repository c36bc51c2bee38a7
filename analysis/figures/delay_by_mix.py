"""Queueing delay against the number of flows of the second strategy."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.trial import Setting

from ..measures import RunMeasures
from ..metrics import metric_named
from ..models.measured import questions_of_mixes
from ..state import strategy_totals
from ..text import shown, trials_text
from .estimates import draw_estimates
from .model_lines import model_curves
from .style import INK, MUTED, NARROW, legend_below, new_figure
from .unsettled import mark_unsettled

LINES = (
    ("mean_queueing_delay", "-", "o", "mean over packets"),
    ("median_queueing_delay", "--", "s", "median"),
    ("p95_queueing_delay", ":", "^", "95th percentile"),
)


def draw(measures: RunMeasures, setting: Setting) -> Figure | None:
    """Draw one setting: mean, median and 95th percentile by mix, and the full queue's delay.

    Args:
        measures: The run's measures.
        setting: The setting.

    Returns:
        The figure; None if no trial's queueing delay was measured.
    """
    figure, (ax,) = new_figure(NARROW, 3.6)
    drawn = [
        _draw_metric(ax, measures, setting, metric, (style, marker, label))
        for metric, style, marker, label in LINES
    ]
    if not any(drawn):
        return None
    _draw_models(ax, measures, setting)
    unsettled = [c for c in measures.cells(setting) if c.unsettled]
    mark_unsettled(ax, [sum(strategy_totals(c.state)[1:]) for c in unsettled])
    full_s = measures.applied_buffer(setting) * 8 / measures.applied_rate(setting)
    ax.axhline(
        shown(full_s, "s"), color=INK, linewidth=1.0, linestyle=(0, (5, 3)), label="full queue"
    )
    ax.set_ylabel("queueing delay (ms)")
    total = sum(measures.group_sizes)
    others = measures.strategies[1] if len(measures.strategies) == 2 else "other"
    ax.set_xlabel(f"flows running {others}, of {total}")
    ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    ax.set_xlim(-0.5, total + 0.5)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=12, min_n_ticks=1))
    legend_below(figure, ax, columns=1)
    return figure


def _draw_models(ax: Axes, measures: RunMeasures, setting: Setting) -> None:
    """The mean delay by each model that says it."""
    for curve in model_curves(questions_of_mixes(measures, setting)):
        if curve.delay_s is not None:
            ax.plot(curve.x, shown(1, "s") * curve.delay_s, color=curve.look.colour,
                    linestyle=curve.look.style, linewidth=curve.look.width, zorder=3,
                    label=f"{curve.title}: mean")  # fmt: skip


def _draw_metric(
    ax: Axes, measures: RunMeasures, setting: Setting, metric: str, look: tuple[str, str, str]
) -> bool:
    """Draw one metric's line; says whether any trial has it."""
    style, marker, label = look
    unit = metric_named(metric).unit
    points = [
        (sum(strategy_totals(c.state)[1:]), c.estimate(metric)) for c in measures.cells(setting)
    ]
    known = [(x, e) for x, e in points if e is not None]
    if not known:
        return False
    simple = len(measures.group_names) == 1 and len(measures.strategies) == 2
    draw_estimates(
        ax,
        [x for x, _ in known],
        [e.scaled(shown(1, unit)) for _, e in known],
        INK if metric == "mean_queueing_delay" else MUTED,
        linestyle=style if simple else "none",
        marker=marker,
        capsize=2.5,
        label=f"{label} ({trials_text([e.n for _, e in known])} per mix)",
    )
    return True
