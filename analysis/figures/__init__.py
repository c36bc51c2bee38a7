"""One figure per file; each draws from metric names and is saved as PNG, PDF and SVG."""

from .catalogue import DrawnFigure, draw_all

__all__ = ["DrawnFigure", "draw_all"]
