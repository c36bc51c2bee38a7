"""Commands that are functions of the API: its signatures and docstrings say their options.

A function's source is read, and it is imported when the command calls it: help and completion do
not wait for the analysis.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from copy import copy
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.models import ArgumentInfo, OptionInfo

from ..contract.errors import NashbedError
from .console import say, step_display
from .options import (
    Answer,
    AsJson,
    Changes,
    On,
    OptionalTestbed,
    PrivateNetwork,
    RunFolder,
    ScenarioFile,
    Wait,
)

Command = Callable[..., Answer | int]
Options = Mapping[str, inspect.Parameter]
KINDS = {
    "Path": Path, "RunLike": Path, "ScenarioLike": Path,
    "str": str, "bool": bool, "int": int, "float": float,
}  # fmt: skip
"""Word of a type -> type of the option, the first that it has; all others are text."""
KNOWN = {
    "scenario": ScenarioFile, "testbed": OptionalTestbed, "on": On,
    "private_network": PrivateNetwork, "run": RunFolder, "path": RunFolder,
    "source": typer.Argument(metavar="FILE"),
}  # fmt: skip
"""Arguments that are the same option everywhere, in words of the command line."""
FOLLOWED = {"on_step", "progress"}
"""Arguments that are called as it goes on."""
NOTHING = inspect.Parameter.empty


class ApiArgument(NamedTuple):
    """An argument of a function of the API, as its source has it.

    Attributes:
        kind: Its type.
        default: Its default; `NOTHING`: it must be given.
        help: What the docstring says of it.
        unset: What the docstring says that None, or nothing, stands for.
    """

    kind: str
    default: Any
    help: str
    unset: str | None


class ApiFunction(NamedTuple):
    """A function of the API, as its source has it.

    Attributes:
        path: Its module and name: `atlas.draw`, `runs.Run.report`.
        about: What its docstring says below the first line.
    """

    path: str
    arguments: dict[str, ApiArgument]
    about: str


@cache
def api_function(path: str) -> ApiFunction:
    """Read a function of the API, by its module and name."""
    module, *names = path.split(".")
    spec: Any = find_spec(f"nashbed.{module}")
    node: Any = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    for name in names:
        node = next(each for each in node.body if getattr(each, "name", "") == name)
    text, told = _docs(ast.get_docstring(node))
    written = node.args
    missing = [None] * (len(written.args) - len(written.defaults))
    defaults = [*missing, *written.defaults, *written.kw_defaults]
    arguments = {
        each.arg: _argument(ast.unparse(each.annotation), _value(default), told.get(each.arg, ""))
        for each, default in zip([*written.args, *written.kwonlyargs], defaults, strict=True)
        if each.arg != "self"
    }
    return ApiFunction(path, arguments, text.partition("\n\n")[2])


def _docs(docstring: str | None) -> tuple[str, dict[str, str]]:
    """What a docstring says before its arguments, and of each of them."""
    text, _, rest = (docstring or "").partition("\n\nArgs:\n")
    arguments = rest.partition("\n\n")[0]
    return text, dict(re.findall(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", arguments, re.MULTILINE))


def _argument(kind: str, default: Any, told: str) -> ApiArgument:
    says, unset = " ".join(told.split()), None
    if found := re.fullmatch(r"(.*); (?:None|empty): (.*)\.", says):
        says, unset = f"{found[1]}.", found[2]
    return ApiArgument(kind, default, says, unset)


def _value(default: ast.expr | None) -> Any:
    try:
        return NOTHING if default is None else ast.literal_eval(default)
    except ValueError:  # a constant of the API's, which it knows better
        return None


class Call:
    """Calls a function of the API with what the command line says.

    Attributes:
        given: Its arguments that have a value.
        written: Argument -> how it is written on the command line.
        typed: Those that are not as usual, as they are written.
    """

    def __init__(self, function: ApiFunction, options: Options, values: Mapping[str, Any]) -> None:
        own = {name: options[name] for name in function.arguments if name in options}
        told = {name: values[option.name] for name, option in own.items()}
        self.given = {name: value for name, value in told.items() if value not in (None, [])}
        self.written = {name: _written(option) for name, option in options.items()}
        self.typed = [self.written[n] for n, v in self.given.items() if v != own[n].default]
        self._function = function
        self._changes: Sequence[str] = values.get("changes") or ()

    def __call__(self, *first: Any, **more: Any) -> Any:
        """Call it; what a person follows is shown meanwhile, on standard error.

        Args:
            first: Arguments before those of the command line.
            more: Further ones, which count more than those of the command line.

        Raises:
            NashbedError: If an argument is wrong, the message begins with its option.
        """
        module, _, names = self._function.path.partition(".")
        function: Any = import_module(f"nashbed.{module}")
        for name in names.split("."):
            function = getattr(function, name)
        with ExitStack() as shown:
            try:
                return function(*first, **(self._arguments(shown) | more))
            except NashbedError as error:
                name, _, rest = error.message.partition(":")
                if name in self.written:
                    error.message = f"{self.written[name]}:{rest}"
                raise

    def _arguments(self, shown: ExitStack) -> dict[str, Any]:
        has = self._function.arguments
        must = (name for name in self.written if name in has and has[name].default is NOTHING)
        told: dict[str, Any] = {**dict.fromkeys(must), **self.given}
        told |= {name: shown.enter_context(step_display()) for name in FOLLOWED & has.keys()}
        if self._changes and "scenario" in has:
            told["scenario"] = _changed(told["scenario"], self._changes)
        if "on_wait" in has:
            from .where import waiting  # noqa: PLC0415 - slow to import

            told["on_wait"] = shown.enter_context(waiting(self.given["on_wait"]))
        return told | ({"say": say} if "say" in has else {})


def _changed(scenario: str, changes: Sequence[str]) -> Any:
    from nashbed.files import parse_changes, read_scenario  # noqa: PLC0415 - slow to import

    return read_scenario(scenario, parse_changes(changes))


def command(
    app: typer.Typer,
    *paths: str,
    examples: str,
    name: str | None = None,
    hidden: bool = False,
    **changed: Any,
) -> Callable[[Command], Command]:
    """Make a command of functions of the API.

    What is decorated gets a `Call` for each of them, and then its own options by name, of which its
    docstring says what the API's say of theirs. Arguments of the API are options, too, but for
    those that what is decorated has itself. What it returns is written as --json says, or is an
    exit code if that is what its signature says.

    Args:
        app: What the command is added to.
        paths: The functions.
        examples: The end of its help.
        name: Its name; None: that of what is decorated.
        hidden: Whether help leaves it out.
        changed: Argument -> a typer.Option or typer.Argument with what its function does not say,
            an annotation that says all, or None: it is no option.
    """

    def decorate(function: Command) -> Command:
        signature = inspect.signature(function, eval_str=True)
        doc, told = _docs(inspect.getdoc(function))
        own = [
            each
            if hasattr(each.annotation, "__metadata__")
            else _option(
                each.name,
                _argument(
                    function.__annotations__[each.name], each.default, told.get(each.name, "")
                ),
                changed.get(each.name, NOTHING),
            )
            for each in list(signature.parameters.values())[len(paths) :]
        ]
        read = [api_function(path) for path in paths]
        arguments = {n: a for each in reversed(read) for n, a in each.arguments.items()}
        ordered = {n: arguments[n] for each in read for n in each.arguments}
        options = _options(ordered, KNOWN | changed | {each.name: None for each in own})

        def called(as_json: bool = False, **given: Any) -> int:
            calls = [Call(each, options, given) for each in read]
            said = function(*calls, **{each.name: given[each.name] for each in own})
            return said.write(as_json) if isinstance(said, Answer) else said

        parameters = [p.replace(kind=p.KEYWORD_ONLY) for p in (*options.values(), *own)]
        if signature.return_annotation is Answer:
            parameters.append(_parameter("as_json", AsJson, False))
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        about = "" if "\n\n" in doc or not read else read[0].about
        text = f"{doc}\n\n{about}".strip()
        word = name or function.__name__
        app.command(word, epilog=examples, help=text, hidden=hidden)(called)
        return function

    return decorate


def _options(arguments: Mapping[str, ApiArgument], changed: Mapping[str, Any]) -> Options:
    """Argument of the API -> option, for those that are any."""
    options = {
        name: _option(name, argument, changed.get(name, NOTHING))
        for name, argument in arguments.items()
        if name not in {"on_wait", "say", *FOLLOWED} and changed.get(name, NOTHING) is not None
    }
    if "scenario" in arguments:
        options["changes"] = _parameter("changes", Changes, None)
    if "on_wait" in arguments:
        options["on_wait"] = _parameter("wait", Wait, False)
    return options


def _option(name: str, argument: ApiArgument, changed: Any) -> inspect.Parameter:
    """An argument as an option; without a default it is an argument here, too."""
    if changed is NOTHING:
        changed = typer.Argument() if argument.default is NOTHING else typer.Option()
    if not isinstance(changed, (OptionInfo, ArgumentInfo)):
        return _parameter(name, changed, argument.default)
    info, default = copy(changed), argument.default
    if not (info.default is ... or str(info.default).startswith("-")):
        info.default, default = ..., info.default
    words = re.findall(r"\w+", argument.kind)
    kind: Any = next((kind for word, kind in KINDS.items() if word in words), str)
    info.help = info.help or argument.help
    if "Sequence" in words:
        kind = list[kind]
        if isinstance(info, OptionInfo):
            info.help = f"{info.help.removesuffix('.')}; repeatable."
    if default in {None, "", ()}:
        kind, default = kind | None, default or None
        if not isinstance(info.show_default, str):
            info.show_default = argument.unset or True
    if default is False and info.default is ...:
        info.default = _flag(name)
    return _parameter(name, Annotated[kind, info], default)


def _parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _written(option: inspect.Parameter) -> str:
    """How an option is written; an argument has its name in the API."""
    info = option.annotation.__metadata__[0]
    if isinstance(info, ArgumentInfo):
        return option.name
    flags = [each for each in (info.default, *(info.param_decls or ())) if each is not ...]
    return flags[0] if flags else _flag(option.name)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"
