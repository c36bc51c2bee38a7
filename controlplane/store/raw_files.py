"""The binary files that the data plane and the flow generator leave, as numpy records."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..contract.errors import HostError, NashbedError, TargetError
from ..contract.records import CLOCK_WRAP_NS, join_u48

BATCH_RECORDS = 1 << 18
"""Records read at once: about 10 MB raw and 30 MB as columns."""

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class LaneClock:
    """What turns a lane's raw records into those of a trial.

    Attributes:
        lane: The lane that all records must be of.
        first_flow: Flow table id of the lane's flow 0.
        t0_switch_ns: The trial's t0 on the switch clock.
    """

    lane: int
    first_flow: int
    flows: int
    t0_switch_ns: int

    def relative_ns(self, high: NDArray[Any], low: NDArray[Any]) -> Ints:
        """48-bit switch times as times after t0.

        Args:
            high: Upper 16 bits.
            low: Lower 32 bits.
        """
        return relative_u48(high, low, self.t0_switch_ns)


def relative_u48(high: NDArray[Any], low: NDArray[Any], origin_ns: int) -> Ints:
    """48-bit times relative to an origin, right across the clock's wrap (78 hours).

    Args:
        high: Upper 16 bits.
        low: Lower 32 bits.
    """
    mask = CLOCK_WRAP_NS - 1
    distance = (join_u48(high, low) - (origin_ns & mask)) & mask
    return np.where(distance >= CLOCK_WRAP_NS // 2, distance - CLOCK_WRAP_NS, distance)


def lane_flows(path: Path, raw: NDArray[Any], clock: LaneClock) -> Ints:
    """The lane's own flow numbers of raw records.

    Raises:
        TargetError: A record is of a flow of another lane.
    """
    flow: Ints = raw["flow"].astype(np.int64) - clock.first_flow
    if np.any((flow < 0) | (flow >= clock.flows)):
        raise TargetError(f"{path}: has a record of a flow that is not in lane {clock.lane}")
    return flow


def read_telemetry(
    path: Path, record: np.dtype[Any], batch: int = BATCH_RECORDS
) -> Iterator[NDArray[Any]]:
    """Read a file of the data plane in batches.

    Raises:
        TargetError: The file is missing or ends in the middle of a record.
    """
    _check_size(path, record, TargetError, "data plane")
    with path.open("rb") as stream:
        while chunk := stream.read(batch * record.itemsize):
            yield np.frombuffer(chunk, dtype=record)


def read_generator_file(path: Path, record: np.dtype[Any]) -> NDArray[Any]:
    """Read a whole file of the flow generator.

    Raises:
        HostError: The file is missing or ends in the middle of a record.
    """
    _check_size(path, record, HostError, "flow generator")
    return np.fromfile(path, dtype=record)


def _check_size(
    path: Path, record: np.dtype[Any], error_type: type[NashbedError], writer: str
) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise error_type(f"{path}: the {writer} did not write this file") from error
    if size % record.itemsize:
        raise error_type(f"{path}: ends in the middle of a record ({size} bytes)")
