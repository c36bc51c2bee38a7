"""The bases of every contract model: what is read and kept, and what a user is answered in JSON."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

JsonObject = dict[str, Any]
"""A JSON object without a model: another program's, a file's, a schema's, a page template's."""

Number = int | float
"""A number that JSON keeps as it came: a whole one without a decimal point."""


class ContractModel(BaseModel):
    """A frozen model that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")


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
