"""`nashbed run` and `nashbed resume`: carry a run out with a display, then show its results."""

from __future__ import annotations

from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from .api_command import Call, command
from .console import say, step_display
from .options import Answer, app
from .progress import RunDisplay
from .result_text import result_text, run_answer

if TYPE_CHECKING:
    from nashbed.running import RunInProgress


REPORTS = "nashbed.analysis.report"
"""What takes seconds to import."""

EXAMPLES = """Examples: nashbed run configs/scenarios/quickstart.yaml --out results;
nashbed run next.yaml --wait;
nashbed run sweep.yaml --on local:4"""


@command(app, "running.start", examples=EXAMPLES)
def run(start: Call, no_report: bool = False) -> Answer:
    """Run every trial of a scenario, and show the results.

    One run at a time: with --wait it begins when the others have ended. Runs in virtual time
    exclude nobody. With --on the trials run on a cluster: in virtual time, or, with a --testbed in
    real time, on those of its workers that are testbeds.

    Args:
        no_report: Do not build the report page.
    """
    return _finish(start(), no_report)


@command(
    app,
    "running.resume",
    examples="Example: nashbed resume results/20260101T120000Z-quickstart",
)
def resume(resume: Call, no_report: bool = False) -> Answer:
    """Finish a run that was stopped or killed.

    Args:
        no_report: Do not build the report page.
    """
    return _finish(resume(), no_report)


def carry_out(running: RunInProgress) -> None:
    """Run to the end with a display on standard error.

    Raises:
        NashbedError: What ended it early; the display has said how to go on.
    """
    display = RunDisplay(running.time_left)
    say(f"run directory: {running.path}")
    for line in running.remarks:
        say(line)
    try:
        with display:
            running.watch(display.show)
    except BaseException:
        say(f"finished trials are kept; to continue: nashbed resume {running.path}")
        raise


def _finish(running: RunInProgress, no_report: bool) -> Answer:
    """Run all jobs, then show the results."""
    with running:  # also where it is stopped before its first step
        if running.plan.isolated and not no_report:
            # Guests bear what computes beside them: what a report imports is there when they end.
            Thread(target=import_module, args=(REPORTS,), daemon=True).start()
        carry_out(running)
        say("measuring the trials")
        finished = running.finish()
    with step_display() as show:
        report = None if no_report else finished.report(on_step=show)
    said = run_answer(finished, report)
    return Answer(said, lambda: result_text(finished, report), said.exit_code)
