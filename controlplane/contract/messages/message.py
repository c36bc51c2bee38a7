"""What all messages have in common: how one is read, and how a line says what is wrong with it."""

import re
from typing import Annotated, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)

from ..errors import NashbedError, TargetError
from ..model import Count as Count  # noqa: PLC0414 - messages take it from here
from ..model import JsonObject

Whole = Annotated[int, Field(strict=True)]
"""A whole number; true, 1.0 and "1" are none."""
Finite = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
"""A number of 0 or more; neither infinite nor NaN."""
Moment = Whole | None
"""Nanoseconds after t0; None: it never happened."""

LONGEST_PROBLEM = 300
LONGEST_VALUE = 60


class Message(BaseModel):
    """A frozen model of what a program says; written again, it has the keys that it came with."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> JsonObject:
        written: JsonObject = handler(self)
        return {key: value for key, value in written.items() if key in self.model_fields_set}


MessageT = TypeVar("MessageT", bound=Message)


def read_message(
    model: type[MessageT],
    content: object,
    source: str,
    failure: type[NashbedError] = TargetError,
) -> MessageT:
    """Check a message.

    Args:
        content: What came: the JSON text, or the object in it.
        source: Program and message, for the error's line: `data plane: counters`.

    Raises:
        NashbedError: It is not such a message; the line names the source and the first field.
    """
    try:
        if isinstance(content, str | bytes):
            return model.model_validate_json(content)
        return model.model_validate(content)
    except ValidationError as error:
        raise failure(f"{source}: {_problem(error)}") from error


class ErrorEvent(Message):
    """A program's last words before it ends with an error.

    Attributes:
        event: Marks it as an error.
        error: One line.
    """

    event: Literal["error"]
    error: str


_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "greater_than_equal": "{ge:g} or more",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "literal_error": "{expected}",
    "json_invalid": "JSON",
}
"""Pydantic's type of an error -> what should have come."""


def _problem(error: ValidationError) -> str:
    """The first problem in one line: the field, and what is wrong with it."""
    first = error.errors()[0]
    where, kind = ".".join(str(part) for part in first["loc"]), first["type"]
    if kind == "missing":
        text = f"{where} is missing"
    elif kind == "extra_forbidden":
        text = f"{where} is not a field of this message"
    elif kind in _EXPECTED:
        expected = _EXPECTED[kind].format(**first.get("ctx", {}))
        text = f"{where or 'the message'} is {_shown(first['input'])}, expected {expected}"
    else:
        reason = re.sub(r"^Value error, ", "", first["msg"])
        text = f"{where}: {reason}" if where else reason
    return " ".join(text.split())[:LONGEST_PROBLEM]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else type(value).__name__
