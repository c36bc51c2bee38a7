"""Who held the queue at whose drops, as tables for other tools."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from nashbed.controlplane.contract.shared import DROP_REASONS
from nashbed.controlplane.store.errors import RunError

from ..align.arrived import Outlook
from ..measures import RunMeasures, TrialMeasures
from .blame import blame_shares
from .holders import Drops, drops_with_holders
from .of_trial import first_pass, problem_of, queue_names, second_pass, share_trial

HOLDERS = pa.schema(
    [
        ("trial", pa.string()),
        ("t_ns", pa.int64()),
        ("arrived_ns", pa.int64()),
        ("flow", pa.uint32()),
        ("queue", pa.string()),
        ("packet_bytes", pa.uint32()),
        ("reason", pa.string()),
        ("holder_flow", pa.uint32()),
        ("holder_queue", pa.string()),
        ("held_bytes", pa.int64()),
    ]
)
"""One row for each drop and each flow that held any of the queue then, in the order of time."""
Writer = Callable[[RunMeasures, Path], None]


def write_blame(measures: RunMeasures, path: Path) -> None:
    """Write who is to blame for whose drops of each counted trial, as Parquet.

    One row for each flow that lost packets in the measured window and each that held the queue.

    Raises:
        RunError: The trials do not keep all postcards, or they are damaged.
    """
    parts = [_blame_of(trial) for trial in _known(measures)]
    pl.concat(parts).write_parquet(path, compression="zstd")


def _blame_of(trial: TrialMeasures) -> pl.DataFrame:
    sharing = share_trial(trial)
    blame, names = sharing.blame, np.array(sharing.queues)
    lost, holder = (each.ravel() for each in np.indices(blame.blamed_bytes.shape))
    strategy = np.array(trial.strategy)
    rows = {
        "trial": [trial.trial.id] * len(lost),
        "flow": blame.flow[lost],
        "queue": names[blame.queue[lost]],
        "strategy": strategy[blame.flow[lost]],
        "holder_flow": blame.flow[holder],
        "holder_queue": names[blame.queue[holder]],
        "holder_strategy": strategy[blame.flow[holder]],
        "dropped_packets": blame.packets.sum(axis=1)[lost],
        "dropped_bytes": blame.bytes.sum(axis=1)[lost],
        "blamed_bytes": blame.blamed_bytes.ravel(),
        "share": blame_shares(blame.blamed_bytes).ravel(),
    }
    return pl.DataFrame(rows).filter(pl.col("dropped_packets") > 0)


def write_holders(measures: RunMeasures, path: Path) -> None:
    """Write who held the queue at every drop of each counted trial, as Parquet, streamed.

    Raises:
        RunError: The trials do not keep all postcards, or they are damaged.
    """
    with pq.ParquetWriter(path, HOLDERS, compression="zstd") as writer:
        for trial in _known(measures):
            outlook = first_pass(trial)
            for drops in drops_with_holders(second_pass(trial), outlook):
                writer.write_table(_holders_of(trial, drops, outlook))


def _holders_of(trial: TrialMeasures, drops: Drops, outlook: Outlook) -> pa.Table:
    names, reasons = np.array(queue_names(trial.trial)), np.array(DROP_REASONS)
    drop, holder = np.nonzero(drops.held.T)
    party = drops.party[drop]
    columns = [
        np.full(len(drop), trial.trial.id),
        drops.t_ns[drop],
        drops.arrived_ns[drop],
        outlook.flow[party],
        names[outlook.queue[party]],
        drops.packet_bytes[drop],
        reasons[drops.reason[drop]],
        outlook.flow[holder],
        names[outlook.queue[holder]],
        drops.held[holder, drop],
    ]
    fields = zip(columns, HOLDERS, strict=True)
    return pa.table([pa.array(c).cast(f.type) for c, f in fields], schema=HOLDERS)


def _known(measures: RunMeasures) -> Iterator[TrialMeasures]:
    """The counted trials, all of which must keep all postcards."""
    for trial in measures.trials:
        problem = problem_of(trial.trial)
        if problem is not None:
            raise RunError(f"{trial.trial.path}: {problem}")
        yield trial


MADE: dict[str, Writer] = {"blame": write_blame, "holders": write_holders}
"""Tables that are made of postcards when they are asked for."""
