"""How long a trial takes on the wall clock: by the clock, or as fast as it is computed."""

from __future__ import annotations

from collections.abc import Callable

from ..contract.plan import Plan
from ..contract.trial import Setting
from ..contract.units import PACKET_BYTES, Duration

REAL_OVERHEAD_S = 3.0
"""Wall-clock seconds of a trial besides its duration: connecting, draining, converting."""

# In virtual time, on one core (`nashbed bench virtual`, 10 to 100 flows, 50 Mbit/s to 1 Gbit/s).
BOOT_S = 0.8
"""Starting and ending the guest and its processes, converting and sealing."""
IDLE_S = 0.04
"""Of each virtual second, whatever happens in it."""
PACKET_S = 8.5e-6
"""Of each packet through the bottleneck, with its ACK and its postcard."""
FLOW_S = 1.1e-3
"""Of each flow in each virtual second: its timers, and sampling its state."""

TrialTime = Callable[[Setting], float]
"""Wall-clock seconds of a trial at a setting."""


def real_seconds(trial_ns: int) -> float:
    """Wall-clock seconds of a trial in real time.

    Args:
        trial_ns: Length of the trial.
    """
    return Duration(trial_ns).seconds + REAL_OVERHEAD_S


def virtual_seconds(trial_ns: int, rate_bps: int, flows: int) -> float:
    """Wall-clock seconds of a trial in virtual time, on one core.

    Args:
        trial_ns: Length of the trial.
        rate_bps: Rate of its bottleneck, which is taken to be busy.
        flows: Its flows.
    """
    packets = rate_bps / (8 * PACKET_BYTES)
    a_second = IDLE_S + packets * PACKET_S + flows * FLOW_S
    return BOOT_S + Duration(trial_ns).seconds * a_second


def trial_time(virtual_time: bool, trial_ns: int, flows: int) -> TrialTime:
    """How long the trials of a plan take.

    Args:
        virtual_time: Whether they are computed as fast as that goes.
        trial_ns: Length of each.
        flows: Flows of each.
    """

    def takes(setting: Setting) -> float:
        if virtual_time:
            return virtual_seconds(trial_ns, setting.rate_bps, flows)
        return real_seconds(trial_ns)

    return takes


def planned_time(plan: Plan) -> TrialTime:
    """How long the trials of a plan take."""
    return trial_time(plan.virtual_time, plan.trial_ns, plan.flows_per_trial)


def speed_ups(plan: Plan) -> tuple[float, float]:
    """How many times faster than the clock a trial is computed: the slowest and the fastest."""
    takes = planned_time(plan)
    seconds = Duration(plan.trial_ns).seconds
    ratios = [seconds / takes(trial.setting) for trial in plan.trials]
    return min(ratios), max(ratios)
