"""Names, scopes and units of the metrics: what bounds and tables know of them without the analysis.

What each is, and how it is computed, is beside its function in `analysis/metrics`.
"""

from typing import Literal

from .shared import DROP_REASONS

Scope = Literal["flow", "trial"]
"""`flow`: one value for each flow; `trial`: one number."""

DISPLAY: dict[str, tuple[float, str]] = {
    "bit/s": (1e-6, "Mbit/s"),
    "s": (1e3, "ms"),
    "B": (1e-3, "kB"),
    "x": (1.0, "times"),
    "1/min": (1.0, "a minute"),
    "1": (1.0, ""),
}
"""Unit of a metric -> factor and unit in which it is shown."""

_NAMES: dict[tuple[Scope, str], str] = {
    ("flow", "bit/s"): "per_flow_throughput video_bitrate",
    ("flow", "s"): """
        mean_rtt peak_rtt per_flow_queueing_delay longest_starvation convergence_time
        one_way_delay median_one_way_delay p95_one_way_delay p99_one_way_delay video_startup
        completion_time
    """,
    ("flow", "1"): """
        throughput_share occupancy_share per_flow_loss_rate per_flow_mark_rate
        per_flow_retransmit_share own_queue_share_at_drop starved_share datagram_loss_rate
        rebuffering_share
    """,
    ("flow", "B"): "queue_occupancy absorbed_burst",
    ("flow", "1/min"): "bitrate_switches",
    ("trial", "bit/s"): "minimum_throughput",
    ("trial", "s"): """
        mean_queueing_delay time_mean_queueing_delay median_queueing_delay p95_queueing_delay
        p99_queueing_delay time_to_use_capacity time_to_fairness flow_completion_time
        median_flow_completion_time p95_flow_completion_time p99_flow_completion_time
    """,
    ("trial", "1"): """
        jain_index product_fairness epsilon_fairness delay_fairness power loss_rate mark_rate
        retransmit_share throughput_drift utilisation unfinished_transfers """
    + " ".join(f"{reason}_loss_rate" for reason in DROP_REASONS),
    ("trial", "x"): "slowdown median_slowdown p95_slowdown p99_slowdown",
}

METRIC_UNITS: dict[str, tuple[Scope, str]] = {
    name: declared for declared, names in _NAMES.items() for name in names.split()
}
"""Metric -> its scope and its unit, as `analysis/metrics` declares them."""

BBR_MODES = (
    "Startup", "Drain", "ProbeBW down", "ProbeBW cruise", "ProbeBW refill", "ProbeBW up",
    "ProbeRTT",
)  # fmt: skip
"""What the BBR versions of hosts/cc tell from mode 1 on (hosts/cc/bbr/state.h)."""

MODE_UNITS: dict[str, str] = {
    "mode_entries": "x",
    "first_mode_entry": "s",
    "longest_in_mode": "s",
    "shortest_in_mode": "s",
}
"""What is read of the times that a control spends in a mode -> its unit."""

TOLD_UNITS: dict[str, str] = {
    f"{which}_{what}": unit
    for what, unit in {
        "pacing_gain": "x",
        "cwnd_gain": "x",
        "bandwidth_estimate": "bit/s",
        "cwnd": "B",
        "inflight": "B",
    }.items()
    for which in ("least", "most")
}
"""What is read of the samples of a control that tells its mode -> its unit."""
