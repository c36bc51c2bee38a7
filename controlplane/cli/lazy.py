"""Commands whose modules are imported when they are called: `nashbed --help` needs none of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from typer.core import TyperCommand
from typer.main import get_group


class LazyCommand(TyperCommand):
    """Stands for a command, or a group of commands, until it is called.

    Args:
        name: Its name on the command line.
        module: The module of this package whose `app` has it.
        summary: The first line of its help.
        hidden: Whether `--help` leaves it out.
    """

    def __init__(self, name: str, module: str, summary: str, hidden: bool = False) -> None:
        super().__init__(name, help=summary, hidden=hidden, rich_markup_mode=None)
        self.module = module

    def load(self) -> Any:
        """Import the command: one of the module's, or all of them where they are a group."""
        module = import_module(f".{self.module}", __package__)
        group = get_group(module.app)
        return group if group.name == self.name else group.commands[str(self.name)]

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the arguments as the command itself does; the context is its own."""
        return self.load().make_context(info_name, args, parent, **extra)
