"""The results of a finished run: measured once, for the command line and for the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SerializeAsAny

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from ..contract.model import ContractModel, JsonAnswer
from ..contract.scenario import Scenario
from ..contract.trial import FailedAttempt

if TYPE_CHECKING:
    from nashbed.analysis.results.acceptance import AcceptanceResult
    from nashbed.analysis.results.summary import RunSummary, SummaryRow


class RunAnswer(JsonAnswer):
    """What `nashbed run` and `resume` answer. Rows, bounds and testbeds are those of summary.json.

    Attributes:
        ok: Whether every acceptance bound was met.
        run_dir: The run directory.
        exit_code: The exit code of the command.
        rows: One for each setting and mix.
        headlines: Label of a setting -> its equilibrium in words.
        acceptance: The verdict on each acceptance bound.
        failed_attempts: Attempts that their host or guest ended.
        testbeds: How testbeds of one run agree; null: it had one.
        report: The report page; null: it was not built.
    """

    ok: bool
    run_dir: str
    exit_code: int
    rows: tuple[SerializeAsAny[ContractModel], ...]
    headlines: dict[str, str]
    acceptance: tuple[SerializeAsAny[ContractModel], ...]
    failed_attempts: tuple[FailedAttempt, ...]
    testbeds: SerializeAsAny[ContractModel] | None
    report: str | None


@dataclass(frozen=True)
class RunResults:
    """What a finished run has measured.

    Attributes:
        run_dir: The run directory.
        summary: Its rows and the verdicts on its acceptance bounds.
        report: The report page; None: it was not built.
    """

    run_dir: Path
    summary: RunSummary
    report: Path | None

    @property
    def scenario(self) -> Scenario:
        """The scenario that was run."""
        return self.summary.measures.run.scenario

    @property
    def rows(self) -> list[SummaryRow]:
        """One row for each setting and mix."""
        return self.summary.rows

    @property
    def headlines(self) -> dict[str, str]:
        """Label of a setting -> its equilibrium in words; empty if the run cannot say."""
        if not self.summary.seeks_equilibria:
            return {}
        return {each.setting.label: each.summary() for each in self.summary.equilibria}

    @property
    def acceptance(self) -> list[AcceptanceResult]:
        """The verdict on each acceptance bound."""
        return self.summary.acceptance

    @property
    def failures(self) -> tuple[FailedAttempt, ...]:
        """The attempts that their host or guest ended."""
        return self.summary.measures.run.failures

    @property
    def passed(self) -> bool:
        """Whether every acceptance bound was met."""
        return all(result.passed for result in self.acceptance)

    @property
    def exit_code(self) -> int:
        """The exit code of the command that ran it."""
        return EXIT_OK if self.passed else EXIT_ACCEPTANCE

    def answer(self) -> RunAnswer:
        """What is said of it in JSON."""
        testbeds = self.summary.testbeds
        return RunAnswer(
            ok=self.passed,
            run_dir=str(self.run_dir),
            exit_code=self.exit_code,
            rows=tuple(self.rows),
            headlines=self.headlines,
            acceptance=tuple(self.acceptance),
            failed_attempts=self.failures,
            testbeds=testbeds and testbeds.answer(),
            report=str(self.report) if self.report else None,
        )


def results_of_run(run_dir: Path, with_report: bool) -> RunResults:
    """Measure a finished run, and build its report from the same measures.

    Args:
        run_dir: The run directory.
        with_report: Whether to build the report.

    Raises:
        RunError: The directory is not a readable run, or the report cannot be written.
    """
    from nashbed.analysis.results.summary import summarise  # noqa: PLC0415 - slow to import

    summary = summarise(run_dir)
    return RunResults(run_dir, summary, _report(run_dir, summary) if with_report else None)


def _report(run_dir: Path, summary: RunSummary) -> Path:
    from nashbed.analysis.report import report_of  # noqa: PLC0415 - slow to import

    return report_of(summary, run_dir / "report")
