"""A strategy as a scenario names it: a congestion control, or a program, by a name or a path."""

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Self

from pydantic import ValidatorFunctionWrapHandler, WithJsonSchema, WrapValidator

from .c_files import SUFFIX, cca_name
from .course import StrategyName
from .disciplines import Value
from .program import FlowProgram

ModuleParameters = Mapping[str, Mapping[str, Value]]
"""Strategy -> the parameters that its module is inserted with."""


class CcaInFile(str):
    """The name of a CCA that was written as the path of its file.

    Attributes:
        path: The path, as written.
        params: Parameters of the kernel module that it is, as written.
    """

    path: str
    params: Mapping[str, Value]

    def __new__(cls, name: str, path: str, params: Mapping[str, Value]) -> Self:
        """Name it."""
        made = super().__new__(cls, name)
        made.path, made.params = path, params
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, Mapping[str, Value]]]:
        """What a copy is made of."""
        return type(self), (str(self), self.path, self.params)

    @property
    def written(self) -> str | dict[str, Any]:
        """How a scenario has it."""
        return {"file": self.path, "params": dict(self.params)} if self.params else self.path


class ProgramInFile(str):
    """The name of a strategy that is a program: that of its file.

    Attributes:
        path: The path of its file, as written.
        program: What is in it, once the scenario was loaded.
    """

    path: str
    program: FlowProgram | None

    def __new__(cls, name: str, path: str, program: FlowProgram | None = None) -> Self:
        """Name it."""
        made = super().__new__(cls, name)
        made.path, made.program = path, program
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, FlowProgram | None]]:
        """What a copy is made of."""
        return type(self), (str(self), self.path, self.program)

    @property
    def written(self) -> dict[str, Any]:
        """How a scenario has it."""
        return {"program": self.path}


def with_params(strategy: str, changes: Mapping[tuple[str, ...], Any]) -> str:
    """A strategy with other parameters, of those that are of it: (strategy, parameter) -> value."""
    mine = {path[1]: value for path, value in changes.items() if path[0] == strategy}
    if not mine:
        return strategy
    if not isinstance(strategy, CcaInFile):
        raise ValueError(f"strategies: {strategy} is of no file, and has no parameters")
    return CcaInFile(str(strategy), strategy.path, {**strategy.params, **mine})


def _strategy_name(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """What is written as the path of its file has the file's name from here on."""
    if isinstance(value, CcaInFile | ProgramInFile):
        return value
    if isinstance(value, Mapping) and "program" in value:
        return _program(value, check)
    file, params = _file_and_params(value) if isinstance(value, Mapping) else (value, {})
    if isinstance(file, str) and file.endswith((SUFFIX, "/")):
        return CcaInFile(check(cca_name(file)), file, params)
    return check(file)


def _file_and_params(value: Mapping[str, Any]) -> tuple[str, Mapping[str, Value]]:
    file, params = value.get("file"), value.get("params", {})
    is_file = isinstance(file, str) and file.endswith((SUFFIX, "/"))
    is_told = isinstance(params, Mapping) and all(isinstance(v, Value) for v in params.values())
    if not (is_file and is_told and value.keys() <= {"file", "params"}):
        raise ValueError("write {file: ./mycc.c, params: {NAME: VALUE}}")
    return str(file), dict(params)


def _program(value: Mapping[str, Any], check: ValidatorFunctionWrapHandler) -> ProgramInFile:
    file = value["program"]
    if value.keys() != {"program"} or not isinstance(file, str) or not file.endswith(".yaml"):
        raise ValueError("write {program: FILE.yaml}")
    return ProgramInFile(check(PurePath(file).stem), file)


_WRITTEN = {"type": "string", "pattern": r"^([a-z0-9][a-z0-9_-]{0,14}|.*(\.c|/))$"}
_WITH_PARAMS = {
    "type": "object",
    "properties": {"file": {"type": "string"}, "params": {"type": "object"}},
    "required": ["file"],
    "additionalProperties": False,
}
_PROGRAM = {
    "type": "object",
    "properties": {"program": {"type": "string", "pattern": r"\.yaml$"}},
    "required": ["program"],
    "additionalProperties": False,
}
Strategy = Annotated[
    StrategyName,
    WrapValidator(_strategy_name),
    WithJsonSchema({"anyOf": [_WRITTEN, _WITH_PARAMS, _PROGRAM]}),
]
"""A congestion control, written by its name, as the path of its C file or folder, or as that path
with parameters; or a program, by the path of the file that describes it."""
