"""A finished run and its trials: what was measured, as objects and as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from nashbed.analysis.measures import RunMeasures, TrialMeasures, measure_run
from nashbed.analysis.metrics.occupancy import By, flow_labels, occupancy
from nashbed.analysis.nash.answer import equilibria_answer
from nashbed.analysis.results.export import check_export, export_run, flat_tables
from nashbed.analysis.results.fairness import fairness_lines
from nashbed.analysis.results.frames import made_section, made_table
from nashbed.analysis.results.summary import RunSummary, SummaryRow, summarise
from nashbed.analysis.traces import (
    NS_PER_S,
    Progress,
    Selection,
    TrialExport,
    check_form,
    choose_trial,
    export_trial,
    parse_flows,
    silent,
)
from nashbed.controlplane.contract.errors import ConfigError, HostError
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.contract.plan import Plan
from nashbed.controlplane.contract.scenario import Scenario
from nashbed.controlplane.contract.trial import FailedAttempt, Setting, TrialRecord
from nashbed.controlplane.contract.units import Duration, counted
from nashbed.controlplane.store import finished_run
from nashbed.controlplane.store.integrity import CheckedRun, DamagedFile, check_run
from nashbed.controlplane.store.run_directory import REPORT
from nashbed.controlplane.store.sealed_trial import SealedTrial

from .steps import ShowStep, show_nothing

if TYPE_CHECKING:
    import pyarrow as pa
    from nashbed.analysis.explore.server import ExplorerServer
    from nashbed.analysis.figures.of_run import Figures
    from nashbed.analysis.nash.of_run import SettingEquilibria
    from nashbed.analysis.results.acceptance import AcceptanceResult
    from nashbed.analysis.results.compare import RunComparison
    from nashbed.analysis.results.equivalence import EquivalenceAnswer
    from nashbed.controlplane.store.finished_run import DamagedTrial

__all__ = [
    "CheckedRun",
    "DamagedFile",
    "Run",
    "RunLike",
    "Trial",
    "check_files",
    "compare",
    "equilibria_answer",
    "equivalence",
    "measures_of",
    "open_run",
]


class Trial:
    """One trial of a run.

    Args:
        sealed: What is on the disk.
        run: The run that it is of, which measures it.
    """

    def __init__(self, sealed: SealedTrial, run: Run) -> None:
        self._sealed = sealed
        self._run = run

    def __repr__(self) -> str:
        """Its name, and whether it counts."""
        return f"<Trial {self.id}{'' if self.counted else ', not counted'}>"

    @property
    def _measures(self) -> TrialMeasures | None:
        """Its metrics; None: it is not valid, or another attempt counts."""
        return self._run.measured.get(self.id)

    @property
    def id(self) -> str:
        """Its name in the run."""
        return self._sealed.id

    @property
    def path(self) -> Path:
        """Its directory."""
        return self._sealed.path

    @property
    def record(self) -> TrialRecord:
        """All that trial.json says: what was applied, the gates, marks, times."""
        return self._sealed.record

    @property
    def setting(self) -> Setting:
        """The setting that it is of."""
        return self._sealed.setting

    @property
    def mix(self) -> dict[str, int]:
        """Strategy -> flows that ran it, over all flow groups."""
        counts: dict[str, int] = {}
        for group in self.record.mix:
            for name, flows in group.counts.items():
                counts[name] = counts.get(name, 0) + flows
        return counts

    @property
    def valid(self) -> bool:
        """Whether every gate passed."""
        return self.record.valid

    @property
    def counted(self) -> bool:
        """Whether the run's numbers have it: it is valid, and its repetition's last attempt."""
        return self._measures is not None

    @property
    def settled(self) -> bool | None:
        """Whether its shares had settled; None: not known."""
        return None if self._measures is None else self._measures.settled

    @property
    def metrics(self) -> Mapping[str, float]:
        """Metric of the trial -> value in its unit (see `METRICS`); empty if not counted."""
        return {} if self._measures is None else self._measures.total

    @property
    def flows(self) -> pl.DataFrame:
        """A row for each flow: number, strategy, group, queue, and each metric, in base units.

        `queue` is the name of its queue; null where there is one.
        """
        if self._measures is None:
            return pl.DataFrame()
        measures = self._measures
        labels = flow_labels(self._sealed, self._run.scenario)
        return labels.with_columns(**measures.per_flow).fill_nan(None)

    def occupancy(
        self, every: Duration | str = "10ms", by: By | Sequence[By] = ("flow",)
    ) -> pl.DataFrame:
        """Mean bytes in the queue over time, exact, from packets or bins.

        >>> trial.occupancy("1ms", by=("queue", "flow")).to_pandas()

        Args:
            every: Length of a bin, from the start of the trial on.
            by: What has rows of its own: `queue`, `flow`, `strategy`, `group`, or several of them;
                `()`: all that is in the queue is one.

        Returns:
            Columns time_ns (beginning of the bin), those of `by`, and bytes.

        Raises:
            NotMeasuredError: The trial kept neither packets nor bins.
            ConfigError: It kept bins, of which `every` is no multiple.
        """
        names = (by,) if isinstance(by, str) else tuple(by)
        length = Duration.parse(every) if isinstance(every, str) else every
        return occupancy(self._sealed, self._run.scenario, length.ns, names)

    @property
    def postcards(self) -> pl.LazyFrame:
        """One row for each packet (times in ns, bytes); see `table`."""
        return self.table("postcards")

    def tables(self) -> tuple[str, ...]:
        """Names of its tables (store/columns.py has their columns)."""
        return tuple(sorted(path.stem for path in self.path.glob("*.parquet")))

    def table(self, name: str) -> pl.LazyFrame:
        """One of its tables, read when it is collected.

        Args:
            name: One of `tables()`.

        Raises:
            KeyError: It has no such table, for instance no postcards where bins were kept.
        """
        if name not in self.tables():
            raise KeyError(f"{self.id} has no table {name!r}; it has {', '.join(self.tables())}")
        return self._sealed.lazy(name)

    def arrow(self, name: str) -> pa.Table:
        """One of its tables in memory, as Arrow; see `table`."""
        return self.table(name).collect().to_arrow()


class Run:
    """A run directory, measured when its numbers are asked for.

    Args:
        path: The run directory.

    Raises:
        RunError: It is not a readable run.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._finished = finished_run.open_run(path)

    @cached_property
    def summary(self) -> RunSummary:
        """All that is measured of it, in the analysis's own objects."""
        return summarise(self.path)

    @cached_property
    def measured(self) -> Mapping[str, TrialMeasures]:
        """The trials that count, by name, in the analysis's own objects."""
        return {each.trial.id: each for each in self.summary.measures.trials}

    def __repr__(self) -> str:
        """Its name, and how much is in it."""
        return f"<Run {self.path.name}: {counted(len(self.trials), 'trial')}>"

    def _repr_html_(self) -> str:
        lines = (f"<p>{escape(f'{name}: {told}')}</p>" for name, told in self.headlines.items())
        return f"{escape(repr(self))}{''.join(lines)}{self.tables['mixes']._repr_html_()}"

    @property
    def scenario(self) -> Scenario:
        """What was run."""
        return self._finished.scenario

    @property
    def plan(self) -> Plan | None:
        """Every trial that was planned; None: no plan was kept."""
        return self._finished.plan

    @property
    def complete(self) -> bool:
        """Whether every planned trial was tried, as often as its scenario allows."""
        return self._finished.manifest.status == "complete"

    @property
    def settings(self) -> tuple[Setting, ...]:
        """Every setting that was planned or run."""
        return self._finished.settings

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Every readable trial, valid or not, by name."""
        return tuple(Trial(each, self) for each in self._finished.trials)

    @property
    def failures(self) -> tuple[FailedAttempt, ...]:
        """Attempts that their host or guest ended."""
        return self._finished.failures

    @property
    def damaged(self) -> Sequence[DamagedTrial]:
        """Trials that cannot be read, and so are left out."""
        return self.summary.measures.damaged

    @property
    def rows(self) -> Sequence[SummaryRow]:
        """What was measured at each setting and mix, means with intervals."""
        return self.summary.rows

    @property
    def equilibria(self) -> Sequence[SettingEquilibria]:
        """The equilibria of each setting, with their intervals and what they owe to chance."""
        return self.summary.equilibria

    @property
    def headlines(self) -> dict[str, str]:
        """Label of a setting -> its equilibrium in words; empty if the run cannot say."""
        if not self.summary.seeks_equilibria:
            return {}
        return {each.setting.label: each.summary() for each in self.equilibria}

    @property
    def fairness(self) -> list[str]:
        """Who is fair to the victim of a run that shows harm, and would be adopted; a line each."""
        return fairness_lines(self.summary.measures)

    @property
    def acceptance(self) -> Sequence[AcceptanceResult]:
        """The verdict on each acceptance bound of the scenario."""
        return self.summary.acceptance

    @property
    def without_result(self) -> str:
        """Which mixes have no valid trial, and which gate refused most; empty: none."""
        return self._finished.without_result_sentence

    @property
    def passed(self) -> bool:
        """Whether every mix has a valid trial, and every acceptance bound was met."""
        return not self.without_result and all(result.passed for result in self.acceptance)

    @cached_property
    def figures(self) -> Figures:
        """The figures of its report, by name or kind, drawn when they are asked for."""
        from nashbed.analysis.figures.of_run import Figures  # noqa: PLC0415 - slow to import

        return Figures(self.summary)

    @cached_property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """`trials`, `flows`, `mixes` and `ledger`, as `nashbed export` writes them."""
        return flat_tables(self.summary)

    def table(self, name: str) -> pl.DataFrame:
        """One of `tables`, or what is made of the run when it is asked for.

        Args:
            name: One of `tables`; or `harm`, `changes`, `completions`, `media`, `equilibria`,
                `gates`, `bounds`, `published`.

        Raises:
            RunError: There is no such table, or the run has none of it.
        """
        return self.tables[name] if name in self.tables else made_table(self.summary, name)

    def section(self, name: str, brief: bool = False) -> JsonObject:
        """One of the tables that are made when asked for, as the report and a terminal show it.

        Args:
            name: `mixes`, `harm`, `changes`, `completions`, `media`, `equilibria`, `gates`,
                `bounds` or `published`.
            brief: Only the columns that a terminal shows after a run.

        Raises:
            RunError: As `table` has it.
        """
        return made_section(self.summary, name, brief)

    def export(
        self, out: str | Path, suffix: str = "csv", raw: Sequence[str] = ()
    ) -> dict[str, int]:
        """Write `tables` into a folder.

        Args:
            out: The folder; what it holds of an earlier export is replaced.
            suffix: `csv` or `parquet`.
            raw: Also export a table, raw or made (blame, harm, changes, ...): all trials, one
                below the other.

        Returns:
            Table -> rows.

        Raises:
            RunError: A format or table is unknown, or the folder cannot be written.
        """
        folder, tables = Path(out), tuple(raw)
        check_export(folder, suffix, tables)
        return export_run(self.summary, folder, suffix, tables)

    def export_trial(  # noqa: PLR0913 - each is a part of the question
        self,
        trial: str | None,
        form: str,
        out: str | Path | None = None,
        *,
        flows: Iterable[int] | str = (),
        begin_s: float | None = None,
        end_s: float | None = None,
        invalid: bool = False,
        progress: Progress | None = None,
    ) -> TrialExport:
        """Write one trial as a file that others' tools read.

        Args:
            trial: Which trial; None: the only valid one.
            form: `perfetto`, `qlog`, `int-xd` or `pcapng`.
            out: The file, for qlog the folder; None: in `traces/` of the run directory. What is
                there of an earlier export is replaced.
            flows: Only these flows, by number: `[0, 3, 4]`, or `0,3-4`.
            begin_s: Only what reached the bottleneck, or was sampled, from then on, in seconds
                after the trial's t0.
            end_s: And before then.
            invalid: Even if the trial is invalid.
            progress: Is told what is read, and how many rows of how many; None: nobody is.

        Returns:
            What was written.

        Raises:
            RunError: There is no such trial, flow or format, the trial is invalid or lacks what
                the format needs, or the file cannot be written.
        """
        check_form(form)
        begin_ns, end_ns = (None if s is None else round(s * NS_PER_S) for s in (begin_s, end_s))
        sealed = choose_trial(self._finished, trial, invalid)
        numbers = parse_flows(flows) if isinstance(flows, str) else tuple(flows)
        datagrams = frozenset(
            name
            for name, strategy in self._finished.scenario.programs.items()
            if strategy.program is not None and strategy.program.transport == "udp"
        )
        chosen = Selection(sealed, numbers, begin_ns, end_ns, progress or silent, datagrams)
        return export_trial(self.path, form, chosen, None if out is None else Path(out))

    def report(
        self,
        out: str | Path | None = None,
        formats: Sequence[str] | None = None,
        on_step: ShowStep = show_nothing,
    ) -> Path:
        """Build the report.

        Args:
            out: Where; None: `report/` in the run directory.
            formats: html (the page, its figures as SVG), png, pdf or svg; None: html.
            on_step: Is told what is read, asked and drawn.

        Returns:
            The page.

        Raises:
            RunError: It cannot be written, or a format is unknown.
        """
        from nashbed.analysis.report import (  # noqa: PLC0415 - slow to import
            USUAL_FORMATS,
            check_formats,
            report_of,
        )

        wanted = formats or USUAL_FORMATS
        check_formats(wanted)
        folder = self.path / REPORT if out is None else Path(out)
        measure_run(self.path, on_step)  # which the summary has then
        return report_of(self.summary, folder, wanted, on_step)

    def explore(self, port: int = 0) -> ExplorerServer:
        """Serve a page on loopback that looks into the run, down to single packets.

        The page is at the `address` of what is returned once its `serve_forever` is called, here
        or in a thread, until `shutdown`. The address has a token: only who knows it gets in. From
        then on this process gives back to the system what it frees, where the C library can.

        Args:
            port: Its port; 0: any that is free.

        Raises:
            HostError: The port cannot be had.
        """
        from nashbed.analysis.explore.content import Explorer  # noqa: PLC0415 - slow to import
        from nashbed.analysis.explore.server import ExplorerServer  # noqa: PLC0415
        from nashbed.analysis.pyramid.levels import user_cache  # noqa: PLC0415
        from nashbed.controlplane.machine.process.memory import (  # noqa: PLC0415
            keep_no_freed_memory,
        )

        keep_no_freed_memory()
        explorer = Explorer(self.path.resolve(), user_cache())
        try:
            return ExplorerServer(explorer, port)
        except OSError as error:
            raise HostError(f"port {port}: {error.strerror}; give another, or 0") from error


RunLike = Run | str | Path


def measures_of(run: RunLike) -> RunMeasures:
    """A run's measures, which a `Run` may have already."""
    return run.summary.measures if isinstance(run, Run) else measure_run(Path(run))


