"""One figure per file; each draws from metric names and is saved as PNG, PDF and SVG."""
