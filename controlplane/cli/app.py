"""The table of commands. Each module reads arguments, calls one function and shows the answer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from itertools import groupby
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from ..contract.errors import EXIT_CODES, ConfigError, need_extra

LOG_VARIABLE = "NASHBED_LOG"
"""Environment variable with the level of the log on standard error."""
_CODES = ";\n".join(f"{each.code} {each.meaning}" for each in EXIT_CODES)


class Menu(TyperGroup):
    """All commands; help shows them in groups, with whole descriptions."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a section for each group."""
        shown = [each for each in COMMANDS if not each.hidden]
        for title, commands in groupby(shown, key=lambda each: each.rich_help_panel):
            with formatter.section(title):
                formatter.write_dl([(str(each.name), str(each.help)) for each in commands])


root = typer.Typer(
    name="nashbed",
    cls=Menu,
    help=f"Congestion controls compete at a P4 bottleneck; who gets what, and where it settles.\n\n"
    f"Exit codes: {_CODES}.",
    epilog="Example: nashbed run quickstart",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class LazyCommand(TyperCommand):
    """Stands for a command, or a group of commands, until it is called.

    Args:
        panel: Its group in help; empty: help leaves it out.
        name: Its name on the command line.
        module: The module of this package whose `app` has it.
        summary: The first line of its help.
    """

    def __init__(self, panel: str, name: str, module: str, summary: str) -> None:
        hidden = not panel
        super().__init__(name, help=summary, hidden=hidden, rich_markup_mode=None)
        self.rich_help_panel = panel
        self.module = module

    def load(self) -> Any:
        """Import the command: one of the module's, or all of them where they are a group."""
        if self.module == "cluster":
            need_extra("cluster", "distributed")
        module = import_module(f".{self.module}", __package__)
        group = get_group(module.app)
        return group if group.name == self.name else group.commands[str(self.name)]

    def make_context(
        self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the arguments as the command itself does; the context is its own."""
        command = self.load()
        if self.name in OLD:
            _note(str(self.name), OLD[self.name])
        return command.make_context(info_name, list(map(self._today, args)), parent, **extra)

    def _today(self, word: str) -> str:
        """An option by the name that it has now."""
        option, equals, value = word.partition("=")
        today = OLD.get(f"{self.name} {option}")
        if today is None:
            return word
        _note(option, today)
        return f"{today}{equals}{value}"


OLD = {
    "ne": "equilibria",
    "mixes": "equilibria --mixes",
    "model --rtt": "--base-rtt",
    "model --second": "--cc",
    "model --bbr": "--cc-flows",
    "model --bbr-start": "--cc-start",
    "model --against": "--measured",
    "atlas --rtt": "--base-rtt",
    "calibrate --rtt": "--base-rtt",
    "timestamps --against": "--reference",
}
"""Commands and options by names that the next version does not know -> their names now."""


def _note(old: str, today: str) -> None:
    typer.echo(f"nashbed: {old} is called {today} now; the next version knows only that", err=True)


TABLE = """
Run:
  validate   plan       Check a scenario and a testbed file; touches nothing.
  plan       plan       Show what a run would do, and the time and disk it needs.
  run        run        Run every trial of a scenario, and show the results.
  resume     run        Finish a run that was stopped or killed.
  verify     verify     Run trials of a virtual run again: they must be equal to the bit.
  replay     captures   Put a capture through the bottleneck in virtual time.
Look at results:
  report     results    Build the report of a run again.
  figure     figure     Write figures of a run for a paper, and the numbers that they show.
  explore    explore    Open a run in the browser, down to single packets.
  equilibria equilibria Show the Nash equilibria of runs; write them, or the mixes, as a table.
  published  published  Show what runs measured beside what is published, and how far off it is.
  compare    results    Show what differs between two runs, and where by more than chance.
  export     results    Write tables of a run, or one trial for Perfetto, qlog or Wireshark.
  rtt        captures   Draw the RTT over time from captures, by TCP time stamps.
  timestamps captures   Show the hardware time stamps of a capture.
Write your own:
  init       listing    Write a scenario that answers a question: is my control fair?
  list       listing    List the scenarios, testbeds, congestion controls or figures that there are.
  cc         cc         Congestion controls in one C file: list, write, check and compare them.
  aqm        aqm        Queue disciplines: list ours, write and check your own in one C file.
  program    program    Programs as strategies: list, write and check the files that describe them.
Ask models:
  model      model      Predict throughputs and equilibria by all models, or test the models.
  atlas      atlas      Map the equilibrium that a model predicts.
Prepare machines:
  doctor     doctor     Show what is installed, what is skipped, and how to get it.
  kernel     kernel     Build the kernel for virtual time, or list those there are.
  targets    targets    Show what each target can do.
  calibrate  calibrate  Measure whether a testbed does what it is asked to.
  bench      bench      Measure speed and memory of this installation.
  worker     cluster    Run trials for others on this machine, until stopped.
  scheduler  cluster    Run a Dask scheduler on this machine, until stopped.
:
  ne         results    Show the Nash equilibria of a run.
  mixes      results    Write the measured mixes of runs as a table for `nashbed model --measured`.
  schema     schema     Write the JSON schemas of scenario, testbed and cluster files.
"""
"""Groups of commands, the last one hidden. A command's name, module of this package whose `app` has
it, and first line of its help."""


def _commands() -> Iterator[LazyCommand]:
    panel = ""
    for line in TABLE.strip().splitlines():
        if line.startswith(" "):
            yield LazyCommand(panel, *line.split(maxsplit=2))
        else:
            panel = line.removesuffix(":")


COMMANDS = tuple(_commands())


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # noqa: PLC0415 - for this alone

        typer.echo(f"nashbed {version('nashbed')}")
        raise typer.Exit


@root.callback()
def _log(
    context: typer.Context,
    verbose: Annotated[
        int,
        typer.Option(
            "--verbose",
            "-v",
            count=True,
            show_default=False,
            help="Show the log on standard error; twice: every command and its answer, too.",
        ),
    ] = 0,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_show_version, help="Show the version and end."
        ),
    ] = False,
) -> None:
    """Show the log as far as --verbose or NASHBED_LOG say; all other options are a command's."""
    asked = os.environ.get(LOG_VARIABLE, "").lower()
    level = ("", "info", "debug")[min(verbose, 2)] or asked
    if not level:
        return
    from nashbed import shown_log  # noqa: PLC0415 - `--help` needs none

    try:
        context.with_resource(shown_log(level))
    except ConfigError as error:
        raise ConfigError(f"{LOG_VARIABLE}: {error.message}") from error


def command_line() -> TyperGroup:
    """The whole command line; no command's module is imported yet."""
    group: Any = get_command(root)
    for command in COMMANDS:
        group.add_command(command)
    assert isinstance(group, TyperGroup)
    return group
