"""A user's own function, named in a scenario as `module:function`.

Only an import path is accepted, never an expression: a scenario executes nothing but the import
of a module that the user has installed or put on PYTHONPATH.
"""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from .errors import ConfigError
from .units import counted

PATTERN = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$"
"""Pattern of an import path `package.module:function`."""


def load_function(path: str, arguments: int) -> Callable[..., Any]:
    """Import a function.

    Args:
        path: Import path, `package.module:function`.
        arguments: How many positional arguments it must take.

    Raises:
        ConfigError: It cannot be imported, is not a function, or takes other arguments.
    """
    module, _, name = path.partition(":")
    try:
        value = getattr(importlib.import_module(module), name)
    except Exception as error:
        raise ConfigError(f"{path}: {_problem(error, module, name)}") from error
    if not callable(value):
        raise ConfigError(f"{path}: is a {type(value).__name__}, not a function")
    try:
        inspect.signature(value).bind(*range(arguments))
    except TypeError as error:
        raise ConfigError(
            f"{path}: must take {counted(arguments, 'argument')} ({error})"
        ) from error
    except ValueError:
        pass  # a built-in without a signature: calling it will show
    function: Callable[..., Any] = value
    return function


def _problem(error: Exception, module: str, name: str) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"no module {error.name!r}; install it or add its folder to PYTHONPATH"
    if isinstance(error, AttributeError) and f"{name!r}" in str(error):
        return f"module {module!r} has no {name!r}"
    first = (str(error).strip().splitlines() or [""])[0]
    return f"importing {module!r} failed: {type(error).__name__}: {first}"
