"""The bases of every contract model: what is read and kept, and what a user is answered in JSON."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Generic,
    Literal,
    Self,
    TypeVar,
    get_args,
)

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializationInfo,
    ValidationInfo,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo

from .units import Quantity, base_units

JsonObject = dict[str, Any]
"""A JSON object without a model: another program's, a file's, a schema's, a page template's."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
"""A name in a scenario or a testbed."""

Count = Annotated[int, Field(strict=True, ge=0)]
"""A whole number of 0 or more."""

WRITTEN: Final = {"written": True}
"""The context in which what a person writes is read, and is written as a person does."""

ELSEWHERE = "use a testbed of target dpdk or virtual"

Number = int | float
"""A number that JSON keeps as it came: a whole one without a decimal point."""


T = TypeVar("T")


class Several(Generic[T]):
    """`Several[X]` is `tuple[X, ...]`; for type checkers a model takes any sequence for it."""

    if TYPE_CHECKING:

        def __get__(self, model: object, kind: type | None = None) -> tuple[T, ...]: ...
        def __set__(self, model: object, value: Iterable[T]) -> None: ...

    else:

        def __class_getitem__(cls, item):
            return tuple[item, ...]


class AsText(Generic[T]):
    """`AsText[X]` is `X`; for type checkers a model takes its text for it."""

    if TYPE_CHECKING:

        def __get__(self, model: object, kind: type | None = None) -> T: ...
        def __set__(self, model: object, value: T | str) -> None: ...

    else:

        def __class_getitem__(cls, item):
            return item


@dataclass(frozen=True)
class Needs:
    """Stands in the annotation of a field that not every target has.

    Attributes:
        refusal: What a person reads where a target's capabilities do not name what is asked for
            (`Capabilities.lane`); {key} is the scenario's key, {value} what is asked for, {can}
            what is possible, {of} the capabilities.
        capability: Which of the capabilities says so; empty: that of a lane by the field's name.
    """

    refusal: str
    capability: str = ""


def formerly(old: str, new: str, default: Any = None) -> Any:
    """A field whose key had another name in the version before, which is still read."""
    return Field(default, validation_alias=AliasChoices(new, old))


@dataclass(frozen=True)
class InC:
    """Stands in the annotation of a field that C programs are told: what becomes of it there.

    Attributes:
        structure: The structure, where C reads and prints it by code of its own.
        kind: That code's name; empty: the structure's.
        member: What it is read into, which other fields may share; empty: a member of its name.
        is_told: Whether a data plane is told it at all.
        is_signed: Whether C reckons with it as with a time before or after others.
        least: Least value, of a quantity in its base unit; 0: its type's.
        most: Highest value likewise, for the sake of C's arithmetic; 0: its type's.
    """

    structure: str = ""
    kind: str = ""
    member: str = ""
    is_signed: bool = False
    is_told: bool = True
    least: int = 0
    most: int = 0


UNTOLD = InC(is_told=False)


def in_c(info: FieldInfo) -> InC:
    """What a field's annotation says of C."""
    return next((each for each in info.metadata if isinstance(each, InC)), InC())


def limits(info: FieldInfo, least: Number, most: Number) -> tuple[Number, Number]:
    """The least and the highest value of a field, those that are given where it says none."""
    for each in info.metadata:
        least, most = getattr(each, "ge", least), getattr(each, "le", most)
    of_c = in_c(info)
    return of_c.least or least, of_c.most or most


def attributes_of(model: type[BaseModel]) -> dict[str, str]:
    """What docstrings say of a model's attributes; "": of the model itself."""
    from docstring_parser import DocstringStyle, parse  # noqa: PLC0415 - for schemas only

    said: dict[str, str] = {}
    for each in reversed(model.__mro__):
        text = parse(inspect.cleandoc(each.__doc__ or ""), DocstringStyle.GOOGLE)
        said |= {one.arg_name: " ".join((one.description or "").split()) for one in text.params}
        whole = (text.short_description, text.long_description)
        said[""] = "\n\n".join(part for part in whole if part)
    return said


