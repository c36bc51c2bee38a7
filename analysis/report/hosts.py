"""What the page says of the hosts: how busy their kernels were, who was held back by a socket."""

from collections import defaultdict
from collections.abc import Sequence

from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.trial import CoreLoad, TrialRecord
from nashbed.controlplane.contract.units import counted

from ..text import number

NS_PER_MS = 1e6


def hosts_context(records: Sequence[TrialRecord]) -> JsonObject:
    """Kernel load by core, flows limited by a socket, and payload that was sent without need.

    Args:
        records: All sealed trials, the invalid ones too.
    """
    return {
        "cores": _cores(records),
        "sockets": _sockets(records),
        "repeats": _repeats(records),
    }


def _cores(records: Sequence[TrialRecord]) -> list[JsonObject]:
    loads: dict[int, list[CoreLoad]] = defaultdict(list)
    for record in records:
        for load in record.kernel_load or ():
            loads[load.core].append(load)
    return [_core(core, loads[core]) for core in sorted(loads)]


def _core(core: int, loads: Sequence[CoreLoad]) -> JsonObject:
    return {
        "core": core,
        "work": "flows" if any(load.flows for load in loads) else "packet loop",
        "softirq": _mean_and_most([100 * load.softirq for load in loads]),
        "steal": _mean_and_most([100 * load.steal for load in loads]),
        "ksoftirqd": _mean_and_most([load.ksoftirqd_ns / NS_PER_MS for load in loads]),
        "squeezed": _mean_and_most([load.squeezed for load in loads]),
        "dropped": max(load.dropped for load in loads),
        "waiting": max(load.waiting for load in loads),
    }


def _mean_and_most(values: Sequence[float]) -> str:
    return f"{number(sum(values) / len(values))} ({number(max(values))})"


def _sockets(records: Sequence[TrialRecord]) -> list[str]:
    """One line for each strategy and kind of limit."""
    shares: dict[tuple[str, str, bool], list[float]] = defaultdict(list)
    trials: dict[tuple[str, str, bool], set[str]] = defaultdict(set)
    for record in records:
        for flow in record.window_limited:
            key = (flow.strategy, flow.by, flow.stated)
            shares[key].append(flow.share)
            trials[key].add(record.id)
    return [
        f"{strategy}: {counted(len(found), 'flow')} in "
        f"{counted(len(trials[strategy, by, stated]), 'trial')} limited by their {by}, for "
        f"{max(found):.0%} of the window at most"
        + (
            ", as stated in the scenario's `hosts`."
            if stated
            else ", not by congestion control alone."
        )
        for (strategy, by, stated), found in sorted(shares.items())
    ]


def _repeats(records: Sequence[TrialRecord]) -> str:
    """One sentence; empty where no trial kept all postcards."""
    told = [record.repeated for record in records if record.repeated is not None]
    if not told:
        return ""
    packets = sum(flow.packets - flow.late for flows in told for flow in flows)
    late = sum(flow.late for flows in told for flow in flows)
    return (
        f"In {counted(len(told), 'trial')} with all postcards, {counted(packets, 'packet')} "
        f"crossed the path again as spurious retransmissions, and {late} because the earlier "
        "copy was lost behind the bottleneck."
    )
