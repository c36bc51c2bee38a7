"""A congestion control as a scenario names it: by its name, or by the path of its C files."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator

from .c_files import SUFFIX, cca_name
from .course import StrategyName


class CcaInFile(str):
    """The name of a CCA that was written as the path of its file.

    Attributes:
        path: The path, as written.
    """

    path: str

    def __new__(cls, name: str, path: str) -> Self:
        """Name it."""
        made = super().__new__(cls, name)
        made.path = path
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        """What a copy is made of."""
        return type(self), (str(self), self.path)


def _strategy_name(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """A CCA that is written as the path of its file has the file's name from here on."""
    if isinstance(value, str) and value.endswith((SUFFIX, "/")):
        return CcaInFile(check(cca_name(value)), value)
    return check(value) if not isinstance(value, CcaInFile) else value


Strategy = Annotated[
    StrategyName,
    WrapValidator(_strategy_name),
    WithJsonSchema({"type": "string", "pattern": r"^([a-z0-9][a-z0-9_-]{0,14}|.*(\.c|/))$"}),
]
"""A congestion control, written by its name or as the path of its C file or folder."""
