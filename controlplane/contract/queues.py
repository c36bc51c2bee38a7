"""Several queues behind one line, as a scenario writes them and as a data plane is told them.

Packets are sorted into the queues by their flow (its group or its strategy) or by their DSCP. A
scheduler chooses whose packet is sent next. The queues share one memory, the bottleneck's `buffer`,
and a policy says how much of it each may have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from .c_files import SUFFIX
from .disciplines import (
    DROPTAIL,
    DisciplineAsked,
    DisciplineProgram,
    DisciplineSpec,
    OrName,
    Value,
    check_choice,
    did_you_mean,
    file_label,
    own_name,
    with_defaults,
)
from .dscp import Dscp, dscp_text
from .model import ELSEWHERE, ContractModel, JsonObject, Name, Needs
from .shared import CONSTANTS
from .units import PACKET_BYTES, Buffer, Duration, Rate

FEWEST, MOST = 2, CONSTANTS.queues_max
BY_DSCP: Final = CONSTANTS.queue_by_dscp
"""A flow entry's queue where the packet's DSCP chooses."""
Scheduler = Literal["drr", "strict_priority"]
"""Whose packet is sent next."""
Weight = Annotated[int, Field(strict=True, ge=1, le=255)]


class DynamicThreshold(ContractModel):
    """Each queue may have `alpha` times what is free of the memory (Choudhury and Hahne 1998).

    Attributes:
        alpha: How much of the free memory one queue may have: 1 lets a single long queue take half
            of the whole.
    """

    alpha: Annotated[float, Field(ge=0.0625, le=64)] = 1.0


class NoParameters(ContractModel):
    """A policy without parameters."""


TITLES = {
    "complete_sharing": "complete sharing",
    "complete_partitioning": "complete partitioning",
    "static": "static limits",
    "dynamic_threshold": "dynamic thresholds",
}
"""Our policies by name, in the order of tables."""
POLICIES: dict[str, tuple[str, dict[str, str | None]]] = {
    "complete_sharing": ("Whoever comes first has it, until all of it is taken", {}),
    "complete_partitioning": ("Each queue has a part of its own, all of them alike", {}),
    "static": ("Each queue has a limit; together they may be more than there is", {"limits": None}),
    "dynamic_threshold": (
        "Each queue may have alpha times what is free (Choudhury and Hahne 1998)",
        {"alpha": f"{DynamicThreshold().alpha:g}"},
    ),
}
"""Policy -> what it does, and its parameters with their defaults (None: there is none)."""
_BARE = ("complete_sharing", "complete_partitioning", "dynamic_threshold")
"""Those that a name alone stands for."""


class Memory(ContractModel):
    """How the queues share the memory: one of these keys.

    Attributes:
        complete_sharing: Whoever comes first has it, until all of it is taken.
        complete_partitioning: Each queue has a part of its own, all of them alike.
        static: Each queue's limit, in the queues' order; together they may be more than there is.
        dynamic_threshold: Each queue may have `alpha` times what is free (Choudhury and Hahne
            1998).
        file: A policy of your own: its C file, relative to this one; it includes `memory.h`.
        params: Values of its parameters, by the names that it gives them.
    """

    complete_sharing: NoParameters | None = None
    complete_partitioning: NoParameters | None = None
    static: tuple[Buffer, ...] | None = None
    dynamic_threshold: DynamicThreshold | None = None
    file: Annotated[str, Field(max_length=4096)] | None = None
    params: dict[str, Value] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _without_parameters(cls, data: Any) -> Any:
        """`dynamic_threshold:` with nothing behind it has its defaults."""
        return with_defaults(data, _BARE)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_choice(self, TITLES, "one policy, such as {dynamic_threshold: {alpha: 1}}")
        if self.file is not None and own_name(self.file) in TITLES:
            raise ValueError(f"file: {self.file}: nashbed has such a policy; rename the file")
        return self

    @model_serializer(mode="wrap")
    def _one_key(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.name in ("complete_sharing", "complete_partitioning"):
            return self.name
        return {k: v for k, v in handler(self).items() if v is not None and v != {}}

    @property
    def name(self) -> str:
        """Its name; of one's own: the stem of the file."""
        if self.file is not None:
            return own_name(self.file)
        return next(name for name in TITLES if getattr(self, name) is not None)

    @property
    def label(self) -> str:
        """Name and parameters, as a part of file names."""
        return file_label("-".join([self.name, *(part.replace(" ", "") for part in self._said())]))

    @property
    def text(self) -> str:
        """The same in words, e.g. `dynamic thresholds (alpha 1)`."""
        title, said = TITLES.get(self.name, self.name), ", ".join(self._said())
        return f"{title} ({said})" if said else title

    def _said(self) -> list[str]:
        if self.dynamic_threshold is not None:
            return [f"alpha {self.dynamic_threshold.alpha:g}"]
        if self.static is not None:
            return [str(limit) for limit in self.static]
        return [f"{name} {value}" for name, value in self.params.items()]

    def program(self, rate: Rate, base_rtt: Duration) -> MemoryProgram:
        """What a data plane is told.

        Args:
            rate: The bottleneck's, for limits in BDP.
            base_rtt: That a BDP is taken with.
        """
        if self.file is not None:
            return MemoryProgram(
                name=self.name, file=self.file, parameters=tuple(self.params.items())
            )
        if self.dynamic_threshold is not None:
            parameters = (("alpha", self.dynamic_threshold.alpha),)
            return MemoryProgram(name=self.name, parameters=parameters)
        limits = tuple(limit.to_bytes(rate, base_rtt) for limit in self.static or ())
        return MemoryProgram(name=self.name, limits_bytes=limits)

    def __str__(self) -> str:
        return self.label