def compare(
    first: RunLike,
    second: RunLike,
    setting: str | None = None,
    against: str | None = None,
    counterparts: Mapping[str, str] | None = None,
) -> RunComparison:
    """Say what differs between two runs, and where by more than chance.

    Args:
        first: Run directory (results/...), or an open run.
        second: Another one.
        setting: Only this setting of the first run, by its label.
        against: Compare it with this setting of the second run; None: with its like.
        counterparts: Strategy of the first run -> that of the second which stands in its place, in
            the mixes that have it; None: each has its name in both.

    Raises:
        RunError: There is no such setting or strategy, or they have none in common.
    """
    from nashbed.analysis.results.compare import compare_runs  # noqa: PLC0415 - slow to import

    runs = measures_of(first), measures_of(second)
    return compare_runs(*runs, setting, against, counterparts)


def equivalence(
    first: RunLike,
    second: RunLike,
    margin: float = 0.02,
    setting: str | None = None,
    against: str | None = None,
    counterparts: Mapping[str, str] | None = None,
) -> EquivalenceAnswer:
    """Test whether two runs measure the same shares: two one-sided tests at 95 % (TOST).

    Args:
        first: A run, or its directory.
        second: Another one.
        margin: The largest difference of a share that does not matter, between 0 and 1.
        setting: As `compare` has it.
        against: As `compare` has it.
        counterparts: As `compare` has it.

    Raises:
        RunError: As `compare` has it.
        ConfigError: The margin is not between 0 and 1.
    """
    from nashbed.analysis.results.equivalence import (  # noqa: PLC0415 - slow to import
        equivalence_of_runs,
    )

    if not 0 < margin < 1:
        raise ConfigError(f"margin: {margin:g}; write more than 0 and less than 1")
    runs = measures_of(first), measures_of(second)
    return equivalence_of_runs(*runs, margin, setting, against, counterparts)


def check_files(path: str | Path) -> CheckedRun:
    """Read every file of a run that was sealed with a digest, and say which ones are damaged.

    Args:
        path: A directory in results/.

    Raises:
        RunError: It is not a run, or its manifest is damaged.
    """
    return check_run(Path(path))


def open_run(path: str | Path) -> Run:
    """Open a run directory, finished or not, and measure it.

    Args:
        path: A directory in results/.

    Raises:
        RunError: It is not a readable run.
    """
    return Run(Path(path))
