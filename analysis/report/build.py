"""Build a run's report: page, figures and machine-readable summary."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from nashbed.controlplane.store.errors import RunError

from ..clock.of_run import compare_run, write_mismatches
from ..correlation import correlate_run
from ..figures.catalogue import draw_all
from ..measures import measure_run
from ..nash.of_run import equilibria_of_measures
from ..results.acceptance import check_measures
from .context import Findings, page_context

FORMATS = ("html", "png", "pdf", "svg")


def build_report(
    run_dir: Path, formats: Sequence[str] = ("html", "png", "pdf"), out: Path | None = None
) -> Path:
    """Build the report of a run.

    The page needs no other file and no network. It is written aside and renamed, and so is
    the folder of figures: a report is whole or the one before.

    Args:
        run_dir: A run directory.
        formats: What to write: `html` for the page, `png`, `pdf` and `svg` for the figures.
        out: Where to write; None: `report/` in the run directory.

    Returns:
        Path of the page, or of the report's folder if no page was asked for.

    Raises:
        RunError: The directory is not a readable run, cannot be written to, or a format is
            unknown.
    """
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown:
        raise RunError(f"report format {unknown[0]!r} is unknown; there are {', '.join(FORMATS)}")
    measures = measure_run(run_dir)
    equilibria = equilibria_of_measures(measures)
    acceptance = check_measures(measures, equilibria)
    folder = run_dir / "report" if out is None else out
    try:
        taps = compare_run(measures.run)
        findings = Findings(measures, equilibria, acceptance, correlate_run(measures), taps)
        return _write(folder, findings, formats)
    except OSError as error:
        reason = error.strerror or error
        raise RunError(f"{folder}: cannot write the report ({reason}); make room there") from error


def _write(folder: Path, findings: Findings, formats: Sequence[str]) -> Path:
    fresh = folder / ".figures.tmp"
    shutil.rmtree(fresh, ignore_errors=True)
    suffixes = [suffix for suffix in ("svg", "png", "pdf") if suffix in formats]
    drawn_as = ["svg", *suffixes] if "html" in formats and "svg" not in suffixes else suffixes
    figures = draw_all(
        findings.measures,
        findings.equilibria,
        findings.correlation,
        fresh,
        drawn_as,
        findings.taps.compared,
    )
    context = page_context(findings, figures) if "html" in formats else None
    for path in fresh.glob("*.svg") if "svg" not in suffixes else ():
        path.unlink()
    shutil.rmtree(folder / "figures", ignore_errors=True)
    fresh.rename(folder / "figures")
    write_mismatches(findings.taps.compared, folder)
    _write_aside(folder / "summary.json", json.dumps(findings.to_dict(), indent=1) + "\n")
    if context is None:
        return folder
    page = _environment().get_template("report.html.j2").render(context)
    return _write_aside(folder / "index.html", page)


def _environment() -> Environment:
    loader = PackageLoader("nashbed.analysis.report", "templates")
    return Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _write_aside(path: Path, text: str) -> Path:
    aside = path.with_name(f".{path.name}.tmp")
    aside.write_text(text, encoding="utf-8")
    return aside.replace(path)
