"""One metric per file; `METRICS` has them all by name.

A metric is a pure function of arrays with its unit, definition and source, registered under
a name that figures, tables and acceptance bounds use. README.md says how to add one.
"""

from . import (
    jain_index,
    loss_rate,
    occupancy_share,
    per_flow_throughput,
    queue_occupancy,
    queueing_delay,
    retransmits,
    rtt,
    throughput_drift,
    throughput_share,
    utilisation,
)
from .registry import METRICS, Metric, metric_named

__all__ = [
    "METRICS",
    "Metric",
    "jain_index",
    "loss_rate",
    "metric_named",
    "occupancy_share",
    "per_flow_throughput",
    "queue_occupancy",
    "queueing_delay",
    "retransmits",
    "rtt",
    "throughput_drift",
    "throughput_share",
    "utilisation",
]
