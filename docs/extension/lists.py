"""Metrics, targets and exit codes."""

from __future__ import annotations

from markdown import code, table
from nashbed.analysis.metrics import METRICS
from nashbed.controlplane.cli.targets import EVIDENCE_COLUMNS, capability_rows, evidence_cells
from nashbed.controlplane.contract.errors import EXIT_CODES
from nashbed.testbeds import EVIDENCE
from nashbed.testbeds import targets as shipped_targets


def metrics() -> str:
    """A section for each metric that nashbed ships."""
    scopes = {"flow": "each flow", "trial": "the trial"}
    sections = [
        f"## {metric.name}\n\n{metric.title}: {metric.definition}\n\n"
        + table(
            ("unit", "a value for", "source"),
            [(code(metric.unit), scopes[metric.scope], metric.source)],
        )
        for metric in METRICS.values()
    ]
    return "\n\n".join(sections)


def targets() -> str:
    """What each target can do, a column for each target."""
    (what, *names), *rows = capability_rows(shipped_targets())
    return table((what, *map(code, names)), rows)


def evidence() -> str:
    """What each claim has met."""
    return table(EVIDENCE_COLUMNS, map(evidence_cells, EVIDENCE))


def exit_codes() -> str:
    """What each code says."""
    return table(("code", "meaning"), [(code(each.code), each.meaning) for each in EXIT_CODES])
