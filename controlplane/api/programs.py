"""Programs as strategies: those that nashbed knows how to start, and your own.

>>> import nashbed as nb
>>> nb.programs.new("mine")
>>> nb.programs.check("mine.yaml").paths
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nashbed.controlplane.config.programs import (
    SHIPPED,
    find_program,
    program_names,
    read_program,
)
from nashbed.controlplane.contract.errors import ConfigError, NashbedError
from nashbed.controlplane.contract.program import PLACES
from nashbed.controlplane.machine.process.flow_programs import version_of, versions
from nashbed.controlplane.store.staging import scratch_folder

from .files import write_template
from .steps import ShowStep, show_nothing

if TYPE_CHECKING:
    from nashbed.analysis.measures import TrialMeasures

TEMPLATE = SHIPPED / "template" / "mine.yaml"
RATES = ("5mbit", "20mbit", "50mbit")
"""Of the paths that a program is tried on; 40 ms, 1 BDP of drop-tail buffer."""
STEPS = 2

__all__ = [
    "PLACES",
    "TEMPLATE",
    "ProgramPath",
    "ProgramVerdict",
    "ShippedProgram",
    "check",
    "new",
    "shipped",
]


@dataclass(frozen=True)
class ShippedProgram:
    """A program that nashbed knows how to start.

    Attributes:
        name: What a scenario writes: `{program: NAME}`.
        title: What it is.
        here: Empty: it can run here; else why not.
    """

    name: str
    title: str
    here: str


@dataclass(frozen=True)
class ProgramPath:
    """What one flow of a program reached, alone on a path.

    Attributes:
        rate_bps: Rate of the path.
        link_share: Share of the link that it used after the warm-up.
        queue_ms: Mean queueing delay.
        loss: Share of its packets that were dropped.
    """

    rate_bps: int
    link_share: float
    queue_ms: float
    loss: float


@dataclass(frozen=True)
class ProgramVerdict:
    """What is known of a program after it was tried.

    Attributes:
        name: Its strategy's name.
        title: What it is.
        version: What it says of its version; empty: nothing.
        paths: What it reached.
        differences: Where the same trial, run twice, parts; empty: it is equal to the bit.
    """

    name: str
    title: str
    version: str
    paths: tuple[ProgramPath, ...]
    differences: tuple[str, ...]


def shipped() -> tuple[ShippedProgram, ...]:
    """The programs of configs/programs, by congestion control, and whether they can run here."""
    return tuple(_shipped(name) for name in program_names())


def _shipped(name: str) -> ShippedProgram:
    program = read_program(find_program(name, SHIPPED))
    try:
        version_of(program)
    except NashbedError as error:
        return ShippedProgram(name, program.title, error.message)
    return ShippedProgram(name, program.title, "")


def new(name: str, folder: str | Path = ".") -> Path:
    """Write the file of a program that is a strategy, with every key explained, to be changed.

    Args:
        name: The strategy's name, at most 15 of a-z, 0-9, - and _.
        folder: Where NAME.yaml is written.

    Returns:
        The file.

    Raises:
        ConfigError: There is such a file.
    """
    return write_template(TEMPLATE, Path(f"{name}.yaml"), Path(folder))


def check(source: str | Path, on_step: ShowStep = show_nothing) -> ProgramVerdict:
    """Run one flow of a program alone on three paths in virtual time, and one of them twice.

    Args:
        source: Its file, or the name of one of configs/programs.
        on_step: Called as it goes on: what is done, steps done, steps in all.

    Raises:
        ConfigError: There is no such file, or it is wrong.
        NashbedError: It cannot run here, or fails: why.
    """
    from .running import run, verify  # noqa: PLC0415 - slow to import

    written = Path(source)
    path = find_program(str(source), Path()).resolve()
    strategy = {"program": str(path.with_name(written.name))}
    with scratch_folder("program") as folder:
        on_step(f"running {written.stem} alone", 0, STEPS)
        done = run(_scenario(strategy), "virtual", folder)
        if not done.measured:
            raise ConfigError(f"{written.stem}: no trial was valid; see `nashbed run`")
        on_step(f"running {written.stem} again", 1, STEPS)
        with verify(done.path, count=1) as again:
            [repeated] = again.finish().trials
        version = versions(done.scenario)[written.stem]
    on_step(f"running {written.stem}", STEPS, STEPS)
    return ProgramVerdict(
        written.stem,
        read_program(path).title,
        version,
        tuple(_reached(each, written.stem) for each in done.measured.values()),
        tuple(map(str, repeated.differences)),
    )


def _scenario(strategy: dict[str, str]) -> dict[str, object]:
    return {
        "name": "check",
        "title": "One flow of a program alone",
        "bottleneck": {"rate": RATES[0], "buffer": "1bdp"},
        "flows": [{"name": "main", "count": 1, "base_rtt": "40ms"}],
        "strategies": ["cubic", strategy],
        "duration": "15s",
        "warmup": "5s",
        "trials": 1,
        "max_attempts": 1,
        "sweep": {"rate": RATES, "mixes": [1]},
    }


def _reached(measured: TrialMeasures, name: str) -> ProgramPath:
    def got(metric: str) -> float:
        return measured.value(metric, name)

    return ProgramPath(
        rate_bps=measured.trial.setting.rate_bps,
        link_share=got("utilisation"),
        queue_ms=got("mean_queueing_delay") * 1e3,
        loss=got("loss_rate"),
    )
