"""What a congestion control was doing at each sample, in words.

The kernel's BBR tells no mode, but its gains do (tcp_bbr.c): it drains below a pacing gain of 1
with the window gain of Startup, and only in ProbeRTT is the window gain 1. Controls of hosts/cc
tell a number. All others are in TCP's own states, and, where those are open, below or above
ssthresh.
"""

from collections.abc import Iterator

import numpy as np
from nashbed.controlplane.contract.metrics import BBR_MODES
from nashbed.controlplane.store.parquet import Arrays
from numpy.typing import NDArray

TCP_STATES = ("open", "disorder", "CWR", "recovery", "loss")
"""By `ca_state`."""
BBR = "bbr"
TELL_BBR_MODES = {BBR, "bbr2", "bbr3"}
REDUCING = 2
"""The first of TCP's states in which the window is reduced."""
LARGE_GAIN = 2.5
"""Above ProbeBW's window gain of 2 and below Startup's of 2.89."""


def tcp_states(samples: Arrays) -> list[str]:
    """TCP's state at each sample."""
    known = len(TCP_STATES)
    numbers: list[int] = samples["ca_state"].tolist()
    return [TCP_STATES[n] if n < known else f"state {n}" for n in numbers]


def control_states(control: str, samples: Arrays) -> list[str]:
    """What a flow's congestion control was doing at each sample.

    Args:
        samples: The samples of one flow.
    """
    names = _by_window(samples)
    told = samples["bbr_mode"].astype(float)
    gain = samples["bbr_cwnd_gain"].astype(float)
    for n in np.flatnonzero(np.isfinite(told)):
        names[n] = _told(control, int(told[n]))
    if control == BBR:
        pacing = samples["bbr_pacing_gain"].astype(float)
        for n in np.flatnonzero(~np.isfinite(told) & np.isfinite(gain)):
            names[n] = _by_gains(pacing[n], gain[n])
    return names


def changes(t_ns: NDArray[np.int64], names: list[str]) -> Iterator[tuple[int, int, str]]:
    """Stretches of the same state: begin, end, name; one ends where the next was first seen.

    Args:
        t_ns: When each sample was taken, increasing; shape (n,).
        names: The state at each.
    """
    times: list[int] = t_ns.tolist()
    begin = 0
    for n in range(1, len(names) + 1):
        if n == len(names) or names[n] != names[begin]:
            yield times[begin], times[min(n, len(names) - 1)], names[begin]
            begin = n


def _told(control: str, mode: int) -> str:
    if control in TELL_BBR_MODES and 1 <= mode <= len(BBR_MODES):
        return BBR_MODES[mode - 1]
    return f"mode {mode}"


def _by_gains(pacing: float, window: float) -> str:
    if window > LARGE_GAIN:
        return "Startup" if pacing > 1 else "Drain"
    if window <= 1:
        return "ProbeRTT"
    phase = "up" if pacing > 1 else "down" if pacing < 1 else "cruise"
    return f"ProbeBW {phase}"


def _by_window(samples: Arrays) -> list[str]:
    growing = samples["cwnd_pkts"] < samples["ssthresh_pkts"]
    tcp = samples["ca_state"] >= REDUCING
    open_names = np.where(growing, "slow start", "congestion avoidance").tolist()
    return [
        state if reduced else name
        for state, reduced, name in zip(tcp_states(samples), tcp.tolist(), open_names, strict=True)
    ]
