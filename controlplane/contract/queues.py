"""Several queues behind one line, as a scenario writes them and as a data plane is told them.

Packets are sorted into the queues by their flow (its group or its strategy) or by their DSCP. A
scheduler chooses whose packet is sent next. The queues share one memory, the bottleneck's `buffer`,
and a policy says how much of it each may have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from .disciplines import (
    DROPTAIL,
    Choice,
    DisciplineAsked,
    DisciplineSpec,
    Parameters,
    Written,
)
from .dscp import Dscp, dscp_text
from .model import ELSEWHERE, UNTOLD, ContractModel, InC, JsonObject, Name, Needs
from .shared import CONSTANTS
from .units import PACKET_BYTES, Buffer, Duration, Rate, Size

FEWEST, MOST = 2, CONSTANTS.queues_max
BY_DSCP: Final = CONSTANTS.queue_by_dscp
"""A flow entry's queue where the packet's DSCP chooses."""
Scheduler = Literal["drr", "strict_priority"]
"""Whose packet is sent next."""
Weight = Annotated[int, Field(strict=True, ge=1, le=255)]


class CompleteSharing(Parameters):
    """Whoever comes first has it, until all of it is taken."""

    TITLE: ClassVar[str] = "complete sharing"


class CompletePartitioning(Parameters):
    """Each queue has a part of its own, all of them alike."""

    TITLE: ClassVar[str] = "complete partitioning"


class Static(Parameters):
    """Each queue has a limit, in their order; together they may be more than there is."""

    TITLE: ClassVar[str] = "static limits"
    limits: tuple[Buffer, ...]

    @model_validator(mode="before")
    @classmethod
    def _of_list(cls, data: Any) -> Any:
        return {"limits": data} if isinstance(data, list | tuple) else data

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonObject:
        limits: JsonObject = handler.resolve_ref_schema(handler(schema))["properties"]["limits"]
        return limits | {"description": cls.about()}


class DynamicThreshold(Parameters):
    """Each queue may have `alpha` times what is free of the memory (Choudhury and Hahne 1998).

    Attributes:
        alpha: How much of the free memory one queue may have: 1 lets a single long queue take half
            of the whole.
    """

    TITLE: ClassVar[str] = "dynamic thresholds"
    alpha: Annotated[float, Field(ge=0.0625, le=64)] = 1.0


POLICIES: dict[str, type[Parameters]] = {
    "complete_sharing": CompleteSharing,
    "complete_partitioning": CompletePartitioning,
    "static": Static,
    "dynamic_threshold": DynamicThreshold,
}
"""Our policies by name, in the order of tables."""


class Memory(Choice):
    """How several queues share the memory."""

    KINDS: ClassVar[Mapping[str, type[Parameters]]] = POLICIES

    @property
    def limits(self) -> tuple[Any, ...]:
        """Static limits: of a scenario as written, resolved in bytes."""
        given = dict(self.parameters)
        limits: Any = given.get("limits", given.get("limits_bytes", ()))
        return tuple(limits)

    @property
    def alpha(self) -> float | None:
        """That of dynamic thresholds; None: another policy."""
        is_ours = self.name == "dynamic_threshold"
        return float(dict(self.parameters)["alpha"]) if is_ours else None  # type: ignore[arg-type]

    @property
    def written(self) -> Any:
        """As a scenario has it."""
        return {self.name: [str(each) for each in self.limits]} if self.limits else super().written

    def resolved(self, rate: Rate, base_rtt: Duration) -> Memory:
        """A copy with limits in bytes.

        Args:
            rate: The bottleneck's, for limits in BDP.
            base_rtt: That a BDP is taken with.
        """
        if self.name != "static":
            return self
        limits = tuple(limit.to_bytes(rate, base_rtt) for limit in self.limits)
        return self.model_copy(update={"parameters": (("limits_bytes", limits),)})

    def _said(self) -> list[str]:
        """Alpha also where it is the default, and limits without their name."""
        if self.alpha is not None:
            return [f"alpha {self.alpha:g}"]
        given = [Size(each) if isinstance(each, int) else each for each in self.limits]
        return [str(each) for each in given] or super()._said()


COMPLETE_SHARING = Memory(name="complete_sharing")
MemorySpec = Annotated[
    Memory,
    Written(Memory, "policy", "{dynamic_threshold: {alpha: 1}}", "{static: [1MB, 200kB]}"),
]
"""A policy as it is written: `complete_sharing`, `{dynamic_threshold: {alpha: 2}}`."""


class QueueSpec(ContractModel):
    """One of the queues as written. Without `flows` and `dscp` it takes what no other one takes.

    Attributes:
        name: The queue's name, unique among the queues.
        flows: The flows whose packets it takes: names of flow groups and of strategies.
        dscp: The code points whose packets it takes, by name (ef, af41, cs5, le) or number. Flows
            that a queue names go there, whatever their DSCP.
        weight: With `drr`, how much it may send in its turn: so many times 1514 bytes. Left out: 1.
        discipline: What the queue does before its limit; as `bottleneck.discipline`.
        limit: A hard limit of its own; left out: what the memory's policy leaves it.
    """

    name: Name
    flows: Annotated[tuple[Name, ...], Field(min_length=1)] | None = None
    dscp: Annotated[tuple[Dscp, ...], Field(min_length=1)] | None = None
    weight: Weight | None = None
    discipline: DisciplineSpec = DROPTAIL
    limit: Buffer | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.flows is not None and self.dscp is not None:
            raise ValueError(
                f"queue {self.name!r} has flows and dscp; write one of them, or two queues"
            )
        return self

    @property
    def takes(self) -> tuple[str, ...]:
        """What it takes, in words; empty: what no other one takes."""
        if self.flows is not None:
            return self.flows
        return tuple(f"DSCP {dscp_text(point)}" for point in dict.fromkeys(self.dscp or ()))

    def resolved(self, rate: Rate, base_rtt: Duration) -> Queue:
        """A copy with its limit in bytes; see Memory.resolved."""
        return Queue(
            name=self.name,
            takes=self.takes,
            limit_bytes=self.limit.to_bytes(rate, base_rtt) if self.limit else 0,
            weight=self.weight or 1,
            discipline=None if self.discipline.is_droptail else self.discipline,
        )


@dataclass(frozen=True)
class FlowKind:
    """What the flows of a group and a strategy are sorted by.

    Attributes:
        group: Name of their group.
        dscp: What their sockets set; None: nothing, which is 0.
    """

    strategy: str
    group: str
    dscp: int | None = None


class Queue(ContractModel):
    """One of the queues, as asked for or as applied.

    Attributes:
        name: Its name; empty: as a data plane has it, which knows none.
        takes: What it takes, in words: flow groups and strategies, or code points; empty: what no
            other one takes.
        limit_bytes: Its own hard limit; 0: none but the memory's.
        weight: What it may send in its turn, in packets of 1514 bytes.
        discipline: Its discipline; None: drop-tail.
    """

    name: Annotated[str, UNTOLD] = ""
    takes: Annotated[tuple[str, ...], UNTOLD] = ()
    limit_bytes: Annotated[int, Field(ge=0, le=CONSTANTS.limit_max)] = 0
    weight: Annotated[int, InC(least=1, most=255)] = 1
    discipline: DisciplineAsked = None

    @property
    def text(self) -> str:
        """In words, e.g. `bulk: main, bbr; CoDel; limit 60kB`."""
        takes = ", ".join(self.takes) or "all others"
        limit = f"; limit {Size(self.limit_bytes)}" if self.limit_bytes else ""
        return f"{self.name}: {takes}; {(self.discipline or DROPTAIL).text}{limit}"


class Queues(ContractModel):
    """Several queues, as asked for or as applied.

    Attributes:
        queues: The queues; with `strict_priority` the first is served first.
        scheduler: Whose packet is sent next.
        memory: How the memory is shared, which is the bottleneck's limit.
        dscp: Queue of each code point that is listed, where flow entries leave it to the DSCP.
        dscp_default: Queue of the others; no flow has one if no queue takes the rest.
    """

    queues: Annotated[
        tuple[Queue, ...],
        Field(min_length=FEWEST, max_length=MOST),
        Needs(
            "{value} queues, but target {of.target} has {can} ({key}){of.why_one_queue}; write "
            "fewer, or " + ELSEWHERE,
        ),
    ]
    scheduler: Annotated[
        Scheduler,
        Needs("target {of.target} serves queues by {can}, not by {value} ({key}); " + ELSEWHERE),
    ] = "drr"
    memory: Annotated[
        Memory,
        InC(structure="memory_setup"),
        Needs(
            "queues of target {of.target} share memory by {can}, not by {value} "
            "(bottleneck.shared_buffer); " + ELSEWHERE,
        ),
    ] = COMPLETE_SHARING
    dscp: Annotated[
        tuple[tuple[int, int], ...],
        UNTOLD,
        Needs(
            "target {of.target} sorts packets by flow, not by DSCP (bottleneck.queues); write "
            "`flows`, or " + ELSEWHERE,
        ),
    ] = ()
    dscp_default: Annotated[int, UNTOLD] = 0

    @property
    def text(self) -> str:
        """In words, e.g. `drr (bulk 1, rest 2), complete sharing`."""
        weighed = self.scheduler == "drr"
        named = (f"{q.name} {q.weight}" if weighed else q.name for q in self.queues)
        return f"{self.scheduler} ({', '.join(named)}), {self.memory.text}"

    @property
    def label(self) -> str:
        """Scheduler and policy of the memory, as a part of file names."""
        return f"{self.scheduler}-{self.memory.label}"

    def claimants(self, kind: FlowKind) -> list[int]:
        """Indices of the queues that name a flow's group or strategy."""
        named = {kind.strategy, kind.group}
        return [i for i, queue in enumerate(self.queues) if named.intersection(queue.takes)]

    def entry_of(self, kind: FlowKind) -> int:
        """The queue of a flow's table entry; BY_DSCP: its packets say it themselves."""
        claimed = self.claimants(kind)
        if claimed:
            return claimed[0]
        return BY_DSCP if self.dscp else self.dscp_default

    def queue_of(self, kind: FlowKind) -> int | None:
        """Index of the queue that a flow's packets go to; None: no queue takes them."""
        claimed = self.claimants(kind)
        if claimed:
            return claimed[0]
        rest = None if self.queues[self.dscp_default].takes else self.dscp_default
        return dict(self.dscp).get(kind.dscp or 0, rest)

    def told(self, seed: int) -> JsonObject:
        """What a data plane of ours is told.

        Args:
            seed: Of all that the queues' disciplines draw.
        """
        told = self.as_message() | {"seed": seed}
        if self.scheduler != "drr":
            for queue in told["queues"]:
                del queue["weight"]
        dscp = [list(each) for each in self.dscp]
        return {"queues": told, "dscp": dscp, "dscp_default": self.dscp_default}


