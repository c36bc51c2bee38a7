"""The queue's occupancy over time as a table: who held how much of it, in bins of any length."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import polars as pl
from nashbed.controlplane.contract.errors import ConfigError
from nashbed.controlplane.contract.queues import FlowKind
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.units import Duration
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from ..align.arrived import queue_of
from ..align.load import bin_length_ns
from ..errors import NotMeasuredError
from .queue import COLUMNS, TimeBins, occupancy_bins

By = Literal["queue", "flow", "strategy", "group"]


def flow_labels(trial: SealedTrial, scenario: Scenario) -> pl.DataFrame:
    """A row for each flow: flow, strategy, group and queue.

    `queue` is the name of the queue that the flow's packets go to, as its group or strategy or its
    DSCP says; null: there is only one queue.
    """
    flows = trial.arrays("flows", ["flow", "cc", "group_name"])
    dscp, queues = {g.name: g.dscp for g in scenario.flows}, trial.setting.queues
    kinds = [
        FlowKind(str(cc), str(group), dscp.get(str(group)))
        for cc, group in zip(flows["cc"], flows["group_name"], strict=True)
    ]
    at = [None if queues is None else queues.queue_of(kind) for kind in kinds]
    names = [None if queues is None or i is None else queues.queues[i].name for i in at]
    return pl.DataFrame(
        {
            "flow": flows["flow"].astype(np.int64),
            "strategy": [kind.strategy for kind in kinds],
            "group": [kind.group for kind in kinds],
            "queue": pl.Series(names, dtype=pl.String),
        }
    ).sort("flow")


def occupancy(
    trial: SealedTrial, scenario: Scenario, every_ns: int, by: Sequence[By] = ("flow",)
) -> pl.DataFrame:
    """Mean bytes in the queue in each bin of a trial, which is exact: integral / length.

    Args:
        trial: The trial, with postcards or bins.
        every_ns: Length of a bin, from t0 on.
        by: What has rows of its own; nothing: all that is in the queue is one. From postcards a
            packet's queue is its own, from bins it is its flow's.

    Returns:
        Columns time_ns (beginning of the bin, after t0), those of `by`, and bytes: a row for each
        bin and each combination of these that the trial has.

    Raises:
        NotMeasuredError: The trial has neither postcards nor bins.
        ConfigError: It kept bins, of which `every_ns` is no multiple.
    """
    labels, several = flow_labels(trial, scenario), trial.setting.queues
    parts = 1
    if "queue" in by and several is not None and trial.has("postcards"):
        names = pl.DataFrame({"queue": [queue.name for queue in several.queues]})
        labels, parts = labels.drop("queue").join(names, how="cross"), len(names)
    groups = labels.select(by).unique(maintain_order=True) if by else pl.DataFrame({"": [0]})
    key = np.zeros(len(labels), np.int64)
    if by:
        numbered = groups.with_row_index("key")
        key = labels.join(numbered, on=by, nulls_equal=True, maintain_order="left")[
            "key"
        ].to_numpy()
    bins = TimeBins.cover(0, trial.record.duration_ns, every_ns)
    if trial.has("postcards"):
        chunks = _keyed(trial, key, parts)
        held = occupancy_bins(chunks, len(groups), bins)
    elif trial.has("bins"):
        held = _of_bins(trial, bin_length_ns(scenario), key, bins)
    else:
        raise NotMeasuredError("neither packets nor bins of the queue were kept")
    rows = groups[np.tile(np.arange(len(groups)), bins.count)].select(by)
    return pl.DataFrame(
        {
            "time_ns": np.repeat(bins.starts_ns, len(groups)),
            **rows.to_dict(),
            "bytes": held.T.ravel(),
        }
    )


def _keyed(trial: SealedTrial, key: NDArray[np.int64], parts: int) -> Iterator[Arrays]:
    """Postcards whose flow is the number of what has rows of its own."""
    for chunk in trial.batches("postcards", (*COLUMNS, "queue") if parts > 1 else COLUMNS):
        queue = queue_of(chunk) if parts > 1 else 0
        yield chunk | {"flow": key[chunk["flow"].astype(np.int64) * parts + queue]}


def _of_bins(
    trial: SealedTrial, length_ns: int, key: NDArray[np.int64], bins: TimeBins
) -> NDArray[np.float64]:
    if bins.length_ns % length_ns:
        raise ConfigError(
            f"every: the trial kept bins of {Duration(length_ns)}; write a multiple of them"
        )
    held = np.zeros((int(key.max()) + 1, bins.count))
    for chunk in trial.batches("bins", ("bin_start_ns", "flow", "occupancy_bytes_mean")):
        at = (chunk["bin_start_ns"] - bins.start_ns) // bins.length_ns
        here = (at >= 0) & (at < bins.count)
        share = chunk["occupancy_bytes_mean"][here] * (length_ns / bins.length_ns)
        np.add.at(held, (key[chunk["flow"][here]], at[here]), share)
    return held
