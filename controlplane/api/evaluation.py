"""Evaluate a congestion control by a battery of experiments, in virtual time or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nashbed.controlplane.config import Loaded, parse_scenario
from nashbed.controlplane.config.load import load_battery
from nashbed.controlplane.config.strict_yaml import parse
from nashbed.controlplane.contract.battery import Battery, BatterySize, EvaluationRequest
from nashbed.controlplane.contract.c_files import SUFFIX
from nashbed.controlplane.contract.errors import (
    ConfigError,
    HostError,
    Interrupted,
    NashbedError,
    PrerequisiteError,
    did_you_mean,
)
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.scenario_checks import NEED_ECN
from nashbed.controlplane.contract.units import counted
from nashbed.controlplane.machine.c_files.finding import find_ccas, require_strategies
from nashbed.controlplane.machine.c_files.kinds import CCA
from nashbed.controlplane.machine.paths import CONFIGS
from nashbed.controlplane.run.progress import Snapshot
from nashbed.controlplane.store.documents import read_document, write_document

from .files import read_scenario, read_testbed, yaml_text
from .running import resume, start
from .steps import ShowStep, show_nothing

if TYPE_CHECKING:
    from nashbed.analysis.results.evaluation import Evaluated
    from nashbed.analysis.results.evaluations import ControlsTable, EvaluationChanges

    from .runs import Run

__all__ = ["Evaluation", "compare_evaluations", "controls_table", "evaluate", "is_evaluation"]

MANIFEST = "battery.yaml"
ABOUT = "evaluation.json"
PLATES = (".png", ".pdf", ".svg")
REMEDY = "write another folder with --out"


@dataclass(frozen=True)
class Evaluation:
    """A congestion control, evaluated.

    Attributes:
        path: The folder: a run directory for each scenario, and the pages.
        found: What was found.
    """

    path: Path
    found: Evaluated

    @property
    def page(self) -> Path:
        """The page for a browser; `evaluation.md` and `criteria.csv` beside it say the same."""
        return self.path / "index.html"

    @cached_property
    def markdown(self) -> str:
        """The page as Markdown, for a mailing list."""
        return (self.path / "evaluation.md").read_text(encoding="utf-8")


def evaluate(
    control: str,
    size: str = "default",
    battery: str | Path = "rfc9743",
    out: str | Path | None = None,
    *,
    on: str | None = None,
    private_network: bool = False,
    on_step: ShowStep = show_nothing,
) -> Evaluation:
    """Run a battery of experiments with a congestion control, and write what came out on one page.

    The same call goes on with an evaluation that was stopped. A scenario that cannot be run is a
    result of its criteria: "not measured, because"; the others go on.

    Args:
        control: Its name (`bbr3`), its C file (`mycc.c`), or the folder of a kernel module's files.
        size: `quick` (a pull request), `default`, or `full` (a night, or a cluster).
        battery: A folder with battery.yaml, or the name of one in configs/evaluations.
        out: The folder to write; None: results/BATTERY-CONTROL-SIZE.
        on: A cluster, as `start` has it.
        private_network: As `start` has it.
        on_step: Called as it goes on.

    Raises:
        ConfigError: There is no such control, battery or size, or the folder is of another one.
        HostError: This machine cannot run it.
        Interrupted: It was stopped; the same call goes on.
    """
    from nashbed.analysis.report.evaluation import draw_opening, write_pages  # noqa: PLC0415 - slow to import
    from nashbed.analysis.results.evaluation import Evaluation as Collected  # noqa: PLC0415

    asked = _asked(control, size, battery)
    usual = f"results/{asked.battery.name}-{asked.name}-{size}"
    folder = Path(usual if out is None else out)
    asked.check()
    asked.take(folder)
    collected = Collected(asked.battery, asked.name, size)
    scenarios = asked.battery.scenarios
    figures: dict[str, list[JsonObject]] = {}
    for number, name in enumerate(scenarios):
        on_step(name, number, len(scenarios))
        try:
            summary = asked.run(
                name,
                folder,
                on,
                private_network,
                lambda now, name=name, number=number: on_step(  # type: ignore[misc]
                    f"{name}: {now.finished} of {counted(now.total, 'trial')}",
                    number,
                    len(scenarios),
                ),
            ).summary
            collected.measured(name, summary)
            if name in {asked.battery.harm, *asked.battery.games}:
                figures[name] = draw_opening(summary, folder / "figures" / name)
        except Interrupted:
            raise
        except NashbedError as error:
            if isinstance(error, PrerequisiteError) and number == 0:
                raise  # this machine cannot run any of them
            collected.not_measured(name, " ".join(error.message.split()))
    found = collected.end()
    write_pages(found, folder, figures)
    return Evaluation(folder, found)


def is_evaluation(folder: str | Path) -> bool:
    """Whether a folder is an evaluation's."""
    return (Path(folder) / ABOUT).is_file()


def compare_evaluations(first: str | Path, second: str | Path) -> EvaluationChanges:
    """Say what differs between two evaluations of one battery, reading by reading.

    Args:
        first: The folder of an evaluation.
        second: Another one's.

    Raises:
        RunError: One has not ended, or they are of two batteries.
    """
    from nashbed.analysis.results.evaluations import (  # noqa: PLC0415 - slow to import
        compare_evaluations,
    )

    return compare_evaluations(Path(first), Path(second))


