"""Flows that are no part of the mix: background flows, and transfers that end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field, model_validator

from .model import ContractModel, FileModel
from .units import NS_PER_S, Duration, Frequency, Size

if TYPE_CHECKING:
    from .scenario import FlowGroup, Scenario

OF_MIX: Final = "of_mix"
"""Strategy of a group whose flows run what the mix says."""
LARGEST_TRANSFER = Size(10**12)
MOST_SIZES = 10_000
MOST_SIGMAS = 6
"""A Poisson count is beyond so many standard deviations once in a thousand million trials."""


class PoissonArrivals(ContractModel):
    """Transfers at random: the gaps between them are exponential.

    Attributes:
        poisson: How many there are in a second, on average.
    """

    poisson: Frequency

    @model_validator(mode="after")
    def _check(self) -> PoissonArrivals:
        if self.poisson.micro == 0:
            raise ValueError("poisson: must be more than 0; write e.g. 20/s")
        return self

    def most(self, span_ns: int) -> int:
        """How many there are within a time, at the most."""
        mean = self.poisson.per_second * span_ns / NS_PER_S
        return math.ceil(mean + MOST_SIGMAS * math.sqrt(mean)) + 10


class PeriodicArrivals(ContractModel):
    """Transfers at equal distances, the first one at once.

    Attributes:
        every: From one to the next.
    """

    every: Duration

    @model_validator(mode="after")
    def _check(self) -> PeriodicArrivals:
        if self.every.ns == 0:
            raise ValueError("every: must be more than 0; write e.g. 50ms")
        return self

    def most(self, span_ns: int) -> int:
        """How many there are within a time."""
        return -(-span_ns // self.every.ns)


ArrivalSpec = PoissonArrivals | PeriodicArrivals


class LogNormal(ContractModel):
    """A log-normal distribution of sizes.

    Attributes:
        median: Half of the transfers are smaller.
        sigma: Standard deviation of the size's natural logarithm; of web objects about 1.5.
    """

    median: Size
    sigma: Annotated[float, Field(gt=0, le=5)]


class LogNormalSizes(ContractModel):
    """Sizes that are log-normal.

    Attributes:
        lognormal: Their median, and how far they spread.
    """

    lognormal: LogNormal

    @model_validator(mode="after")
    def _check(self) -> LogNormalSizes:
        check_size(self.lognormal.median, "lognormal.median")
        return self


class ListedSizes(ContractModel):
    """Sizes of which each is as likely as any other; one that is listed twice is twice as likely.

    Attributes:
        one_of: The sizes.
    """

    one_of: Annotated[tuple[Size, ...], Field(min_length=1, max_length=MOST_SIZES)]

    @model_validator(mode="after")
    def _check(self) -> ListedSizes:
        for i, size in enumerate(self.one_of):
            check_size(size, f"one_of.{i}")
        return self


class FileSizes(FileModel):
    """Sizes that are listed in a file.

    Attributes:
        file: The file, relative to this one: a size on each line, in bytes or with a unit.
    """

    @property
    def content(self) -> ListedSizes:
        """What is in its file.

        Raises:
            ValueError: The scenario came from no file, so that nobody knows where it is.
        """
        if not isinstance(self._content, ListedSizes):
            raise ValueError(f"size.file: {self.file} was not read; load the scenario")
        return self._content


SizeSpec = LogNormalSizes | ListedSizes | FileSizes | Size
Connections = Literal["new", "kept"]


def check_size(size: Size, key: str) -> None:
    """Refuse a transfer of nothing, or of more than anybody waits for.

    Raises:
        ValueError: The size is one of these.
    """
    if not 1 <= size.bytes <= LARGEST_TRANSFER.bytes:
        raise ValueError(f"{key}: {size} is out of range; write 1B to {LARGEST_TRANSFER}")


def check_group(group: FlowGroup) -> None:
    """A group has a number of flows that send until the end, or transfers that arrive.

    Raises:
        ValueError: It has both, neither, or half of one.
    """
    if group.arrivals is None:
        for key in ("size", "connections"):
            if getattr(group, key) is not None:
                raise ValueError(f"{key}: is that of transfers; write `arrivals`, or remove it")
        if group.count == 0:
            raise ValueError("count: is missing; write how many flows, or the `arrivals`")
        return
    if group.count:
        raise ValueError("count: transfers come by `arrivals`; remove one of the two")
    if group.size is None:
        raise ValueError("size: is missing; write that of a transfer, e.g. 1MB")
    if isinstance(group.size, Size):
        check_size(group.size, "size")


def check_direction(group: FlowGroup) -> None:
    """Data on the way of the others' acknowledgements is that of bulk flows in the background.

    Raises:
        ValueError: It is not.
    """
    if not group.reverse:
        return
    for key in ("arrivals", "app", "udp"):
        if getattr(group, key) is not None:
            raise ValueError(
                f"direction: reverse is for flows that send until the end; remove `{key}`, or "
                "write `direction: forward`"
            )
    if group.strategy == "of_mix":
        raise ValueError(
            "direction: a mix competes in the queue of the way there; write a `strategy` of the "
            "group's own, e.g. cubic"
        )


def check_directions(scenario: Scenario) -> None:
    """Data that takes the way back needs a bottleneck there, and a start that can be ordered.

    Raises:
        ValueError: There is none.
    """
    for i, group in enumerate(scenario.flows):
        if not group.reverse:
            continue
        if scenario.bottleneck.return_ is None:
            raise ValueError(
                f"flows.{i}.direction: reverse needs a bottleneck on the way back; write "
                "`bottleneck: {return: {rate: 10mbit, buffer: 50pkt}}`"
            )
        if scenario.start == "iperf3":
            raise ValueError(
                f"flows.{i}.direction: iperf3 starts flows of one direction; write another start"
            )


def most_flows(group: FlowGroup, longest_ns: int) -> int:
    """Flows of a group, or its transfers, in a trial, at the most."""
    if group.arrivals is None:
        return group.count
    return group.arrivals.most(max(0, longest_ns - group.start_offset.ns))


def check_order(scenario: Scenario) -> None:
    """A mix has a number for each of its groups in their order: background comes after them.

    Raises:
        ValueError: A group of the mix stands behind one that is not, or there is none.
    """
    if not scenario.mixed:
        raise ValueError(
            "flows: no group is part of the mix; write one with a `count` and no `strategy`"
        )
    for i, group in enumerate(scenario.flows[: len(scenario.mixed)]):
        if not group.mixed:
            raise ValueError(
                f"flows.{i}: {group.name!r} is background; write it behind the groups of the mix"
            )


def check_background_start(scenario: Scenario, index: int, group: FlowGroup) -> None:
    """Background may begin late, but not after the end.

    Raises:
        ValueError: It does.
    """
    jitter = scenario.start_jitter if group.arrivals is None else Duration(0)
    if group.start_offset.ns + jitter.ns >= scenario.shortest.ns:
        also = f" and start_jitter {jitter} are together" if jitter.ns else " is"
        raise ValueError(
            f"flows.{index}.start_offset: {group.start_offset}{also} beyond the duration "
            f"({scenario.shortest})"
        )