COMPLETE_SHARING = Memory(complete_sharing=NoParameters())


def _policy_by_name(value: Any) -> Any:
    """A policy with its defaults is written as its name, one of one's own as its path."""
    if not isinstance(value, str):
        return value
    if value.endswith(SUFFIX):
        return {"file": value}
    if value in _BARE:
        return {value: {}}
    if value == "static":
        raise ValueError("static: needs a limit for each queue; write {static: [1MB, 200kB]}")
    hint, names = did_you_mean(value, TITLES), ", ".join(_BARE)
    raise ValueError(
        f"{value!r} is unknown; {hint}write one of {names}, {{static: [1MB, 200kB]}}, or "
        "{file: ./mine.c}"
    )


MemorySpec = Annotated[Memory, BeforeValidator(_policy_by_name), OrName(_BARE)]
"""A policy as it is written: `complete_sharing`, `{dynamic_threshold: {alpha: 2}}`."""


class Queue(ContractModel):
    """One of the queues. Without `flows` and `dscp` it takes what no other one takes.

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
    def takes_the_rest(self) -> bool:
        """Whether it takes what no other one takes."""
        return self.flows is None and self.dscp is None

    @property
    def text(self) -> str:
        """In words, e.g. `bulk: main, bbr; CoDel; limit 1bdp`."""
        takes = ", ".join(self.takes) or "all others"
        limit = "" if self.limit is None else f"; limit {self.limit}"
        return f"{self.name}: {takes}; {self.discipline.text}{limit}"

    @property
    def takes(self) -> tuple[str, ...]:
        """What it takes, in words."""
        if self.flows is not None:
            return self.flows
        return tuple(f"DSCP {dscp_text(point)}" for point in dict.fromkeys(self.dscp or ()))


@dataclass(frozen=True)
class FlowKind:
    """What the flows of a group and a strategy are sorted by.

    Attributes:
        strategy: Their strategy.
        group: Name of their group.
        dscp: What their sockets set; None: nothing, which is 0.
    """

    strategy: str
    group: str
    dscp: int | None = None


class Queues(ContractModel):
    """The queues of a setting, whose memory is the setting's buffer.

    Attributes:
        scheduler: Whose packet is sent next.
        memory: How the memory is shared.
        queues: The queues; with `strict_priority` the first is served first.
    """

    scheduler: Scheduler = "drr"
    memory: MemorySpec = COMPLETE_SHARING
    queues: tuple[Queue, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_queues(self.scheduler, self.memory, self.queues)
        return self

    @property
    def rest(self) -> int | None:
        """Index of the queue that takes what no other one takes; None: there is none."""
        found = (index for index, queue in enumerate(self.queues) if queue.takes_the_rest)
        return next(found, None)

    @property
    def default(self) -> int:
        """Index of the queue of a DSCP that is not listed; no flow has one if there is no rest."""
        return len(self.queues) - 1 if self.rest is None else self.rest

    @property
    def by_point(self) -> dict[int, int]:
        """Code point -> index of its queue."""
        return {
            point: index for index, queue in enumerate(self.queues) for point in queue.dscp or ()
        }

    @property
    def text(self) -> str:
        """In words, e.g. `drr (bulk 1, rest 2), complete sharing`."""
        weighed = self.scheduler == "drr"
        named = (f"{q.name} {q.weight or 1}" if weighed else q.name for q in self.queues)
        return f"{self.scheduler} ({', '.join(named)}), {self.memory.text}"

    @property
    def label(self) -> str:
        """Scheduler and policy of the memory, as a part of file names."""
        return f"{self.scheduler}-{self.memory.label}"

    def claimants(self, kind: FlowKind) -> list[int]:
        """Indices of the queues that name a flow's group or strategy."""
        named = {kind.strategy, kind.group}
        return [i for i, queue in enumerate(self.queues) if named.intersection(queue.flows or ())]

    def entry_of(self, kind: FlowKind) -> int:
        """The queue of a flow's table entry; BY_DSCP: its packets say it themselves."""
        claimed = self.claimants(kind)
        if claimed:
            return claimed[0]
        return BY_DSCP if self.by_point else self.default

    def queue_of(self, kind: FlowKind) -> int | None:
        """Index of the queue that a flow's packets go to; None: no queue takes them."""
        claimed = self.claimants(kind)
        return claimed[0] if claimed else self.by_point.get(kind.dscp or 0, self.rest)

    def with_memory(self, memory: Memory) -> Queues:
        """The same queues with another policy of the memory."""
        return self.model_copy(update={"memory": memory})

    def program(self, rate: Rate, base_rtt: Duration) -> QueuesProgram:
        """What a data plane is told.

        Args:
            rate: The bottleneck's, for limits in BDP.
            base_rtt: That a BDP is taken with.
        """
        return QueuesProgram(
            scheduler=self.scheduler,
            memory=self.memory.program(rate, base_rtt),
            queues=tuple(
                QueueProgram(
                    name=queue.name,
                    takes=queue.takes,
                    limit_bytes=queue.limit.to_bytes(rate, base_rtt) if queue.limit else 0,
                    weight=queue.weight or 1,
                    discipline=queue.discipline.program,
                )
                for queue in self.queues
            ),
            dscp=tuple(self.by_point.items()),
            dscp_default=self.default,
        )


