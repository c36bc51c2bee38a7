"""Options made of the API's functions: types, defaults, help, and what is called with them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from nashbed.controlplane.cli import api_command
from nashbed.controlplane.cli.api_command import NOTHING, ApiArgument, Call, api_function, command
from nashbed.controlplane.contract.errors import ConfigError
from typer.testing import CliRunner

SOURCE = '''
"""Made."""
LINK = "10mbit"

class Run:
    def draw(self, out: str | Path, names: Sequence[str] = (), *, rate: str | Rate | None = None,
             flows: int = 2, seed: int = LINK, bold: bool = False, on_step: ShowStep = show):
        """Draw it.

        With a pencil.

        Args:
            out: Its folder,
                which is made.
            names: Whose; empty: all.
            rate: Its rate; None: 10mbit.
            flows: How many.
            bold: Thickly.

        Raises:
            ConfigError: No.
        """
'''


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a module of the API whose source this is has been called with."""
    found: list[Any] = []

    def draw(*first: Any, **given: Any) -> None:
        found.append((first, given))
        if given["flows"] < 2:
            raise ConfigError(f"flows: {given['flows']}; write 2")

    file = tmp_path / "made.py"
    file.write_text(SOURCE)
    monkeypatch.setattr(api_command, "find_spec", lambda name: SimpleNamespace(origin=str(file)))
    module = SimpleNamespace(Run=SimpleNamespace(draw=draw))
    monkeypatch.setattr(api_command, "import_module", lambda name: module)
    api_function.cache_clear()
    return found


def made_command() -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None)

    @command(app, "made.Run.draw", examples="Example", names=typer.Option("--name"))
    def draw(draw: Call, thin: bool = False, copies: int | None = None) -> int:
        """Draw.

        Args:
            copies: Sheets; None: one.
        """
        return int(bool(draw("self") or draw.typed or thin or copies))

    return app


@pytest.mark.usefixtures("called")
def test_a_function_is_read_from_its_source() -> None:
    read = api_function("made.Run.draw")
    assert read.about == "With a pencil."
    assert read.arguments == {
        "out": ApiArgument("str | Path", NOTHING, "Its folder, which is made.", None),
        "names": ApiArgument("Sequence[str]", (), "Whose.", "all"),
        "rate": ApiArgument("str | Rate | None", None, "Its rate.", "10mbit"),
        "flows": ApiArgument("int", 2, "How many.", None),
        "seed": ApiArgument("int", None, "", None),
        "bold": ApiArgument("bool", False, "Thickly.", None),
        "on_step": ApiArgument("ShowStep", None, "", None),
    }


def test_options_are_its_arguments(called: list[Any]) -> None:
    (made,) = made_command().registered_commands
    assert made.callback is not None
    kinds = {p.name: p.annotation for p in inspect.signature(made.callback).parameters.values()}
    assert list(kinds) == ["out", "names", "rate", "flows", "seed", "bold", "thin", "copies"]
    assert (kinds["out"].__origin__, kinds["names"].__origin__) == (Path, list[str] | None)
    told = CliRunner().invoke(made_command(), ["--help"]).output
    assert "Draw.\n\n  With a pencil." in told
    assert "[default: (10mbit)]" in told
    assert re.search(r"--copies <int> +Sheets\.  \[default: \(one\)\]", told)
    done = CliRunner().invoke(made_command(), ["there", "--name", "a", "--name", "b", "--bold"])
    assert done.exit_code == 0
    ((first, given),) = called
    assert given.pop("on_step")
    assert first == ("self",)
    assert given == {"out": Path("there"), "names": ["a", "b"], "flows": 2, "bold": True}


@pytest.mark.usefixtures("called")
def test_an_error_names_the_option() -> None:
    done = CliRunner().invoke(made_command(), ["there", "--flows", "1"])
    assert isinstance(done.exception, ConfigError)
    assert done.exception.message == "--flows: 1; write 2"
