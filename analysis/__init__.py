"""From a run directory to metrics, equilibria, figures and a report page."""
