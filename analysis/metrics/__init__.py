"""Metrics by subject; `METRICS` has them all by name.

A metric is a pure function of arrays with its unit, definition and source, under a name that
figures, tables and acceptance bounds use. README.md says how to add one.
"""

from nashbed.controlplane.contract.plugins import WithPlugins

from . import (
    changes,
    completion,
    fairness,
    losses,
    media,
    memory,
    queue,
    rtt,
    starvation,
    throughput,
    tradeoff,
    video,
)
from .metric import Metric

METRICS = WithPlugins(
    "metrics",
    Metric,
    {
        metric.name: metric
        for metric in (
            throughput.PER_FLOW,
            *fairness.FAIRNESS,
            losses.PER_FLOW_LOSS,
            losses.LOSS,
            losses.PER_FLOW_MARKS,
            losses.MARKS,
            *losses.BY_REASON,
            throughput.SHARE,
            queue.OCCUPANCY_SHARE,
            queue.OCCUPANCY,
            memory.OWN_SHARE,
            memory.ABSORBED,
            queue.MEAN_DELAY,
            queue.MEAN_DELAY_PER_FLOW,
            queue.TIME_MEAN_DELAY,
            *queue.DELAY_PERCENTILES,
            losses.PER_FLOW_RETRANSMITTED,
            losses.RETRANSMITTED,
            rtt.MEAN_RTT,
            rtt.PEAK_RTT,
            tradeoff.POWER,
            throughput.DRIFT,
            throughput.UTILISATION,
            starvation.SHARE,
            starvation.LONGEST,
            changes.CONVERGENCE,
            changes.USE,
            changes.UNTIL_FAIR,
            *completion.TIMES,
            *completion.SLOWDOWNS,
            completion.OF_FLOW,
            completion.UNFINISHED,
            *media.DELAYS,
            media.LOST,
            *video.VIDEO,
        )
    },
)
"""By name, in the order in which tables show them; those of plugins come last."""
__all__ = ["METRICS", "Metric", "metric_named"]


def metric_named(name: str) -> Metric:
    """Look a metric up.

    Raises:
        KeyError: There is none of this name; the text lists those there are.
    """
    if name not in METRICS:
        raise KeyError(f"no metric {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]
