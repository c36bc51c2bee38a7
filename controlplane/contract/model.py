"""The bases of every contract model: what is read and kept, and what a user is answered in JSON."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    model_serializer,
    model_validator,
)

from .units import Quantity, base_units

JsonObject = dict[str, Any]
"""A JSON object without a model: another program's, a file's, a schema's, a page template's."""

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
"""A name in a scenario or a testbed."""

Count = Annotated[int, Field(strict=True, ge=0)]
"""A whole number of 0 or more."""

ELSEWHERE = "use a testbed of target dpdk or virtual"

Number = int | float
"""A number that JSON keeps as it came: a whole one without a decimal point."""


if TYPE_CHECKING:
    T = TypeVar("T")

    class Several(Generic[T]):
        """For type checkers: what a field takes, and what it has then; pydantic converts it."""

        def __get__(self, model: object, kind: type | None = None) -> tuple[T, ...]: ...
        def __set__(self, model: object, value: Iterable[T]) -> None: ...

    class Written(Generic[T]):
        """For type checkers: a quantity as text, or as one of several types."""

        def __get__(self, model: object, kind: type | None = None) -> T: ...
        def __set__(self, model: object, value: T | str) -> None: ...

else:

    class Several:
        """`Several[X]` is `tuple[X, ...]`, and for type checkers takes any sequence."""

        def __class_getitem__(cls, item):
            return tuple[item, ...]

    class Written:
        """`Written[X]` is `X`, and for type checkers takes its text."""

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


def _describe(schema: JsonObject, model: type[BaseModel]) -> None:
    """Put what docstrings say of a model and of its attributes where its schema has them.

    Args:
        schema: The model's schema; changed.
        model: The model.
    """
    from docstring_parser import DocstringStyle, parse  # noqa: PLC0415 - for schemas only

    said: dict[str, str] = {}
    for each in reversed(model.__mro__):
        text = parse(inspect.cleandoc(each.__doc__ or ""), DocstringStyle.GOOGLE)
        said |= {one.arg_name: " ".join((one.description or "").split()) for one in text.params}
        if each is model:
            whole = (text.short_description, text.long_description)
            schema["description"] = "\n\n".join(part for part in whole if part)
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


class Quantities(ContractModel):
    """Quantities that a person writes (`rate: 1mbit`), and all others have in base units.

    Anywhere but in a scenario their keys have the unit: `rate_bps: 1000000`.
    """

    @model_validator(mode="before")
    @classmethod
    def _of_base_units(cls, data: Any) -> Any:
        for name, field in cls.model_fields.items() if isinstance(data, dict) else ():
            kind: Any = field.annotation
            if (key := f"{name}_{fields(kind)[0].name}") in data:
                data = {**data, name: kind(data[key])}
                del data[key]
        return data

    @model_serializer
    def _in_base_units(self) -> dict[str, int]:
        return base_units(**dict(self))


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
