"""Metrics, targets and exit codes."""

from __future__ import annotations

from markdown import code, table
from nashbed.analysis.metrics import METRICS
from nashbed.controlplane.cli.targets import capability_table, evidence_table
from nashbed.controlplane.contract.errors import EXIT_CODES
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
    head, _, *rows = (
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in capability_table(shipped_targets()).splitlines()
    )
    columns = [list(column) for column in zip(head, *rows, strict=True)]
    return table(columns[0], columns[1:])


def evidence() -> str:
    """What each claim has met."""
    return evidence_table()


def exit_codes() -> str:
    """What each code says."""
    return table(("code", "meaning"), [(code(each.code), each.meaning) for each in EXIT_CODES])