def check_queues(scheduler: Scheduler, memory: Memory, queues: Sequence[QueueSpec]) -> None:
    """Refuse queues that are none.

    Args:
        memory: How the memory is shared.

    Raises:
        ValueError: One line, with the place in the bottleneck.
    """
    _check_number(queues)
    for index, queue in enumerate(queues):
        if queue.weight is not None and scheduler != "drr":
            raise ValueError(
                f"queues.{index}.weight: strict_priority serves the first queue first, whatever "
                "its weight; remove it, or write `scheduler: drr`"
            )
    _check_points(queues)
    if memory.name == "static" and len(memory.limits) != len(queues):
        raise ValueError(
            f"shared_buffer.static: {len(memory.limits)} limits for {len(queues)} queues; write "
            "one for each"
        )


def _check_number(queues: Sequence[QueueSpec]) -> None:
    if not FEWEST <= len(queues) <= MOST:
        raise ValueError(
            f"queues: there are {len(queues)}; write {FEWEST} to {MOST}, or leave the key out"
        )
    names = [queue.name for queue in queues]
    if len(set(names)) != len(names):
        raise ValueError("queues: two have the same name; name each queue differently")
    rest = [queue.name for queue in queues if not queue.takes]
    if len(rest) > 1:
        raise ValueError(
            f"queues: {' and '.join(rest)} have neither flows nor dscp; only one queue can take "
            "the rest"
        )


