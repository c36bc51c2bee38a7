"""The fluid model: congestion controls by their rules, at a drop-tail queue of fluid."""
