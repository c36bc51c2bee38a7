"""The files that describe programs: a scenario's own, and those of configs/programs."""

from pathlib import Path, PurePath

from pydantic import ValidationError

from ..contract.errors import ConfigError, did_you_mean
from ..contract.program import FlowProgram
from .strict_yaml import parse, to_config_error

SHIPPED = Path(__file__).resolve().parents[2] / "configs" / "programs"


def find_program(written: str, folder: Path) -> Path:
    """The file of a program: beside the scenario or of configs/programs, with its {cc} or without.

    Args:
        written: As a scenario names it.
        folder: The scenario's.

    Raises:
        ConfigError: There is none.
    """
    path = PurePath(written)
    without_cc = path.with_stem(path.stem.rpartition("-")[0] or path.stem)
    shipped = [SHIPPED / path, SHIPPED / without_cc] if path.name == written else []
    for file in (folder / path, folder / without_cc, *shipped):
        if file.is_file():
            return file
    hint = did_you_mean(path.name, program_names())
    raise ConfigError(
        f"{written}: no such file beside the scenario or in configs/programs; {hint}see `nashbed "
        "program list`, or write one with `nashbed program new`"
    )


def program_names() -> list[str]:
    """What a scenario may name of configs/programs, by file and {cc}."""
    found = []
    for file in sorted(SHIPPED.glob("*.yaml")):
        ccs = read_program(file).ccs
        found += [f"{file.stem}-{cc}.yaml" for cc in ccs] or [file.name]
    return found


def read_program(path: Path) -> FlowProgram:
    """Read a program's file.

    Raises:
        ConfigError: It is not one; one line for each mistake.
        OSError: It cannot be read.
    """
    source = parse(path.read_text(encoding="utf-8"), str(path))
    try:
        return FlowProgram.model_validate(source.data)
    except ValidationError as error:
        raise to_config_error(error, source, FlowProgram.model_json_schema()) from error


def check_cc(name: str, program: FlowProgram, path: Path) -> None:
    """Refuse a strategy whose name does not end in a {cc} that its program has.

    Raises:
        ValueError: It does not.
    """
    if program.ccs and name.rpartition("-")[2] not in program.ccs:
        names = (f"{path.stem}-{cc}.yaml" for cc in program.ccs)
        raise ValueError("has {cc}; name it with one of " + ", ".join(names))