def _describe(schema: JsonObject, model: type[BaseModel]) -> None:
    """Put what docstrings say of a model and of its attributes where its schema has them.

    Args:
        schema: The model's schema; changed.
    """
    said = attributes_of(model)
    schema["description"] = said.pop("")
    known = {field.alias or name: field for name, field in model.model_fields.items()}
    for name, key in schema.get("properties", {}).items():
        written = key.get("description")  # of a quantity: what may be written
        if name in said:
            key["description"] = said[name] + (f" Write {written}." if written else "")
        default = known[name].default
        if isinstance(default, Quantity):
            key["default"] = str(default)
        elif hasattr(default, "written"):
            key["default"] = default.written
    # A model's own keys come before those that it shares with others.
    own = {
        field.alias or n for n, field in model.model_fields.items() if n in model.__annotations__
    }
    schema.get("properties", {}).update(
        {name: schema["properties"].pop(name) for name in known if name not in own}
    )


class ContractModel(BaseModel):
    """A frozen model that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=_describe)

    def as_message(self) -> JsonObject:
        """What a data plane is told of it; what is None is left out."""
        return told_of(self, type(self))


def told_of(value: ContractModel, model: type[ContractModel]) -> JsonObject:
    """What a data plane is told of the fields that one of the value's models has."""
    told = {n: getattr(value, n) for n, info in model.model_fields.items() if in_c(info).is_told}
    return {name: _as_message(each) for name, each in told.items() if each is not None}


def _as_message(value: Any) -> Any:
    if isinstance(value, ContractModel):
        return value.as_message()
    return [_as_message(each) for each in value] if isinstance(value, tuple) else value


class Quantities(ContractModel):
    """Quantities that a person writes (`rate: 1mbit`), and all others have in base units.

    Anywhere but in a scenario their keys have the unit: `rate_bps: 1000000`.
    """

    @model_validator(mode="before")
    @classmethod
    def _of_base_units(cls, data: Any, info: ValidationInfo) -> Any:
        if info.context is WRITTEN or not isinstance(data, dict):
            return data
        for name, field in cls.model_fields.items():
            kind: Any = next(iter(get_args(field.annotation)), field.annotation)
            if (key := f"{name}_{fields(kind)[0].name}") in data:
                data = {**data, name: kind(data[key])}
                del data[key]
        return data

    @model_serializer
    def _in_base_units(self, info: SerializationInfo) -> JsonObject:
        if info.context is WRITTEN:
            return {name: str(value) for name, value in self if value is not None}
        return base_units(**dict(self))

    def as_message(self) -> JsonObject:
        """What a data plane is told of it, in base units."""
        return self.model_dump()


class AliasedModel(ContractModel):
    """A model with keys that are no names in Python, as `from` and `return`."""

    model_config = ConfigDict(
        validate_by_name=True, validate_by_alias=True, serialize_by_alias=True
    )


class FileModel(ContractModel):
    """A model that names a file, whose content it has once a scenario was loaded."""

    file: Annotated[str, Field(min_length=1)]
    _content: Any = PrivateAttr(default=None)

    def with_content(self, content: object) -> Self:
        """The model with what is in its file."""
        copy = self.model_copy()
        copy._content = content
        return copy


def html_table(title: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Rows with the same keys as a table that a notebook shows."""
    lines = [list(rows[0]), *(list(row.values()) for row in rows)] if rows else []
    cells = ("".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    return f"<table><caption>{escape(title)}</caption>{body}</table>"


class JsonAnswer(ContractModel):
    """What a command answers with `--json`, or writes for a user to read.

    Attributes:
        format: Version of the layout: a key that goes or changes its meaning makes a new one.
    """

    format: Literal[1] = 1


class Failed(JsonAnswer):
    """The answer of a command that failed.

    Attributes:
        ok: False.
        error: What went wrong, and what to do.
        exit_code: The exit code of the command.
    """

    ok: Literal[False] = False
    error: str
    exit_code: int
