"""The page's section on clocks and captures, as plain data."""

from nashbed.controlplane.contract.model import JsonObject

from ..clock.of_run import RunTaps
from ..clock.queueing import Mismatch, TapComparison
from ..text import NONE, number

SHOWN = 10
"""Mismatches of a trial that the page itself lists; the file has all."""


def taps_context(taps: RunTaps) -> JsonObject | None:
    """Everything the section shows; None: nothing was captured on both sides."""
    if not taps:
        return None
    return {
        "trials": [_trial(each) for each in taps.compared],
        "problems": list(taps.problems),
        "left_out": taps.left_out,
    }


def _trial(comparison: TapComparison) -> JsonObject:
    low, high = comparison.spread_ns
    return {
        "id": comparison.trial,
        "kind": "hosts" if comparison.software else "hardware",
        "packets": len(comparison.sojourn_ns),
        "bias": f"{number(comparison.bias_ns / 1e3)} µs",
        "spread": f"{number(low / 1e3)} to {number(high / 1e3)} µs",
        "mismatches": len(comparison.mismatches),
        "tolerance": f"{number(comparison.tolerance_ns / 1e3)} µs",
        "shown": [_mismatch(each) for each in comparison.mismatches[:SHOWN]],
        "clocks": list(comparison.clocks),
    }


def _mismatch(each: Mismatch) -> JsonObject:
    return {
        "flow": each.flow,
        "seq": each.tcp_seq,
        "problem": each.problem,
        "postcard": NONE if each.postcard_ns is None else f"{each.postcard_ns / 1e6:.3f} ms",
        "capture": NONE if each.capture_ns is None else f"{each.capture_ns / 1e6:.3f} ms",
    }