def controls_table(folders: Sequence[str | Path], out: Sequence[str | Path] = ()) -> ControlsTable:
    """Lay evaluations of one battery side by side: rows are readings, columns controls.

    Args:
        folders: Folders of evaluations (`nashbed cc evaluate`), of one battery and size.
        out: Files to write: .csv for the table, .png, .pdf or .svg for a plate.

    Raises:
        ConfigError: A file's ending says no format.
        RunError: One has not ended, or two are of one control, of two batteries or of two sizes.
    """
    from nashbed.analysis.report.evaluation import write_controls  # noqa: PLC0415 - slow to import
    from nashbed.analysis.results.evaluations import (  # noqa: PLC0415 - slow to import
        controls_table,
    )

    files = [Path(each) for each in out]
    if unknown := [file for file in files if file.suffix not in {".csv", *PLATES}]:
        raise ConfigError(f"{unknown[0]}: write a name that ends in .csv or {', '.join(PLATES)}")
    table = controls_table([Path(folder) for folder in folders])
    write_controls(table, files)
    return table


@dataclass(frozen=True)
class _Asked:
    """What is evaluated, by what.

    Attributes:
        battery: The battery.
        folder: Where its scenarios are.
        size: How long it is.
        written: The control as a scenario names it.
        name: Its name.
        digest: Of its files; empty: it comes with nashbed or the kernel.
    """

    battery: Battery
    folder: Path
    size: BatterySize
    written: str
    name: str
    digest: str

    def check(self) -> None:
        """Refuse a control that there is not; raises ConfigError."""
        loaded, testbed = self._scenario(self.battery.scenarios[0]), read_testbed(None)
        require_strategies(loaded, testbed.model, find_ccas(loaded, testbed))

    def take(self, folder: Path) -> None:
        """Make the folder, or go on in one that is of the same evaluation."""
        asked = EvaluationRequest(
            battery=self.battery, size=self.size, control=self.name, digest=self.digest
        )
        file = folder / ABOUT
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HostError(f"{folder}: cannot be made: {error.strerror}") from error
        if not file.exists():
            write_document(file, asked)
        elif read_document(file, EvaluationRequest, REMEDY) != asked:
            raise ConfigError(
                f"{folder}: is an evaluation of another control, or of other bytes, size or "
                f"battery; {REMEDY}"
            )

    def run(
        self,
        scenario: str,
        folder: Path,
        on: str | None,
        private_network: bool,
        on_progress: Callable[[Snapshot], None],
    ) -> Run:
        """Run a scenario, or go on with it. One that has ended is not run again.

        A control that ends its guests, trial after trial, ends the run: what the others were
        measured to do until then counts.
        """
        from .runs import open_run  # noqa: PLC0415 - slow to import

        loaded = self._scenario(scenario)
        for begun in sorted(folder.glob(f"*-{loaded.model.name}"), reverse=True):
            kept = begun / "scenario.yaml"
            if kept.is_file() and kept.read_text(encoding="utf-8") == loaded.text:
                if (ended := open_run(begun)).complete:
                    return ended
                running = resume(begun, on=on, private_network=private_network)
                break
        else:
            running = start(loaded, None, folder, on=on, private_network=private_network)
        with running:
            try:
                running.watch(on_progress)
            except HostError:
                if not (ended := open_run(running.path)).trials:
                    raise
                return ended
        return open_run(running.path)

    def _scenario(self, scenario: str) -> Loaded[Scenario]:
        """A scenario of the battery with the control in its place."""
        from nashbed.analysis.results.evaluation import placed  # noqa: PLC0415 - slow to import

        file = self.folder / f"{scenario}.yaml"
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
        raw = parse(text, str(file)).data
        data = placed(raw, self.battery.subject, self.name)
        strategies = data["strategies"]
        if len(strategies) == 1 < len(raw["strategies"]):
            raise ConfigError(f"{self.name} is held against itself here")
        data["strategies"] = [self.written if s == self.name else s for s in strategies]
        hosts = data.get("hosts", {})
        if self.name in NEED_ECN and self.name not in hosts.get("ecn", ()):
            data["hosts"] = hosts | {"ecn": [*hosts.get("ecn", ()), self.name]}
        # Against references the difference of two controls is a mean over pairs of one seed.
        paired = {"paired_seeds": True} if self.battery.references else {}
        changes = paired | {"trials": self.size.trials} | self.size.changes.get(scenario, {})
        return read_scenario(parse_scenario(yaml_text(data), str(file)), changes)


def _asked(control: str, size: str, battery: str | Path) -> _Asked:
    shipped = CONFIGS / "evaluations"
    folder = Path(battery) if Path(battery).is_dir() else shipped / str(battery)
    if not (folder / MANIFEST).is_file():
        names = [each.parent.name for each in shipped.glob(f"*/{MANIFEST}")]
        hint = did_you_mean(str(battery), names)
        raise ConfigError(f"{battery}: no such battery; {hint}there are {', '.join(names)}")
    manifest = load_battery(folder / MANIFEST).model
    if size not in manifest.sizes:
        hint = did_you_mean(size, manifest.sizes)
        raise ConfigError(f"size {size}: {hint}write one of {', '.join(manifest.sizes)}")
    if not (control.endswith(SUFFIX) or Path(control).is_dir()):
        return _Asked(manifest, folder, manifest.sizes[size], control, control, "")
    cca = CCA.read(Path(control))
    written = f"{cca.source.resolve()}{'/' * cca.source.is_dir()}"
    return _Asked(manifest, folder, manifest.sizes[size], written, cca.name, cca.digest)
