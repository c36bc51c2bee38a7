"""How many CUBIC flows lose together, and BBR's share by the model with that k."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from nashbed.controlplane.contract.trial import Setting

from ..correlation.k_verdict import KPrediction
from ..correlation.of_run import RunCorrelation, mix_readings
from ..metrics.interval import estimate
from ..state import strategy_totals
from ..text import trials_text
from .style import INK, MUTED, NARROW, colour_of, legend_below, new_figure

LOOKS = {
    "synchronised": ("--", "v", MUTED),
    "desynchronised": (":", "^", MUTED),
    "measured": ("-", "o", INK),
}


def draw(run: RunCorrelation, setting: Setting) -> Figure | None:
    """Draw one setting.

    Args:
        run: The run's correlations.
        setting: The setting.

    Returns:
        The figure; None with fewer than two mixes in which CUBIC lost, or unless mixes are of
        two congestion controls.
    """
    if len(run.measures.strategies) != 2:
        return None
    mixes = [m for m in mix_readings(run, setting) if m.readings["losing_share"] is not None]
    if len(mixes) < 2:
        return None
    figure, (ax, below) = new_figure(NARROW, 4.8, rows=2)
    names = run.measures.strategies
    x = [sum(strategy_totals(m.state)[1:]) for m in mixes]
    known = [e for m in mixes if (e := m.readings["losing_share"]) is not None]
    half = [e.half_width or 0.0 for e in known]
    ax.errorbar(
        x,
        [e.mean for e in known],
        yerr=half if any(half) else None,
        color=colour_of("cubic", names),
        marker="o",
        capsize=2.5,
        label="losing together, measured",
    )
    alone = [1 / max(1, strategy_totals(m.state)[names.index("cubic")]) for m in mixes]
    ax.plot(x, alone, color=MUTED, linestyle=":", label="one flow each time")
    ax.axhline(1, color=MUTED, linestyle="--", linewidth=1.2, label="all together")
    ax.set(ylabel="share of CUBIC flows\nlosing in one event", ylim=(0, 1.08))
    _draw_shares(below, run, setting)
    below.set_xlabel(f"flows running {names[1]} ({trials_text([e.n for e in known])})")
    below.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    legend_below(figure, ax, 2, below)
    return figure


def _draw_shares(ax: Axes, run: RunCorrelation, setting: Setting) -> None:
    """BBR's share of the throughput as measured, and by the model with each k."""
    rows = _by_mix(run, setting)
    ax.set(ylabel="BBR's share\nof the throughput", ylim=(0, 1.05))
    if not rows:
        ax.annotate("the model does not hold here", (0.5, 0.5), xycoords="axes fraction")
        return
    x = sorted(rows)
    for choice, (style, marker, colour) in LOOKS.items():
        y = [np.mean([r.predicted[choice] for r in rows[k]]) for k in x]
        ax.plot(
            x, y, color=colour, linestyle=style, marker=marker, mfc="white",
            label=f"model, {choice} k",
        )  # fmt: skip
    estimates = [estimate([r.measured for r in rows[k]]) for k in x]
    means = [e.mean for e in estimates if e is not None]
    half = [(e.half_width or 0.0) for e in estimates if e is not None]
    colour = colour_of("bbr", run.measures.strategies)
    ax.errorbar(
        x, means, yerr=half if any(half) else None, color=colour, marker="s", capsize=2.5,
        label="BBR's share, measured",
    )  # fmt: skip


def _by_mix(run: RunCorrelation, setting: Setting) -> dict[int, list[KPrediction]]:
    """Flows of BBR -> the predictions of that mix's trials."""
    if run.k is None:
        return {}
    flows = {t.measures.trial.id: int(t.measures.flow_mask("bbr").sum()) for t in run.trials}
    by_count: dict[int, list[KPrediction]] = {}
    for row in run.k.rows:
        if row.setting == setting.label:
            by_count.setdefault(flows[row.trial], []).append(row)
    return by_count
