"""The table of commands. Each module reads arguments, calls one function and shows the answer."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from ..contract.errors import EXIT_CODES, ConfigError, need_extra

LOG_VARIABLE = "NASHBED_LOG"
"""Environment variable with the level of the log on standard error."""
_CODES = ";\n".join(f"{each.code} {each.meaning}" for each in EXIT_CODES)
root = typer.Typer(
    name="nashbed",
    help=f"Congestion controls compete at a P4 bottleneck; who gets what, and where it settles.\n\n"
    f"Exit codes: {_CODES}.",
    epilog="Example: nashbed run configs/scenarios/quickstart.yaml",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
HIDDEN = {"schema"}


class LazyCommand(TyperCommand):
    """Stands for a command, or a group of commands, until it is called.

    Args:
        name: Its name on the command line.
        module: The module of this package whose `app` has it.
        summary: The first line of its help.
    """

    def __init__(self, name: str, module: str, summary: str) -> None:
        super().__init__(name, help=summary, hidden=name in HIDDEN, rich_markup_mode=None)
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
        return self.load().make_context(info_name, args, parent, **extra)


TABLE = """
run        run        Run every trial of a scenario, and show the results.
resume     run        Finish a run that was stopped or killed.
validate   plan       Check a scenario and a testbed file; touches nothing.
plan       plan       Show what a run would do, and the time and disk it needs.
report     results    Build the report of a run again.
figure     figure     Write figures of a run for a paper, and the numbers that they show.
explore    explore    Open a run in the browser, down to single packets.
ne         results    Show the Nash equilibria of a run.
replay     captures   Put a capture through the bottleneck in virtual time.
doctor     doctor     Show what is installed, what is skipped, and how to get it.
targets    targets    Show what each target can do.
schema     schema     Write the JSON schemas of scenario, testbed and cluster files.
model      model      Predict throughputs and equilibria by all models, or test the models.
atlas      atlas      Map the equilibrium that a model predicts.
calibrate  calibrate  Measure whether a testbed does what it is asked to.
verify     verify     Run trials of a virtual run again: they must be equal to the bit.
compare    results    Show what differs between two runs, and where by more than chance.
export     results    Write tables of a run, or one trial for Perfetto, qlog or Wireshark.
mixes      results    Write the measured mixes of runs as a table for `nashbed model --against`.
equilibria equilibria Write the equilibria of runs as a table, and hold them against published ones.
rtt        captures   Draw the RTT over time from captures, by TCP time stamps.
timestamps captures   Show the hardware time stamps of a capture.
kernel     kernel     Build the kernel for virtual time, or list those there are.
cc         cc         Congestion controls in one C file: list, write, check and compare them.
aqm        aqm        Queue disciplines: list ours, write and check your own in one C file.
worker     cluster    Run trials for others on this machine, until stopped.
scheduler  cluster    Run a Dask scheduler on this machine, until stopped.
bench      bench      Measure speed and memory of this installation.
"""
"""Name on the command line, module of this package whose `app` has it, first line of its help."""
COMMANDS = tuple(LazyCommand(*line.split(maxsplit=2)) for line in TABLE.strip().splitlines())


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
