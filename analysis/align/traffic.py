"""A trial's traffic that ends, pauses or is paced, and which flows always have data to send."""

import numpy as np
from nashbed.controlplane.contract.flow_group import FlowGroup
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.store.errors import TRIAL_REMEDY, damaged
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from .data import Datagrams, IntArray, Transfers

TRANSFER_COLUMNS = ("flow", "arrival_ns", "start_ns", "size_bytes", "completed_ns")
DATAGRAM_COLUMNS = ("flow", "sent_ns", "arrived_ns")
LIMITED_BY = ("arrivals", "app", "udp")
"""Keys of flow groups whose flows do not always have data to send."""


def load_transfers(trial: SealedTrial, flows: int) -> Transfers | None:
    """The finite transfers of a trial; None: it has none.

    Raises:
        RunError: The table is damaged.
    """
    if not trial.has("transfers"):
        return None
    table = _known(trial, "transfers", TRANSFER_COLUMNS, flows)
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
    table = _known(trial, "datagrams", DATAGRAM_COLUMNS, flows)
    return Datagrams(
        flow=table["flow"].astype(np.int64),
        sent_ns=table["sent_ns"].astype(np.int64),
        arrived_ns=table["arrived_ns"].astype(np.float64),
    )


def _known(trial: SealedTrial, name: str, columns: tuple[str, ...], flows: int) -> Arrays:
    table = trial.arrays(name, columns)
    last = int(table["flow"].max(initial=0))
    if last >= flows:
        problem = f"holds flow {last}, but the trial has {flows} flows"
        raise damaged(trial.path / f"{name}.parquet", problem, TRIAL_REMEDY)
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
