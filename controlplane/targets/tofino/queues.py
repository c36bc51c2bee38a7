"""Several queues of the receivers' port, out of one pool of cells. Pure.

The port's shaper is the line. Each queue has a priority, or a weight of the deficit round robin of
queues of one priority, and shares an egress pool of its own: with a static limit in it, or with a
dynamic one. The driver's source (SDE 9.13) says: a higher priority is served first, all queues have
7 unless told otherwise (tm_api_sch.c:322), and weights are 0 to 1023 and only their ratio counts
(:60). The names of the dynamic limits are the share of the pool that one queue alone would get,
which is alpha / (1 + alpha) for powers of two.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...contract.errors import ConfigError, TargetError
from ...contract.model import JsonObject
from ...contract.queues import Queues
from ...contract.target import Applied, Lane
from ...contract.testbed import SwitchTofino
from ...contract.units import PACKET_BYTES
from .capabilities import Chip, Shaper, applied, cells_for, full_packet_cells, shaper_for
from .info import Change, Query, Value
from .programming import QueueAddress, lane_limit, rate_data

POOL = "EG_APP_POOL_3"
"""The last of the egress pools, which nobody else is likely to use; its size is put back."""
STATIC = "DISABLE"
BAF = {0.0625: "6%", 0.125: "11%", 0.25: "20%", 0.5: "33%", 1.0: "50%", 2.0: "66%", 4.0: "80%"}
"""Alpha -> the dynamic limit of that name."""
HIGHEST_PRIORITY = 7
LARGEST_WEIGHT = 1023
_PRIORITIES = {"LOW": "0", "HIGH": str(HIGHEST_PRIORITY)}
"""What the driver calls the lowest and the highest where it reads them."""


@dataclass(frozen=True)
class PoolQueue:
    """One queue's part of pool and line.

    Attributes:
        max_cells: Its static limit, or what it may have besides the dynamic one.
        baf: Its dynamic limit; STATIC: none.
        priority: The higher, the sooner it is served.
        weight: Its weight among queues of its priority.
    """

    max_cells: int
    baf: str
    priority: int
    weight: int


@dataclass(frozen=True)
class PoolQueues:
    """All of them.

    Attributes:
        shaper: The line's rate.
        cells: The memory.
    """

    asked: Queues
    shaper: Shaper
    cells: int
    queues: tuple[PoolQueue, ...]


def queues_for(settings: SwitchTofino, chip: Chip, program: Lane) -> PoolQueues:
    """What a switch would do of several queues.

    Raises:
        ConfigError: It cannot; the line says why.
    """
    asked = program.queues
    assert asked is not None
    cells = cells_for(chip, program)
    shaper = shaper_for(settings, chip, program)
    scale = LARGEST_WEIGHT // max(queue.weight for queue in asked.queues)
    drr = asked.scheduler == "drr"
    queues = tuple(
        PoolQueue(
            max_cells=limit,
            baf=_baf(asked),
            priority=HIGHEST_PRIORITY if drr else HIGHEST_PRIORITY - index,
            weight=queue.weight * scale if drr else LARGEST_WEIGHT,
        )
        for index, (queue, limit) in enumerate(
            zip(asked.queues, _limits(chip, asked, cells), strict=True)
        )
    )
    return PoolQueues(asked, shaper, cells, queues)


def _baf(asked: Queues) -> str:
    alpha = asked.memory.alpha
    if alpha is None:
        return STATIC
    found = BAF.get(alpha)
    if found is None:
        raise ConfigError(
            f"target tofino: dynamic thresholds have alpha {', '.join(f'{a:g}' for a in BAF)}, not "
            f"{alpha:g} (bottleneck.shared_buffer)"
        )
    return found


def _limits(chip: Chip, asked: Queues, cells: int) -> list[int]:
    """Each queue's cells in the pool: the policy's, or its own limit if that is less."""
    name, number = asked.memory.name, len(asked.queues)
    own = [_cells(chip, queue.limit_bytes) or cells for queue in asked.queues]
    if name == "dynamic_threshold":
        if any(queue.limit_bytes for queue in asked.queues):
            raise ConfigError(
                "target tofino: a queue has a dynamic threshold or a limit of its own, not both "
                "(bottleneck.queues); leave `limit` out"
            )
        # 0 would be no part in the pool at all (tm_api_queue.c:190).
        return [full_packet_cells(chip)] * number
    policy = [cells] * number
    if name == "static":
        policy = [_cells(chip, limit) for limit in asked.memory.limits]
    elif name == "complete_partitioning":
        policy = [cells // number] * number
    return [min(each) for each in zip(policy, own, strict=True)]


def _cells(chip: Chip, size_bytes: int) -> int:
    """Cells for as many full-sized packets as there are in so many bytes."""
    return size_bytes // PACKET_BYTES * full_packet_cells(chip)


def lane(
    settings: SwitchTofino,
    chip: Chip,
    number: int,
    addresses: Sequence[QueueAddress],
    queues: PoolQueues,
) -> list[Change]:
    """The lane's pool, queues and line, and what P4 knows of it, without its flows."""
    port: dict[str, Value] = {"dev_port": settings.ports.receivers.port}
    rate = rate_data(settings, chip, queues.shaper)
    changes = [Change("modify", chip.table("tm.pool.cfg"), {"pool": POOL}, _pool(queues.cells))]
    for address, queue in zip(addresses, queues.queues, strict=True):
        changes += _queue(chip, address, queue)
    return [
        *changes,
        Change("modify", chip.table("tm.port.sched_shaping"), port, rate),
        Change("modify", chip.table("tm.port.sched_cfg"), port, {"max_rate_enable": True}),
        lane_limit(number, queues.cells),
    ]


