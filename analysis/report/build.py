"""Build a run's report: page, figures and machine-readable summary."""

import json
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.run_directory import REPORT
from nashbed.controlplane.store.staging import whole_folder, write_whole

from ..clock.of_run import compare_run, write_mismatches
from ..correlation import correlate_run
from ..figures.catalogue import draw_all, sketches
from ..measures import OnStep, silent
from ..results.summary import RunSummary, summarise
from ..sharing.of_run import share_run
from .answer import report_summary
from .context import Findings, page_context
from .models import models_of

FORMATS = ("html", "png", "pdf", "svg")
USUAL_FORMATS = ("html",)


def build_report(
    run_dir: Path, formats: Sequence[str] = USUAL_FORMATS, out: Path | None = None
) -> Path:
    """Build the report of a run.

    The page needs no other file and no network. It is written aside and renamed, and so is
    the folder of figures: a report is whole or the one before.

    Args:
        formats: What to write: `html` for the page, with an SVG of each figure; `png`, `pdf` and
            `svg` for the figures.
        out: Where to write; None: `report/` in the run directory.

    Returns:
        Path of the page, or of the report's folder if no page was asked for.

    Raises:
        RunError: The directory is not a readable run, cannot be written to, or a format is
            unknown.
    """
    check_formats(formats)
    return report_of(summarise(run_dir), run_dir / REPORT if out is None else out, formats)


def report_of(
    summary: RunSummary,
    folder: Path,
    formats: Sequence[str] = USUAL_FORMATS,
    on_step: OnStep = silent,
) -> Path:
    """Build the report of a run that has been measured; see `build_report`."""
    check_formats(formats)
    measures = summary.measures
    try:
        findings = Findings(
            summary,
            correlate_run(measures, on_step),
            compare_run(measures.run),
            models_of(measures),
            share_run(measures, on_step),
        )
        return _write(folder, findings, formats, on_step)
    except OSError as error:
        reason = error.strerror or error
        raise RunError(f"{folder}: cannot write the report ({reason}); make room there") from error


def check_formats(formats: Sequence[str]) -> None:
    """Raise RunError for a format that there is not."""
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown:
        raise RunError(f"report format {unknown[0]!r} is unknown; there are {', '.join(FORMATS)}")


def _write(folder: Path, findings: Findings, formats: Sequence[str], on_step: OnStep) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    suffixes = [suffix for suffix in ("svg", "png", "pdf") if suffix in formats]
    if "html" in formats and "svg" not in suffixes:
        suffixes = ["svg", *suffixes]
    wanted = sketches(findings.summary.measures, findings.summary.equilibria)
    with whole_folder(folder / "figures") as fresh:
        figures = draw_all(wanted, fresh, suffixes, on_step)
        context = page_context(findings, figures) if "html" in formats else None
    write_mismatches(findings.taps.compared, folder)
    summary = report_summary(findings).model_dump(mode="json")
    write_whole(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    if context is None:
        return folder
    page = environment().get_template("report.html.j2").render(context)
    return write_whole(folder / "index.html", page)


def environment() -> Environment:
    """Where templates of pages are, and how they are filled in."""
    loader = PackageLoader("nashbed.analysis.report", "templates")
    return Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
