"""Queue disciplines as a scenario writes them, and as a data plane is told them.

Parameters have the names that the RFCs and `tc` give them, and their defaults. The queue's hard
limit, which `tc` calls `limit`, is the bottleneck's `buffer`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Protocol, Self

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic_core import CoreSchema

from .c_files import SUFFIX, name_problem
from .model import ELSEWHERE, ContractModel, JsonObject, Needs
from .units import Duration, Share, Size

_UNFIT = re.compile(r"[^A-Za-z0-9._-]")
Value = bool | int | float | str
"""A parameter's value, as a data plane is told it; of a user's own also as it was written."""
SHORTEST, LONGEST = Duration(1000), Duration(10_000_000_000)
SMALLEST, LARGEST = Size(1), Size(2**31 - 1)


class Parameters(ContractModel):
    """The parameters of a discipline."""

    TITLE: ClassVar[str]

    def told(self) -> tuple[tuple[str, Value], ...]:
        """Those that are given, as a data plane has them."""
        return tuple(machine_parameter(key, value) for key, value in self if value is not None)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for key, value in self:
            if isinstance(value, Duration) and not SHORTEST <= value <= LONGEST:
                raise ValueError(f"{key}: {value} is out of range; write {SHORTEST} to {LONGEST}")
            if isinstance(value, Size) and not SMALLEST <= value <= LARGEST:
                raise ValueError(f"{key}: {value} is out of range; write 1B to 2GB")
            if isinstance(value, Share) and not 0 < value.ppb <= 10**9:
                raise ValueError(f"{key}: {value} is out of range; write more than 0% to 100%")
        return self


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
        probability: The largest probability between `min` and `max`.
        avpkt: The usual packet, with which time is counted while the queue is empty.
        burst: How many such packets the average lets pass; left out: (2 min + max) / (3 avpkt).
        ecn: Packets that understand ECN are marked instead of dropped.
        harddrop: Above `max` they are dropped all the same.
        gentle: From `max` to twice `max` the probability rises to 1, instead of at once (Floyd
            2000).
    """

    TITLE: ClassVar[str] = "RED"
    min: Size | None = None
    max: Size | None = None
    probability: Share = Share(20_000_000)
    avpkt: Size = Size(1000)
    burst: Annotated[int, Field(strict=True, ge=1, le=10**6)] | None = None
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
        _check_target(self.target, self.interval)
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


class FqCodel(Parameters):
    """A queue with CoDel for each flow, served in turns, new flows first (RFC 8290).

    Attributes:
        flows: Queues into which flows are hashed.
        quantum: Bytes that a queue may send in its turn.
        target: As CoDel's.
        interval: As CoDel's.
        ce_threshold: As CoDel's.
        ecn: As CoDel's.
        drop_batch: The most packets that are dropped at once, of the longest queue, when the
            buffer is full.
    """

    TITLE: ClassVar[str] = "FQ-CoDel"
    flows: Annotated[int, Field(strict=True, ge=1, le=65_536)] = 1024
    quantum: Size = Size(1514)
    target: Duration = Duration(5_000_000)
    interval: Duration = Duration(100_000_000)
    ce_threshold: Duration | None = None
    ecn: bool = True
    drop_batch: Annotated[int, Field(strict=True, ge=1, le=65_536)] = 64

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        _check_target(self.target, self.interval)
        return self


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


def _check_target(target: Duration, interval: Duration) -> None:
    if target >= interval:
        raise ValueError(f"target: {target} is not below interval ({interval}); make it smaller")


class DisciplineProgram(ContractModel):
    """A discipline as a data plane is told it: one flat JSON object.

    Attributes:
        name: Its name.
        file: Of a user's own: its C file, as the scenario has it, or what was compiled of it.
        parameters: Parameters with their units, e.g. `target_ns`, in the order of their model.
    """

    name: str
    file: str = ""
    parameters: tuple[tuple[str, Value], ...] = ()

    def named(self, name: str) -> Self:
        """The same by the name of its file, whatever its code calls itself."""
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


DisciplineAsked = Annotated[
    DisciplineProgram | None,
    Needs(
        "disciplines",
        "the queue of target {of.target} is {can}, not {value} ({key}); " + ELSEWHERE,
    ),
]
"""A queue's discipline as asked for or as applied; None: drop-tail, which every target has."""


class _Choice(Protocol):
    """One of several keys with parameters, or a file of one's own with `params`."""

    @property
    def file(self) -> str | None:
        """Its C file."""

    @property
    def params(self) -> dict[str, Value]:
        """Values of its parameters."""


def with_defaults(data: Any, names: Collection[str]) -> Any:
    """A choice as written: of names, a key with nothing behind it has its defaults."""
    if isinstance(data, dict):
        return {k: {} if v is None and k in names else v for k, v in data.items()}
    return data


def check_choice(choice: _Choice, names: Iterable[str], write: str) -> None:
    """Check that exactly one of some keys, or `file`, is given, and `params` with a file alone.

    Args:
        choice: What was read.
        names: The keys of ours.
        write: What to write instead, in words.

    Raises:
        ValueError: It is not so.
    """
    named = [name for name in (*names, "file") if getattr(choice, name) is not None]
    if len(named) != 1:
        what = f"has {' and '.join(named)}" if named else "names none"
        raise ValueError(f"{what}; write {write}")
    if choice.file is None and choice.params:
        raise ValueError(f"params: are those of a file; write them under `{named[0]}` itself")