class MemoryProgram(DisciplineProgram):
    """A policy of the memory as a data plane is told it: one flat JSON object.

    Attributes:
        name: Its name.
        file: Of a user's own: its C file, as the scenario has it, or what was compiled of it.
        limits_bytes: Of static limits: each queue's.
        parameters: Parameters with their units.
    """

    limits_bytes: tuple[int, ...] = ()

    @model_serializer
    def _flat(self) -> JsonObject:
        file = {"file": self.file} if self.file else {}
        limits = {"limits_bytes": list(self.limits_bytes)} if self.limits_bytes else {}
        return {"name": self.name, **file, **limits, **dict(self.parameters)}


class QueueProgram(ContractModel):
    """One of the queues, as asked for or as applied.

    Attributes:
        name: Its name; empty: as a data plane has it, which knows none.
        takes: What it takes, in words: flow groups and strategies, or code points; empty: what no
            other one takes.
        limit_bytes: Its own hard limit; 0: none but the memory's.
        weight: What it may send in its turn, in packets of 1514 bytes.
        discipline: Its discipline; None: drop-tail.
    """

    name: str = ""
    takes: tuple[str, ...] = ()
    limit_bytes: int = 0
    weight: int = 1
    discipline: DisciplineAsked = None


class QueuesProgram(ContractModel):
    """Several queues, as asked for or as applied.

    Attributes:
        scheduler: Whose packet is sent next.
        memory: How the memory is shared, which is the bottleneck's limit.
        queues: The queues.
        dscp: Queue of each code point that is listed, where flow entries leave it to the DSCP.
        dscp_default: Queue of the others.
    """

    scheduler: Annotated[
        Scheduler,
        Needs(
            "schedulers",
            "target {of.target} serves queues by {can}, not by {value} ({key}); " + ELSEWHERE,
        ),
    ]
    memory: Annotated[
        MemoryProgram,
        Needs(
            "memory_policies",
            "queues of target {of.target} share memory by {can}, not by {value} ({key}); "
            + ELSEWHERE,
        ),
    ]
    queues: Annotated[
        tuple[QueueProgram, ...],
        Needs(
            "queues",
            "{value} queues, but target {of.target} has {can} ({key}); write fewer, or "
            + ELSEWHERE,
        ),
    ]
    dscp: Annotated[
        tuple[tuple[int, int], ...],
        Needs(
            "sorts_by_dscp",
            "target {of.target} sorts packets by flow, not by DSCP (bottleneck.queues); write "
            "`flows`, or " + ELSEWHERE,
        ),
    ] = ()
    dscp_default: int = 0

    def told(self, seed: int) -> JsonObject:
        """What a data plane of ours is told of the queues.

        Args:
            seed: Of all that the queues' disciplines draw.
        """
        left_out = {"name", "takes"} | ({"weight"} if self.scheduler != "drr" else set())
        queues = [queue.model_dump(exclude=left_out, exclude_none=True) for queue in self.queues]
        return {
            "scheduler": self.scheduler,
            "memory": self.memory.model_dump(),
            "queues": queues,
            "seed": seed,
        }


