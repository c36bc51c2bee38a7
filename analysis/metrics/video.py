"""Video: the bitrate that was played, how often it changed, and for how long the picture stood."""

from collections.abc import Callable
from functools import partial

import numpy as np
from nashbed.controlplane.contract.units import NS_PER_S

from ..align.data import FloatArray, Segments, TrialData
from .metric import Metric

SOURCE = "Huang, Johari, McKeown, Trunnell, Watson, SIGCOMM 2014"


def mean_bitrate(bitrate_bps: FloatArray, completed: FloatArray) -> float:
    """Mean bitrate in bit/s of the segments that arrived: each plays equally long.

    Args:
        bitrate_bps: Bitrate of each segment, shape (n,).
        completed: When it arrived, shape (n,); NaN: it did not.
    """
    there = np.isfinite(completed)
    return float(bitrate_bps[there].mean()) if there.any() else float("nan")


def switches(bitrate_bps: FloatArray) -> int:
    """How often a segment has another bitrate than the one before it.

    Args:
        bitrate_bps: Bitrates in the order of the segments, shape (n,).
    """
    return int(np.count_nonzero(np.diff(bitrate_bps)))


def stalled_share(
    completed_ns: FloatArray, buffer_ns: FloatArray, window_ns: tuple[int, int]
) -> float:
    """Share of the time from the first segment's arrival on in which the picture stood still.

    It stands from when the buffer is empty, which is what it held after a segment's arrival later,
    until the next segment is there; of one that never came, until the window's end.

    Args:
        completed_ns: When each segment arrived, in their order, shape (n,); NaN: it did not.
        buffer_ns: Video in the buffer then, shape (n,).
        window_ns: The window (from, to): what of that lies in it counts.

    Returns:
        The share, unit 1; NaN where nothing arrived before the window's end.
    """
    there = np.isfinite(completed_ns)
    came, held = completed_ns[there], buffer_ns[there]
    low, high = window_ns
    if not len(came) or came[0] >= high:
        return float("nan")
    dry, back = came + held, np.append(came[1:], np.inf)
    stood = np.clip(back, low, high) - np.clip(np.minimum(dry, back), low, high)
    return float(stood.sum() / (high - max(low, came[0])))


def _of_flows(trial: TrialData, of: Callable[[Segments, tuple[int, int]], float]) -> FloatArray:
    """A number of each flow's segments; NaN of a flow that has none."""
    segments = trial.need_segments()
    result = np.full(trial.flows, np.nan)
    for flow in np.unique(segments.flow).tolist():
        result[flow] = of(segments.of_flow(flow), trial.window_ns)
    return result


def _asked_in(segments: Segments, window_ns: tuple[int, int]) -> Segments:
    low, high = window_ns
    return segments.take((segments.requested_ns >= low) & (segments.requested_ns < high))


def _bitrate(segments: Segments, window_ns: tuple[int, int]) -> float:
    asked = _asked_in(segments, window_ns)
    return mean_bitrate(asked.bitrate_bps, asked.completed_ns)


def _switches(segments: Segments, window_ns: tuple[int, int]) -> float:
    low, high = window_ns
    return switches(_asked_in(segments, window_ns).bitrate_bps) * 60 * NS_PER_S / (high - low)


def _stalled(segments: Segments, window_ns: tuple[int, int]) -> float:
    return stalled_share(segments.completed_ns, segments.buffer_ns, window_ns)


def _startup(segments: Segments, window_ns: tuple[int, int]) -> float:
    return float(segments.completed_ns[0] - segments.requested_ns[0]) / NS_PER_S


VIDEO = tuple(
    Metric(name, title, unit, "flow", definition, SOURCE, partial(_of_flows, of=of), common=False)
    for name, title, unit, definition, of in (
        ("video_bitrate", "Bitrate of video", "bit/s",
         "Mean bitrate of the segments that were asked for in the measured window and arrived.",
         _bitrate),
        ("rebuffering_share", "Time in which the picture stood still", "1",
         "Share of the measured window, from the first segment's arrival on, in which the player's "
         "buffer was empty.", _stalled),
        ("bitrate_switches", "Changes of a video's bitrate", "1/min",
         "How often a segment had another bitrate than the one before it, of the segments that "
         "were asked for in the measured window, per minute of it.", _switches),
        ("video_startup", "Time until a video begins", "s",
         "Time from the request for the first segment until it was there, whenever that was.",
         _startup),
    )
)  # fmt: skip