class Discipline(ContractModel):
    """A queue discipline with its parameters: one of these keys.

    Attributes:
        droptail: Refuses what does not fit into the buffer.
        step: Marks what arrives at a queue above a threshold (DCTCP's).
        red: Random early detection.
        codel: Controlled delay.
        pie: Proportional integral controller enhanced.
        fq_codel: A queue with CoDel for each flow.
        dualpi2: Two coupled queues, one of them for scalable congestion controls.
        file: One of your own: its C file, relative to this one (`nashbed aqm new` writes one).
        params: Values of its parameters, by the names that it gives them.
    """

    droptail: DropTail | None = None
    step: Step | None = None
    red: Red | None = None
    codel: Codel | None = None
    pie: Pie | None = None
    fq_codel: FqCodel | None = None
    dualpi2: DualPi2 | None = None
    file: Annotated[str, Field(max_length=4096)] | None = None
    params: dict[str, Value] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _without_parameters(cls, data: Any) -> Any:
        """`codel:` with nothing behind it has its defaults."""
        return with_defaults(data, DISCIPLINES)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_choice(self, DISCIPLINES, "one discipline, such as codel, or {file: ./mine.c}")
        if self.file is not None:
            own_name(self.file)
        return self

    @model_serializer(mode="wrap")
    def _one_key(self, handler: SerializerFunctionWrapHandler) -> Any:
        if self.name == "droptail":
            return self.name
        written = handler(self).items()
        return {k: v for k, v in written if v is not None and (v or k in DISCIPLINES)}

    @property
    def name(self) -> str:
        """Its name; of one's own: the stem of the file."""
        if self.file is not None:
            return own_name(self.file)
        return next(name for name in DISCIPLINES if getattr(self, name) is not None)

    @property
    def is_droptail(self) -> bool:
        """Whether it is what a data plane does unless it is told otherwise."""
        return self.droptail is not None

    @property
    def label(self) -> str:
        """Name and what differs from the defaults, as a part of file names."""
        parts = [_in_words(key, value).replace(" ", "") for key, value in self._changed()]
        return file_label("-".join([self.name, *parts]))

    @property
    def text(self) -> str:
        """The same in words, e.g. `CoDel (target 1ms, ecn)`."""
        title = self.name if self.file is not None else DISCIPLINES[self.name].TITLE
        changed = ", ".join(_in_words(key, value) for key, value in self._changed())
        return f"{title} ({changed})" if changed else title

    @property
    def program(self) -> DisciplineProgram | None:
        """What a data plane is told; None: nothing, which is drop-tail."""
        if self.is_droptail:
            return None
        if self.file is not None:
            return DisciplineProgram(
                name=self.name, file=self.file, parameters=tuple(self.params.items())
            )
        return DisciplineProgram(name=self.name, parameters=getattr(self, self.name).told())

    def _changed(self) -> list[tuple[str, Any]]:
        """Parameters that are not as they are by default."""
        if self.file is not None:
            return list(self.params.items())
        parameters = getattr(self, self.name)
        usual = type(parameters)()
        return [(k, v) for k, v in parameters if v != getattr(usual, k)]

    def __str__(self) -> str:
        return self.label


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
IN_ORDER = frozenset(DISCIPLINES) - {"fq_codel", "dualpi2"}
"""Those in whose queue no packet overtakes another; of a user's own that is not known."""
DROPTAIL = Discipline(droptail=DropTail())


def own_name(file: str) -> str:
    """The name of a user's own discipline.

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


def _by_name(value: Any) -> Any:
    """A discipline with its defaults is written as its name, one of one's own as its path."""
    if not isinstance(value, str):
        return value
    if value.endswith(SUFFIX):
        return {"file": value}
    if value in DISCIPLINES:
        return {value: {}}
    hint, names = did_you_mean(value, DISCIPLINES), ", ".join(DISCIPLINES)
    raise ValueError(f"{value!r} is unknown; {hint}write one of {names}, or {{file: ./mine.c}}")


def did_you_mean(value: str, names: Iterable[str]) -> str:
    """The nearest of some names, as a question; empty: none is near."""
    close = difflib.get_close_matches(value, list(names), n=1)
    return f"did you mean {close[0]!r}? " if close else ""


@dataclass(frozen=True)
class OrName:
    """In the schema a name may stand for a choice with its defaults, a path for one's own.

    Attributes:
        names: The names.
    """

    names: tuple[str, ...]

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonObject:
        names = {"type": "string", "enum": list(self.names)}
        return {"anyOf": [names, {"type": "string", "pattern": r".*\.c$"}, handler(schema)]}


DisciplineSpec = Annotated[Discipline, BeforeValidator(_by_name), OrName(tuple(DISCIPLINES))]
"""A discipline as it is written: `codel`, `{codel: {target: 1ms}}`, `{file: ./mine.c}`."""