def check_queues(scheduler: Scheduler, memory: Memory, queues: Sequence[Queue]) -> None:
    """Refuse queues that are none.

    Args:
        scheduler: Whose packet is sent next.
        memory: How the memory is shared.
        queues: The queues.

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
    check_shares(memory, queues, "memory")


def _check_number(queues: Sequence[Queue]) -> None:
    if not FEWEST <= len(queues) <= MOST:
        raise ValueError(
            f"queues: there are {len(queues)}; write {FEWEST} to {MOST}, or leave the key out"
        )
    names = [queue.name for queue in queues]
    if len(set(names)) != len(names):
        raise ValueError("queues: two have the same name; name each queue differently")
    rest = [queue.name for queue in queues if queue.takes_the_rest]
    if len(rest) > 1:
        raise ValueError(
            f"queues: {' and '.join(rest)} have neither flows nor dscp; only one queue can take "
            "the rest"
        )


def _check_points(queues: Sequence[Queue]) -> None:
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


def check_shares(memory: Memory, queues: Sequence[Queue], where: str) -> None:
    """Static limits are one for each queue.

    Args:
        memory: The policy.
        queues: The queues.
        where: Its key.

    Raises:
        ValueError: They are more or fewer.
    """
    if memory.static is not None and len(memory.static) != len(queues):
        raise ValueError(
            f"{where}.static: {len(memory.static)} limits for {len(queues)} queues; write one for "
            "each"
        )


def check_limits(queues: Queues, rate: Rate, base_rtt: Duration, where: str) -> None:
    """Every limit has room for a packet.

    Args:
        queues: The queues.
        rate: The bottleneck's.
        base_rtt: That a BDP is taken with.
        where: The key of the memory's policy.

    Raises:
        ValueError: One has not.
    """
    limits = [(f"bottleneck.queues.{i}.limit", q.limit) for i, q in enumerate(queues.queues)]
    limits += [(f"{where}.static.{i}", each) for i, each in enumerate(queues.memory.static or ())]
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
