"""The transfers of a trial: when each arrives, its size and its strategy, drawn from the seed."""

import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from ..contract.flow_group import FlowGroup, most_flows
from ..contract.traffic import (
    LARGEST_TRANSFER,
    OF_MIX,
    ArrivalSpec,
    FileSizes,
    ListedSizes,
    LogNormalSizes,
    PeriodicArrivals,
)
from ..contract.units import NS_PER_S, Size
from .seeds import derive


@dataclass(frozen=True)
class Transfer:
    """A transfer that is planned.

    Attributes:
        arrival_ns: When it comes, after t0.
    """

    arrival_ns: int
    size_bytes: int
    cc: str


def draw_transfers(
    group: FlowGroup, end_ns: int, shares: Mapping[str, int], seed: int
) -> list[Transfer]:
    """The transfers of a group in one trial.

    They arrive until the end: one that is not complete by then is recorded as such. When they
    arrive, how large they are and what they run have generators of their own, so that one of
    these may change and the others stay.

    Args:
        group: A group with arrivals.
        end_ns: The trial's end, after t0.
        shares: Strategy -> flows of the mix that run it.
    """
    assert group.arrivals is not None
    sizes = draw_sizes(group, seed)
    strategies = _strategies(group.strategy, shares, _generator(seed, "strategies"))
    times = _generator(seed, "arrivals")
    arrivals = _arrivals(group.arrivals, group.start_offset.ns, end_ns, times)
    planned = islice(arrivals, most_flows(group, end_ns))
    return [Transfer(at_ns, next(sizes), next(strategies)) for at_ns in planned]


def draw_sizes(group: FlowGroup, seed: int) -> Iterator[int]:
    """The sizes of a group's transfers, one after the other.

    Args:
        group: A group with a size.
    """
    assert group.size is not None
    spec = group.size.content if isinstance(group.size, FileSizes) else group.size
    return _sizes(spec, _generator(seed, "sizes"))


def _generator(seed: int, name: str) -> random.Random:
    return random.Random(derive(seed, name))  # noqa: S311 - no secret


def _arrivals(
    spec: ArrivalSpec, begin_ns: int, end_ns: int, generator: random.Random
) -> Iterator[int]:
    if isinstance(spec, PeriodicArrivals):
        yield from range(begin_ns, end_ns, spec.every.ns)
        return
    at_s = begin_ns / NS_PER_S
    while True:
        at_s += generator.expovariate(spec.poisson.per_second)
        if (at_ns := int(at_s * NS_PER_S)) >= end_ns:
            return
        yield at_ns


def _sizes(spec: LogNormalSizes | ListedSizes | Size, generator: random.Random) -> Iterator[int]:
    while True:
        if isinstance(spec, Size):
            yield spec.bytes
        elif isinstance(spec, ListedSizes):
            yield generator.choice(spec.one_of).bytes
        else:
            drawn = generator.lognormvariate(
                math.log(spec.lognormal.median.bytes), spec.lognormal.sigma
            )
            yield min(max(1, round(drawn)), LARGEST_TRANSFER.bytes)


def _strategies(
    strategy: str, shares: Mapping[str, int], generator: random.Random
) -> Iterator[str]:
    names, weights = list(shares), list(shares.values())
    while True:
        yield strategy if strategy != OF_MIX else generator.choices(names, weights)[0]