def _pool(cells: int) -> dict[str, Value]:
    return {"size_cells": cells}


def _limit(queue: PoolQueue) -> dict[str, Value]:
    return {
        "guaranteed_cells": 0,
        "hysteresis_cells": 0,
        "tail_drop_enable": True,
        "pool_id": POOL,
        "pool_max_cells": queue.max_cells,
        "dynamic_baf": queue.baf,
    }


def _served(queue: PoolQueue) -> dict[str, Value]:
    return {
        "max_rate_enable": False,
        "max_priority": str(queue.priority),
        "dwrr_weight": queue.weight,
    }


def _queue(chip: Chip, address: QueueAddress, queue: PoolQueue) -> list[Change]:
    buffer, served = chip.table("tm.queue.buffer"), chip.table("tm.queue.sched_cfg")
    key, pipe = address.key, address.pipe
    return [
        Change("modify", buffer, key, _limit(queue), "shared_pool", pipe),
        Change("modify", served, key, _served(queue), pipe=pipe),
    ]


def read_back(settings: SwitchTofino, chip: Chip, addresses: Sequence[QueueAddress]) -> list[Query]:
    """Queries for what the chip has: line, its switch, the pool; then each queue's two."""
    port: dict[str, Value] = {"dev_port": settings.ports.receivers.port}
    queries = [
        Query(chip.table("tm.port.sched_shaping"), port),
        Query(chip.table("tm.port.sched_cfg"), port),
        Query(chip.table("tm.pool.cfg"), {"pool": POOL}),
    ]
    for address in addresses:
        for table in ("tm.queue.buffer", "tm.queue.sched_cfg"):
            queries.append(Query(chip.table(table), address.key, address.pipe))
    return queries


def applied_queues(
    settings: SwitchTofino, chip: Chip, queues: PoolQueues, answers: Sequence[JsonObject]
) -> Applied:
    """What was applied, from the answers to `read_back`.

    Raises:
        TargetError: It is not what was asked for.
    """
    shaping, enabled, pool, *each = answers
    _require(settings, "the port's shaper", enabled, {"max_rate_enable": True})
    _require(settings, f"pool {POOL}", pool, _pool(queues.cells))
    for index, (asked, queue) in enumerate(zip(queues.asked.queues, queues.queues, strict=True)):
        limit, served = each[2 * index : 2 * index + 2]
        name = f"queue {asked.name!r}"
        _require(settings, name, limit, _limit(queue))
        priority = str(served.get("max_priority"))
        served = {**served, "max_priority": _PRIORITIES.get(priority, priority)}
        _require(settings, name, served, _served(queue))
    return _said(settings, chip, queues, int(shaping["max_rate"]))


def _require(
    settings: SwitchTofino, what: str, entry: JsonObject, written: dict[str, Value]
) -> None:
    for key, value in written.items():
        if entry.get(key) != value:
            raise TargetError(
                f"switch at {settings.grpc}: {what} has {key} {entry.get(key)} after {value} was "
                "written"
            )


def expected_queues(settings: SwitchTofino, chip: Chip, queues: PoolQueues) -> Applied:
    """What will be applied, where the chip has no other rate than is computed."""
    return _said(settings, chip, queues, round(queues.shaper.rate_bps / 1000))


def _said(settings: SwitchTofino, chip: Chip, queues: PoolQueues, kbits: int) -> Applied:
    said = applied(settings, chip, queues.shaper, queues.cells)
    by_cells = [
        queue.model_copy(update={"limit_bytes": _bytes(chip, part)})
        for queue, part in zip(queues.asked.queues, queues.queues, strict=True)
    ]
    parts = ", ".join(
        f"{queue.name} {_part_text(part)} priority {part.priority} weight {part.weight}"
        for queue, part in zip(queues.asked.queues, queues.queues, strict=True)
    )
    update: JsonObject = {
        "queues": queues.asked.model_copy(update={"queues": tuple(by_cells)}),
        "detail": f"{said.detail}, of the port and in {POOL}: {parts}",
    }
    if abs(kbits - queues.shaper.rate_bps / 1000) > 1:
        update["rate_bps"] = kbits * 1000
        update["detail"] += f"; read back {kbits} kbit/s"
    return said.model_copy(update=update)


def _bytes(chip: Chip, part: PoolQueue) -> int:
    """A static limit in bytes of full-sized packets; 0: the threshold is dynamic."""
    if part.baf != STATIC:
        return 0
    return part.max_cells // full_packet_cells(chip) * PACKET_BYTES


def _part_text(part: PoolQueue) -> str:
    return f"up to {part.max_cells} cells" if part.baf == STATIC else f"dynamic {part.baf}"
