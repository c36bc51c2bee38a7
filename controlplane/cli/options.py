"""What several commands share: options, quantities, the testbed's file, and how they answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from nashbed.files import find_testbed, usual_testbed

from ..contract.errors import ConfigError, HostError
from ..contract.model import ContractModel, JsonAnswer, JsonObject
from ..machine.paths import CONFIGS, VIRTUAL_TESTBED
from ..store.errors import writing
from ..store.staging import scratch_folder

ScenarioFile = Annotated[
    str, typer.Argument(help="Scenario file, or the name of one in configs/scenarios/.")
]
OptionalTestbed = Annotated[
    str | None,
    typer.Option(
        "--testbed",
        help="Testbed file, or the name of one in configs/testbeds/.",
        show_default="embedded; virtual without root",
    ),
]
TestbedName = Annotated[
    str, typer.Option("--testbed", help="Testbed file, or the name of one in configs/testbeds/.")
]
RunFolder = Annotated[Path, typer.Argument(help="Run directory (results/...).")]
Results = Annotated[Path, typer.Option("--out", help="Folder that run directories go into.")]
PUBLISHED_EQUILIBRIA = (
    CONFIGS / "scenarios" / "srivastava2023" / "published" / "fabric_equilibria.csv"
)
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON on standard output.")]


def new_app(name: str | None = None, **settings: Any) -> typer.Typer:
    """Commands without colour codes in their help, and with our own messages for errors."""
    return typer.Typer(name=name, rich_markup_mode=None, pretty_exceptions_enable=False, **settings)


def answer(
    data: ContractModel | Sequence[JsonObject] | JsonObject, as_json: bool, text: str
) -> None:
    """Write the answer on standard output: for a script, or for a person.

    Args:
        data: The answer; plain data, where the analysis makes it, gets the number of its format.
        as_json: Whether it is for a script.
        text: What a person reads.
    """
    if isinstance(data, dict):
        plain: object = JsonAnswer().model_dump() | data
    else:
        plain = data.model_dump(mode="json") if isinstance(data, ContractModel) else data
    sys.stdout.write((json.dumps(plain, indent=1) if as_json else text.rstrip("\n")) + "\n")


def write_table(path: Path, text: str) -> None:
    """Write a table into the file that was asked for, in place of what was there.

    Args:
        path: The file.
        text: The table.

    Raises:
        RunError: The file cannot be written.
    """
    with writing(path):
        path.write_text(text, encoding="utf-8")


def choose_testbed(name: str | None) -> Path:
    """The testbed file that was asked for, or else the one that this user can run on.

    Args:
        name: A path, or a bare name of one that is shipped; None: not asked for.
    """
    if name is not None:
        return find_testbed(name)
    usual = usual_testbed()
    if usual == VIRTUAL_TESTBED:
        sys.stderr.write(
            "not root: in virtual time, on testbed virtual (real time: as root, or by --testbed)\n"
        )
    return usual


@contextmanager
def work_folder(keep: Path | None = None) -> Iterator[Path]:
    """A new folder for logs and raw measurements; removed afterwards unless it is to be kept."""
    if keep is None:
        with scratch_folder("work") as folder:
            yield folder
        return
    try:
        keep.mkdir(parents=True)
    except FileExistsError as error:
        raise ConfigError(f"{keep}: already exists; give --keep a new folder") from error
    except OSError as error:
        raise HostError(f"{keep}: cannot be made: {error.strerror}") from error
    yield keep.resolve()
