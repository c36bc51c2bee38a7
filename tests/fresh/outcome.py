"""What a command in a bare machine came to: read from its log, kept, and shown as a table."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

BEGIN, END = "<!-- fresh: `make fresh` writes this -->", "<!-- end of fresh -->"
CLOSING = re.compile(
    r"^=*\s*((?:\d+ [a-z]+, )*\d+ [a-z]+) in [\d.]+s(?: \([\d:]+\))? *=*$", re.MULTILINE
)
"""pytest's last line, such as "= 3 passed, 1 skipped in 2.10s =", with -q without the signs."""
SKIPPED = re.compile(r"^SKIPPED \[(\d+)\] \S+?:(?:\d+:)? (.+)$", re.MULTILINE)
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S.*)$", re.MULTILINE)
COLUMNS = (
    "root", "command", "as", "commit", "on", "minutes", "of CPU", "passed", "failed",
    "skipped, by reason",
)  # fmt: skip


@dataclass(frozen=True)
class PytestCounts:
    """What pytest counted, summed over its sessions in a log.

    Attributes:
        failed: Those that failed, and errors outside of tests.
        skipped: How many were skipped, by reason.
        names: What failed, with pytest's words.
        sessions: How many closed; none: no test was run.
    """

    passed: int
    failed: int
    skipped: dict[str, int]
    names: list[str]
    sessions: int


def counted_tests(log: str) -> PytestCounts:
    """Read pytest's own summaries."""
    total: Counter[str] = Counter()
    closings = CLOSING.findall(log)
    for closing in closings:
        for part in closing.split(", "):
            number, what = part.split()
            total[what] += int(number)
    reasons: Counter[str] = Counter()
    for number, reason in SKIPPED.findall(log):
        reasons[reason.strip()] += int(number)
    untold = total["skipped"] - reasons.total()
    if untold > 0:
        reasons["without a reason"] += untold
    return PytestCounts(
        passed=total["passed"],
        failed=total["failed"] + total["errors"] + total["error"],
        skipped=dict(reasons.most_common()),
        names=FAILED.findall(log),
        sessions=len(closings),
    )


def trials(results: Path) -> tuple[int, int]:
    """How many attempts below a folder of run directories are valid, and how many are not."""
    valid = [
        bool(json.loads(path.read_text())["valid"])
        for path in results.glob("*/trials/*/trial.json")
    ]
    return sum(valid), len(valid) - sum(valid)


def digests(results: Path) -> dict[str, str]:
    """The digest of each valid trial below a folder of run directories, by the trial's name."""
    records = {
        path.parent.name: json.loads(path.read_text())
        for path in sorted(results.glob("*/trials/*/trial.json"))
    }
    return {name: record["digests"]["trial"] for name, record in records.items() if record["valid"]}


@dataclass(frozen=True)
class Outcome:
    """A line of the table.

    Attributes:
        root: Debian's suite.
        commit: Of the clone.
        on: When, a date.
        code: Its exit code; None: it was stopped at its time limit.
        what: What `passed` counts, "tests" or "trials".
        skipped: How many were skipped, by reason; of trials, how many were invalid.
        parts: Seconds of each command, where there are several.
    """

    root: str
    command: str
    user: str
    commit: str
    on: str
    seconds: float
    code: int | None
    what: str = "tests"
    passed: int = 0
    failed: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    parts: dict[str, float] = field(default_factory=dict)
    processor_s: float = 0.0

    @property
    def good(self) -> bool:
        """Whether nothing failed, and something was done."""
        return self.code == 0 and self.failed == 0 and self.passed > 0

    def row(self) -> list[str]:
        """The cells but for the reasons."""
        return [
            self.root, self.command, self.user, self.commit[:7], self.on,
            f"{self.seconds / 60:.1f}", f"{self.processor_s / 60:.1f}",
            f"{self.passed:,} {self.what}", self._failure(),
        ]  # fmt: skip

    def _failure(self) -> str:
        if self.code is None:
            return f"{self.failed}; stopped at its time limit"
        return str(self.failed) if self.good or self.failed else f"exit code {self.code}"

    def save(self, path: Path) -> None:
        """Keep it, so that a later run need not do it again."""
        path.write_text(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, path: Path) -> Outcome:
        return cls(**json.loads(path.read_text()))


def reasons(outcome: Outcome) -> list[str]:
    """How many were skipped for each reason, most first."""
    return [f"{number}: {reason}" for reason, number in outcome.skipped.items()]


def parts(outcome: Outcome) -> list[str]:
    """How long each command took."""
    return [f"{seconds:.0f} s: {command}" for command, seconds in outcome.parts.items()]


def text_table(outcomes: Sequence[Outcome]) -> str:
    """The table for a terminal: a line each, reasons and failures below it."""
    rows = [list(COLUMNS[:-1]), *(outcome.row() for outcome in outcomes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    shown = [lines[0]]
    for line, outcome in zip(lines[1:], outcomes, strict=True):
        shown.append(line)
        shown += [f"    failed: {name}" for name in outcome.names]
        shown += [f"    skipped: {reason}" for reason in reasons(outcome)]
        shown += [f"    {part}" for part in parts(outcome)]
    return "\n".join(shown)


def markdown_table(outcomes: Sequence[Outcome], facts: Mapping[str, str]) -> str:
    """The table for a README, with the machine that it was measured on."""
    told = "; ".join(f"{name} {value}" for name, value in facts.items())
    rows = [list(COLUMNS), ["---"] * len(COLUMNS)]
    rows += [[*_marked(outcome), _cell(reasons(outcome) + parts(outcome))] for outcome in outcomes]
    return "\n".join([f"Measured: {told}.", "", *(f"| {' | '.join(row)} |" for row in rows)])


def _marked(outcome: Outcome) -> list[str]:
    row = outcome.row()
    row[1] = f"`{row[1]}`"
    row[-1] = _cell([row[-1], *(f"`{name}`" for name in outcome.names)])
    return row


def _cell(lines: Sequence[str]) -> str:
    return "<br>".join(line.replace("|", "\\|") for line in lines)


def around_table(path: Path) -> tuple[str, str]:
    """What stands before and after the markers of a file; raises ValueError where it has none."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    before, begin, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{path}: has no lines {BEGIN!r} and {END!r}")
    return before, after


def write_into(path: Path, table: str) -> None:
    """Replace the table between the markers of a file; raises ValueError where it has none."""
    before, after = around_table(path)
    path.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")