def _check_points(queues: Sequence[QueueSpec]) -> None:
    """Each code point and each name is one queue's."""
    for key in ("dscp", "flows"):
        owners: dict[int | str, str] = {}
        for index, queue in enumerate(queues):
            for what in dict.fromkeys(getattr(queue, key) or ()):
                if what in owners:
                    shown = dscp_text(what) if isinstance(what, int) else what
                    raise ValueError(
                        f"queues.{index}.{key}: {shown} is in queue {owners[what]!r} already; name "
                        "it in one queue"
                    )
                owners[what] = queue.name


def check_limits(
    queues: Sequence[QueueSpec], memory: Memory, rate: Rate, base_rtt: Duration
) -> None:
    """Every limit has room for a packet.

    Args:
        memory: How they share the memory.
        rate: The bottleneck's.
        base_rtt: That a BDP is taken with.

    Raises:
        ValueError: One has not.
    """
    limits = [(f"bottleneck.queues.{i}.limit", q.limit) for i, q in enumerate(queues)]
    limits += [
        (f"bottleneck.shared_buffer.static.{i}", each) for i, each in enumerate(memory.limits)
    ]
    for key, limit in limits:
        size = PACKET_BYTES if limit is None else limit.to_bytes(rate, base_rtt)
        if size < PACKET_BYTES:
            raise ValueError(
                f"{key}: {limit} at {rate} and {base_rtt} is {size} B, less than one packet; write "
                f"at least {PACKET_BYTES}B"
            )
        if size > CONSTANTS.limit_max:
            raise ValueError(
                f"{key}: {limit} at {rate} and {base_rtt} is too large; write at most "
                f"{CONSTANTS.limit_max}B"
            )
