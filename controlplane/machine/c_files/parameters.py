"""Parameters of an ordinary kernel module: which it has, and how it is told them."""

import re
from collections.abc import Mapping, Sequence

from ...contract.c_files import CFile, own_files
from ...contract.disciplines import Value
from ...contract.errors import ConfigError
from ...contract.scenario import Scenario, combinations, varied
from ...contract.strategy import CcaInFile
from .kinds import form_of

_DECLARED = re.compile(
    r"\bmodule_param(?:_named\(\s*(?P<named>\w+)\s*,|\()\s*(?P<variable>\w+)\s*,\s*(?P<type>\w+)"
)
_WHOLE = ["byte", "hexint", "short", "ushort", "int", "uint", "long", "ulong", "ullong"]


def parameters_of(cca: CFile) -> dict[str, str]:
    """The parameters of a module, by name: the kernel's word for their type."""
    if form_of(cca) != "module":
        return {}
    texts = [file.read_text(errors="replace") for file in own_files(cca.source)]
    found = [each for text in texts for each in _DECLARED.finditer(text)]
    return {each["named"] or each["variable"]: each["type"] for each in found}


def require_parameters(scenario: Scenario, ccas: Sequence[CFile]) -> None:
    """Refuse parameters that a strategy's module does not have: the kernel would not.

    Raises:
        ConfigError: One line for each.
    """
    has = {cca.name: parameters_of(cca) for cca in ccas}
    problems = {
        f"{strategy}: params.{name}: {problem}": None
        for values in combinations(scenario)
        for strategy in varied(scenario, values).strategies
        if isinstance(strategy, CcaInFile)
        for name, value in strategy.params.items()
        if (problem := _problem(has.get(strategy, {}), name, value))
    }
    if problems:
        raise ConfigError("\n".join(problems))


def _problem(has: Mapping[str, str], name: str, value: Value) -> str:
    if not has:
        return "it has no parameters; an ordinary kernel module has those of its module_param"
    if name not in has:
        return f"there is no such parameter; it has {', '.join(has)}"
    if has[name] in _WHOLE and (isinstance(value, bool) or not isinstance(value, int)):
        return f"{value!r} is no whole number"
    if has[name] in ("bool", "invbool") and not isinstance(value, bool):
        return f"{value!r} is neither true nor false"
    return ""


def module_arguments(params: Mapping[str, Value]) -> str:
    """Parameters as the kernel reads them when a module is inserted."""
    return " ".join(f'{name}="{_told(value)}"' for name, value in params.items())


def _told(value: Value) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
