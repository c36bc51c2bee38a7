"""The results of a run as a table, with a line for each acceptance bound."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SerializeAsAny

from ..contract.errors import EXIT_ACCEPTANCE, EXIT_OK
from ..contract.harm import HarmMixes
from ..contract.model import ContractModel, JsonAnswer
from ..contract.trial import FailedAttempt
from ..contract.units import counted
from .console import section_text

if TYPE_CHECKING:
    from nashbed.analysis.nash.of_run import SettingEquilibria
    from nashbed.analysis.results.acceptance import AcceptanceResult
    from nashbed.runs import Run

    from ..store.finished_run import DamagedTrial

VERDICTS = {"met": "met   ", "missed": "MISSED", "undecided": "UNDECIDED"}


class RunAnswer(JsonAnswer):
    """What `nashbed run` and `resume` answer. Rows, bounds and testbeds are those of summary.json.

    Attributes:
        ok: Whether every mix has a valid trial, and every acceptance bound was met.
        run_dir: The run directory.
        exit_code: The exit code of the command.
        rows: One for each setting and mix.
        headlines: Label of a setting -> its equilibrium in words.
        acceptance: The verdict on each acceptance bound.
        without_result: Which mixes have no valid trial, and which gate refused most; empty: none.
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
    without_result: str
    failed_attempts: tuple[FailedAttempt, ...]
    testbeds: SerializeAsAny[ContractModel] | None
    report: str | None


def run_answer(run: Run, report: Path | None) -> RunAnswer:
    """What is said of a run in JSON.

    Args:
        report: The report page; None: it was not built.
    """
    testbeds = run.summary.testbeds
    return RunAnswer(
        ok=run.passed,
        run_dir=str(run.path),
        exit_code=EXIT_OK if run.passed else EXIT_ACCEPTANCE,
        rows=tuple(run.rows),
        headlines=run.headlines,
        acceptance=tuple(run.acceptance),
        without_result=run.without_result,
        failed_attempts=run.failures,
        testbeds=testbeds.answer() if testbeds else None,
        report=str(report) if report else None,
    )


def result_text(results: Run, report: Path | None) -> str:
    """The results as a person reads them.

    Args:
        report: The report page; None: it was not built.
    """
    text = section_text(
        results.section("mixes", brief=True) | {"title": results.scenario.title, "note": ""}
    )
    if results.summary.seeks_equilibria:
        text += f"nearly: nobody gains more than {results.scenario.equilibrium.epsilon} of the "
        text += "fair share by switching\n"
    if any(row.trials_unsettled for row in results.rows):
        text += "~ trials whose throughput had not settled in the measured window: run longer\n"
    if any(e and e.points for row in results.rows for e in row.per_flow_throughput.values()):
        text += "(x, y) the values of two trials, or of three, which make no interval: run five\n"
    if any(row.trials_marked for row in results.rows):
        text += "! trials with a mark: the report says what a reader should know of them\n"
    if results.summary.seeks_equilibria and results.summary.equilibria:
        lines = [line for each in results.summary.equilibria for line in headline_lines(each)]
        text += "equilibrium\n" + "".join(f"  {line}\n" for line in lines)
    if isinstance(results.scenario.sweep.mixes, HarmMixes):
        text += "".join(f"{line}\n" for line in results.fairness)
    text += "".join(f"{bound_line(bound)}\n" for bound in results.acceptance)
    if results.summary.testbeds is not None:
        text += f"{results.summary.testbeds.sentence()}\n"
    text += f"NO RESULT: {results.without_result}\n" if results.without_result else ""
    text += failures_text(results)
    text += left_out_text(results.damaged)
    if report is not None:
        text += f"report: {report}\n"
    return text + f"run directory: {results.path}\n"


def headline_lines(setting: SettingEquilibria) -> list[str]:
    """The equilibrium of a setting, and beneath it a line for each further fact."""
    headline = setting.headline()
    if setting.lists_pairs:
        places = [f"  {pair.text()}" for pair in setting.pairs]
        return [f"{setting.setting.label}:", *places, *(f"  {fact}" for fact in headline.facts())]
    return [f"{setting.setting.label}: {headline.claim}", *(f"  {f}" for f in headline.facts())]


def left_out_text(damaged: Sequence[DamagedTrial]) -> str:
    """How many trials could not be read, and why the first could not; empty: none."""
    if not damaged:
        return ""
    return f"left out: {counted(len(damaged), 'trial')}; {damaged[0].id}: {damaged[0].problem}\n"


def failures_text(results: Run) -> str:
    """How many attempts failed, what that costs, and why the last one did; empty: none."""
    if not results.failures:
        return ""
    last = results.failures[-1]
    sentence = results.summary.measures.run.failures_sentence
    return f"{sentence}\nthe last that failed: {last.trial}: {last.reason}\n"


def bound_line(bound: AcceptanceResult) -> str:
    """One bound: its verdict, what was measured and what is allowed."""
    verdict = VERDICTS[bound.verdict]
    value = "not measured" if bound.value is None else f"{bound.value:.4g} {bound.unit}"
    said = f"{verdict} {bound.setting}: {bound.description}: {value.rstrip()}"
    interval = bound.open_to and f", {bound.open_to}"
    return f"{said}{interval} (allowed {bound.allowed})"
