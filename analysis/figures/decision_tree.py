"""The decision tree: which congestion control alone has more goodput where."""

from __future__ import annotations

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..measures import RunMeasures
from ..results.decision_tree import FEATURES, Decision, decide
from .style import WIDE, colour_of


def draw(measures: RunMeasures) -> Figure | None:
    """Draw the tree of a run; None if no tree can be fitted.

    Args:
        measures: The run's measures.
    """
    decision = decide(measures)
    if decision is None:
        return None
    from sklearn.tree import plot_tree  # noqa: PLC0415 - slow to import

    figure = Figure(figsize=(1.5 * WIDE, 4.6), layout="constrained")
    FigureCanvasAgg(figure)  # plot_tree asks the canvas for its renderer
    ax = figure.subplots()
    nodes = plot_tree(
        decision.tree,
        feature_names=list(FEATURES),
        class_names=list(decision.classes),
        impurity=False,
        rounded=True,
        precision=2,
        fontsize=8,
        ax=ax,
    )
    _colour(nodes, decision, measures)
    ax.set_title(
        f"{decision.settings} settings, {decision.accuracy:.0%} of them classified correctly",
        fontsize=9.5,
    )
    return figure


def _colour(nodes: list[object], decision: Decision, measures: RunMeasures) -> None:
    """Frame each node in the colour of its congestion control."""
    for node in nodes:
        box = getattr(node, "get_bbox_patch", lambda: None)()
        text = getattr(node, "get_text", lambda: "")()
        winner = next((c for c in decision.classes if f"class = {c}" in text), None)
        if box is not None and winner is not None:
            box.set_edgecolor(colour_of(winner, measures.strategies))
            box.set_facecolor("white")
            box.set_linewidth(1.4)
