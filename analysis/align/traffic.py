"""A trial's traffic that ends, pauses or is paced, and which flows always have data to send."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.flow_group import FlowGroup
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.store.errors import TRIAL_REMEDY, damaged
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from .data import Datagrams, IntArray, Segments, Transfers

TRANSFER_COLUMNS = ("flow", "arrival_ns", "start_ns", "size_bytes", "completed_ns")
DATAGRAM_COLUMNS = ("flow", "sent_ns", "arrived_ns")
SEGMENT_COLUMNS = ("flow", "segment", "bitrate_bps", "requested_ns", "completed_ns", "buffer_ns")
LIMITED_BY = ("arrivals", "app", "udp")
"""Keys of flow groups whose flows do not always have data to send."""


def load_transfers(trial: SealedTrial, flows: int) -> Transfers | None:
    """The finite transfers of a trial; None: it has none.

    Raises:
        RunError: The table is damaged.
    """
    if not trial.has("transfers"):
        return None
    table = table_of_flows(trial, "transfers", flows, TRANSFER_COLUMNS)
    return Transfers(
        flow=table["flow"].astype(np.int64),
        arrival_ns=table["arrival_ns"].astype(np.int64),
        start_ns=table["start_ns"].astype(np.float64),
        size_bytes=table["size_bytes"].astype(np.int64),
        completed_ns=table["completed_ns"].astype(np.float64),
    )


def load_datagrams(trial: SealedTrial, flows: int) -> Datagrams | None:
    """The datagrams of paced media of a trial; None: it has none.

    Raises:
        RunError: The table is damaged.
    """
    if not trial.has("datagrams"):
        return None
    table = table_of_flows(trial, "datagrams", flows, DATAGRAM_COLUMNS)
    return Datagrams(
        flow=table["flow"].astype(np.int64),
        sent_ns=table["sent_ns"].astype(np.int64),
        arrived_ns=table["arrived_ns"].astype(np.float64),
    )


def load_segments(trial: SealedTrial, flows: int) -> Segments | None:
    """The segments of a trial's video by flow and number; None: it has none.

    Raises:
        RunError: The table is damaged.
    """
    if not trial.has("segments"):
        return None
    table = table_of_flows(trial, "segments", flows, SEGMENT_COLUMNS)
    order = np.lexsort((table["segment"], table["flow"]))
    return Segments(
        flow=table["flow"][order].astype(np.int64),
        bitrate_bps=table["bitrate_bps"][order].astype(np.float64),
        requested_ns=table["requested_ns"][order].astype(np.int64),
        completed_ns=table["completed_ns"][order].astype(np.float64),
        buffer_ns=table["buffer_ns"][order].astype(np.float64),
    )


def table_of_flows(
    trial: SealedTrial, name: str, flows: int, columns: Sequence[str] | None = None
) -> Arrays:
    """A table of a trial whose rows are of flows.

    Raises:
        RunError: It is damaged, or has rows of flows that the trial does not have.
    """
    return known_flows(trial.arrays(name, columns), flows, trial.path / f"{name}.parquet")


def known_flows(table: Arrays, flows: int, path: Path) -> Arrays:
    """Refuse rows of flows that the trial does not have."""
    last = int(table["flow"].max(initial=0))
    if last >= flows:
        problem = f"holds flow {last}, but the trial has {flows} flows"
        raise damaged(path, problem, TRIAL_REMEDY)
    return table


def who_always_sends(scenario: Scenario, group: IntArray) -> NDArray[np.bool_] | None:
    """Which flows always have data to send to the queue, shape (F,); None: all of them.

    Args:
        group: Flow group of each flow, shape (F,).
    """
    limited = np.array([_is_limited(each) for each in scenario.flows], bool)
    return ~limited[group] if limited.any() else None


def _is_limited(group: FlowGroup) -> bool:
    """Data that takes the way back is limited by the bottleneck there."""
    return group.reverse or any(getattr(group, key) is not None for key in LIMITED_BY)


def whose_data_returns(scenario: Scenario, group: IntArray) -> NDArray[np.bool_] | None:
    """Which flows' data takes the way of the others' acknowledgements, shape (F,); None: no flow's.

    Args:
        group: Flow group of each flow, shape (F,).
    """
    reverse = np.array([each.reverse for each in scenario.flows], bool)
    return reverse[group] if reverse.any() else None
