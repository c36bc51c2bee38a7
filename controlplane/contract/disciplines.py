"""Queue disciplines: as a scenario writes them, and as they are asked for and applied.

Parameters have the names that the RFCs and `tc` give them, and their defaults. The queue's hard
limit, which `tc` calls `limit`, is the bottleneck's `buffer`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    create_model,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from .c_files import SUFFIX, name_problem
from .errors import did_you_mean
from .model import ELSEWHERE, ContractModel, InC, JsonObject, Needs, Number, limits
from .units import Buffer, Duration, Quantity, Share, Size

_UNFIT = re.compile(r"[^A-Za-z0-9._-]")
Value = bool | int | float | str
"""A parameter's value, as a data plane is told it; of a user's own also as it was written."""
Parameter = Value | tuple[int, ...] | tuple[Buffer, ...]
"""The same, or a number of bytes for each of several queues, before and after it is resolved."""
BOUNDS: dict[type, tuple[Number, Number]] = {
    Duration: (1000, 10_000_000_000),
    Size: (1, 2_000_000_000),
    Share: (1e-9, 1),
}
"""Kind of a parameter -> the least and the highest one, as a data plane has it."""


class Parameters(ContractModel):
    """The parameters of a discipline."""

    TITLE: ClassVar[str]

    @classmethod
    def about(cls) -> str:
        """What it does: the first line of its docstring."""
        return (cls.__doc__ or "").splitlines()[0]

    def told(self) -> tuple[tuple[str, Value], ...]:
        """Those that are given, as a data plane has them."""
        return tuple(machine_parameter(key, value) for key, value in self if value is not None)

    @classmethod
    def as_written(cls, key: str, value: Any) -> tuple[str, Any]:
        """One that a data plane has, as a scenario has it."""
        if key.endswith("_ns"):
            return key.removesuffix("_ns"), Duration(value)
        if key.endswith("_bytes"):
            return key.removesuffix("_bytes"), Size(value)
        is_share = cls.model_fields[key].annotation is Share
        return key, Share(round(value * 10**9)) if is_share else value

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, value in self:
            if isinstance(value, Duration | Size):
                kind: Any = type(value)
                bounds = bounds_of(kind, type(self).model_fields[key])
                least, most = (kind(int(bound)) for bound in bounds)
                if not least <= value <= most:
                    raise ValueError(f"{key}: {value} is out of range; write {least} to {most}")
            if isinstance(value, Share) and not 0 < value.ppb <= 10**9:
                raise ValueError(f"{key}: {value} is out of range; write more than 0% to 100%")
        return self


def bounds_of(kind: type, info: FieldInfo) -> tuple[Number, Number]:
    """The least and the highest value of a parameter, as a data plane has it."""
    return limits(info, *BOUNDS.get(kind, (0, 1)))


class DropTail(Parameters):
    """Refuses what does not fit into the buffer; it has no parameters."""

    TITLE: ClassVar[str] = "drop-tail"


class Step(Parameters):
    """Marks what arrives at a queue above a threshold, as DCTCP has it (RFC 8257, 3.1).

    Attributes:
        threshold: The queue, in bytes, above which a packet is marked, or dropped if it does not
            understand ECN (DCTCP's K).
    """

    TITLE: ClassVar[str] = "step"
    threshold: Size = Size(30_000)


class Red(Parameters):
    """Random early detection (Floyd and Jacobson 1993), by the average queue in bytes.

    Attributes:
        min: The average queue at which packets begin to be dropped or marked; left out: a third
            of `max`.
        max: That at which the probability is `probability`; left out: a quarter of the buffer.
        avpkt: The usual packet, with which time is counted while the queue is empty.
        burst: How many such packets the average lets pass; left out: (2 min + max) / (3 avpkt).
        probability: The largest probability between `min` and `max`.
        ecn: Packets that understand ECN are marked instead of dropped.
        harddrop: Above `max` they are dropped all the same.
        gentle: From `max` to twice `max` the probability rises to 1, instead of at once (Floyd
            2000).
    """

    TITLE: ClassVar[str] = "RED"
    min: Size | None = None
    max: Size | None = None
    avpkt: Size = Size(1000)
    burst: Annotated[int | None, Field(strict=True, ge=1, le=10**6)] = None
    probability: Share = Share(20_000_000)
    ecn: bool = False
    harddrop: bool = False
    gentle: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError(f"min: {self.min} is not below max ({self.max}); make it smaller")
        return self


class Codel(Parameters):
    """Controlled delay (RFC 8289).

    Attributes:
        target: The standing queueing delay that is acceptable.
        interval: How long the delay may be above it before packets are dropped: a usual RTT, or
            the largest.
        ce_threshold: Packets that waited longer and understand ECN are marked at once; left out:
            none is.
        ecn: Packets that understand ECN are marked instead of dropped.
    """

    TITLE: ClassVar[str] = "CoDel"
    target: Duration = Duration(5_000_000)
    interval: Duration = Duration(100_000_000)
    ce_threshold: Duration | None = None
    ecn: bool = False

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.target >= self.interval:
            raise ValueError(
                f"target: {self.target} is not below interval ({self.interval}); make it smaller"
            )
        return self


class Pie(Parameters):
    """Proportional integral controller enhanced (RFC 8033).

    Attributes:
        target: The queueing delay that it steers to.
        tupdate: How often the probability is computed.
        alpha: Weight of the delay's distance from the target, in sixteenths per second.
        beta: Weight of the delay's change, in sixteenths per second.
        ecn: Packets that understand ECN are marked instead of dropped, below a probability of 10 %.
        bytemode: Small packets are dropped more rarely, by their bytes.
    """

    TITLE: ClassVar[str] = "PIE"
    target: Duration = Duration(15_000_000)
    tupdate: Duration = Duration(15_000_000)
    alpha: Annotated[int, Field(strict=True, ge=0, le=32)] = 2
    beta: Annotated[int, Field(strict=True, ge=0, le=32)] = 20
    ecn: bool = False
    bytemode: bool = False


class FqCodel(Codel):
    """A queue with CoDel for each flow, served in turns, new flows first (RFC 8290).

    Attributes:
        flows: Queues into which flows are hashed.
        quantum: Bytes that a queue may send in its turn.
        drop_batch: The most packets that are dropped at once, of the longest queue, when the
            buffer is full.
    """

    TITLE: ClassVar[str] = "FQ-CoDel"
    ecn: bool = True
    flows: Annotated[int, Field(strict=True, ge=1, le=65_536)] = 1024
    quantum: Annotated[Size, InC(least=256, most=2**20)] = Size(1514)
    drop_batch: Annotated[int, Field(strict=True, ge=1, le=65_536)] = 64


class DualPi2(Parameters):
    """Two coupled queues, a short one for flows with scalable congestion control (RFC 9332).

    Attributes:
        target: The queueing delay that the classic queue is steered to.
        tupdate: How often the probability is computed.
        alpha: Weight of the delay's distance from the target, in Hz.
        beta: Weight of the delay's change, in Hz.
        step_thresh: Packets of the scalable queue that waited longer are marked.
        coupling_factor: How much more often scalable flows are marked than the square root of
            what classic ones lose.
        classic_protection: Share of the link that is left to the classic queue.
        drop_overload: Where marking every packet is not enough, packets of both queues are dropped.
    """

    TITLE: ClassVar[str] = "DualPI2"
    target: Duration = Duration(15_000_000)
    tupdate: Duration = Duration(16_000_000)
    alpha: Annotated[float, Field(ge=0, le=256)] = 0.16
    beta: Annotated[float, Field(ge=0, le=256)] = 3.2
    step_thresh: Duration = Duration(1_000_000)
    coupling_factor: Annotated[int, Field(strict=True, ge=1, le=255)] = 2
    classic_protection: Share = Share(100_000_000)
    drop_overload: bool = True


DISCIPLINES: dict[str, type[Parameters]] = {
    "droptail": DropTail,
    "step": Step,
    "red": Red,
    "codel": Codel,
    "pie": Pie,
    "fq_codel": FqCodel,
    "dualpi2": DualPi2,
}
"""Our disciplines by name, in the order of tables."""


class Choice(ContractModel):
    """A discipline or a policy with its parameters: asked for, told and applied, one flat object.

    Scenarios write it otherwise (`Written`).

    Attributes:
        name: Its name; of one's own: the stem of the file.
        file: Of one's own: its C file, as the scenario has it, or what was compiled of it.
        parameters: In machine units, e.g. `target_ns`, in the order of their model; of one's own,
            as they were written.
    """

    KINDS: ClassVar[Mapping[str, type[Parameters]]]
    """Ours by name, and the parameters of each."""

    name: str
    file: str = ""
    parameters: tuple[tuple[str, Parameter], ...] = ()

    def named(self, name: str) -> Self:
        """A copy with the name of its file, whatever its code calls itself."""
        return self.model_copy(update={"name": name})

    @model_validator(mode="before")
    @classmethod
    def _from_flat(cls, data: Any) -> Any:
        if isinstance(data, dict) and "parameters" not in data:
            own = set(cls.model_fields)
            rest = tuple((key, value) for key, value in data.items() if key not in own)
            known = {key: value for key, value in data.items() if key in own}
            return {**known, "parameters": rest}
        return data

    @model_serializer
    def _flat(self) -> JsonObject:
        file = {"file": self.file} if self.file else {}
        return {"name": self.name, **file, **dict(self.parameters)}

    def as_message(self) -> JsonObject:
        """What a data plane is told of it: its parameters stand beside its name."""
        return self._flat()

    @property
    def label(self) -> str:
        """Name and what differs from the defaults, as a part of file names."""
        return file_label("-".join([self.name, *(part.replace(" ", "") for part in self._said())]))

    @property
    def text(self) -> str:
        """The discipline in words, e.g. `CoDel (target 1ms, ecn)`."""
        kind, said = self.KINDS.get(self.name), ", ".join(self._said())
        title = self.name if kind is None else kind.TITLE
        return f"{title} ({said})" if said else title

    @property
    def written(self) -> Any:
        """As a scenario has it."""
        changed = {key: str(v) if isinstance(v, Quantity) else v for key, v in self._changed()}
        if self.file:
            return {"file": self.file, **({"params": changed} if changed else {})}
        return {self.name: changed} if changed else self.name

    def _changed(self) -> list[tuple[str, Any]]:
        """Parameters that are not as they are by default, as they are written."""
        if self.file:
            return list(self.parameters)
        kind = self.KINDS[self.name]
        usual = dict(kind().told())
        return [kind.as_written(k, v) for k, v in self.parameters if usual.get(k) != v]

    def _said(self) -> list[str]:
        return [_in_words(key, value) for key, value in self._changed()]

    def __str__(self) -> str:
        return self.label


class Discipline(Choice):
    """A queue's discipline."""

    KINDS: ClassVar[Mapping[str, type[Parameters]]] = DISCIPLINES

    @property
    def is_droptail(self) -> bool:
        """Whether it is what a data plane does unless it is told otherwise."""
        return self.name == "droptail"

    @property
    def is_in_order(self) -> bool:
        """Whether no packet overtakes another; of a user's own that is not known."""
        return self.name in DISCIPLINES and self.name not in ("fq_codel", "dualpi2")


DROPTAIL = Discipline(name="droptail")
DisciplineAsked = Annotated[
    Discipline | None,
    InC(structure="aqm_setup"),
    Needs("the queue of target {of.target} is {can}, not {value} ({key}); " + ELSEWHERE),
]
"""A queue's discipline as asked for or as applied; None: drop-tail, which every target has."""


def own_name(file: str) -> str:
    """The name of a user's own discipline or policy.

    Raises:
        ValueError: It is no C file, or its name cannot be a discipline's.
    """
    path = PurePath(file)
    if path.suffix != SUFFIX:
        raise ValueError(f"file: {file}: is no C file; write a path such as ./mine.c")
    if problem := name_problem(file, "discipline"):
        raise ValueError(f"file: {problem}")
    if path.stem in DISCIPLINES:
        raise ValueError(f"file: {file}: nashbed has a {path.stem} of its own; rename the file")
    return path.stem


def file_label(text: str) -> str:
    """A text as a part of file names."""
    return _UNFIT.sub("", text.replace("%", "pct"))


def machine_parameter(name: str, value: Any) -> tuple[str, Value]:
    """A parameter as a data plane has it: its name with a unit, and a number or a flag."""
    if isinstance(value, Duration):
        return f"{name}_ns", value.ns
    if isinstance(value, Size):
        return f"{name}_bytes", value.bytes
    return name, value.fraction if isinstance(value, Share) else value


def _in_words(key: str, value: Any) -> str:
    if isinstance(value, bool):
        return key if value else f"no {key}"
    return f"{key} {value}"


@dataclass(frozen=True, eq=False)
class Written:
    """How a scenario writes a choice: a name, the path of a C file, or one key with parameters.

    Attributes:
        choice: What is made of it.
        example: One with parameters.
        other: What else may be written, before a file.
    """

    choice: type[Choice]
    noun: str
    example: str
    other: str = ""

    @cached_property
    def bare(self) -> tuple[str, ...]:
        """Names that stand for a choice with its defaults."""
        needs = {
            name
            for name, kind in self.choice.KINDS.items()
            if any(field.is_required() for field in kind.model_fields.values())
        }
        return tuple(name for name in self.choice.KINDS if name not in needs)

    @cached_property
    def model(self) -> type[ContractModel]:
        """A key for each of ours, and for a file."""
        fields: dict[str, Any] = {
            name: (kind | None, Field(default=None, description=kind.about()))
            for name, kind in self.choice.KINDS.items()
        }
        own = f"A {self.noun} of your own: its C file, relative to this one"
        file = Field(default=None, description=f"{own} (`nashbed aqm new` writes one).")
        fields["file"] = Annotated[str, Field(max_length=4096)] | None, file
        params = "Values of its parameters, by the names that it gives them."
        fields["params"] = dict[str, Value], Field(default_factory=dict, description=params)
        whole = f"A {self.noun} with its parameters: one of these keys."
        name = self.choice.__name__
        return create_model(name, __base__=ContractModel, __doc__=whole, **fields)

    def read(self, value: Any, handler: Callable[[Any], Any]) -> Choice:
        """The choice of what was read.

        Raises:
            ValueError: It is none; in a line.
        """
        if isinstance(value, Choice):
            return value
        keys = handler(self._keys(value))
        given = [name for name in (*self.choice.KINDS, "file") if getattr(keys, name) is not None]
        if len(given) != 1:
            what = f"has {' and '.join(given)}" if given else "names none"
            raise ValueError(f"{what}; write one {self.noun}, such as {self.example}")
        (name,) = given
        if name == "file":
            own = own_name(keys.file)
            if own in self.choice.KINDS:
                raise ValueError(f"file: {keys.file}: nashbed has such a policy; rename the file")
            return self.choice(name=own, file=keys.file, parameters=tuple(keys.params.items()))
        if keys.params:
            raise ValueError(f"params: are those of a file; write them under `{name}` itself")
        return self.choice(name=name, parameters=getattr(keys, name).told())

    def _keys(self, value: Any) -> Any:
        """A name, or a key with nothing behind it, stands for its defaults; a path for a file."""
        if isinstance(value, dict):
            return {k: {} if v is None and k in self.bare else v for k, v in value.items()}
        if not isinstance(value, str):
            return value
        if value.endswith(SUFFIX):
            return {"file": value}
        if value in self.bare:
            return {value: {}}
        if value in self.choice.KINDS:
            raise ValueError(f"{value}: needs a limit for each queue; write {self.other}")
        hint, names = did_you_mean(value, self.choice.KINDS), ", ".join(self.bare)
        more = f", {self.other}," if self.other else ","
        raise ValueError(
            f"{value!r} is unknown; {hint}write one of {names}{more} or {{file: ./mine.c}}"
        )

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_wrap_validator_function(
            self.read,
            handler.generate_schema(self.model),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda choice: choice.written
            ),
        )

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonObject:
        names = {"type": "string", "enum": list(self.bare)}
        return {"anyOf": [names, {"type": "string", "pattern": r".*\.c$"}, handler(schema)]}


DisciplineSpec = Annotated[
    Discipline, Written(Discipline, "discipline", "codel, or {file: ./mine.c}")
]
"""A discipline as it is written: `codel`, `{codel: {target: 1ms}}`, `{file: ./mine.c}`."""
