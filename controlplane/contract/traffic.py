"""Flows that are no part of the mix: background flows, and transfers that end."""

from __future__ import annotations

import math
from typing import Annotated, Final, Literal

from pydantic import Field, model_validator

from .model import ContractModel, FileModel
from .units import NS_PER_S, Duration, Frequency, Size

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
