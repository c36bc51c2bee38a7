"""Where a run stands: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Self

from nashbed.running import Running, Snapshot, TimeLeft
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..contract.units import Rate
from .console import Lines, duration_text, say

HEAD_LINES = 3
"""The summary, the bar, and a line to spare."""
GAP = 2
"""Spaces between columns."""


class RunDisplay(AbstractContextManager["RunDisplay"]):
    """Shows snapshots of a run on standard error.

    On a terminal: a bar, the time left, and one line for each lane. Elsewhere a line whenever a
    trial ends, and now and then.
    """

    def __init__(self, time_left: TimeLeft, console: Console | None = None) -> None:
        self._time_left = time_left
        self._told = 0
        self._lines = Lines()
        console = console or Console(stderr=True)
        live = Live(console=console, auto_refresh=False, transient=True)
        self._live = live if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, snapshot: Snapshot) -> None:
        """Show the state of the run."""
        for failure in snapshot.failures[self._told :]:
            follows = "it is tried again" if failure.repeated else "it has no attempt left"
            say(f"{failure.trial} failed ({failure.where}): {failure.reason}; {follows}")
        self._told = len(snapshot.failures)
        line = summary(snapshot, self._time_left.seconds(snapshot))
        if self._live is None:
            self._lines.tell((snapshot.finished, snapshot.invalid, self._told), line)
            return
        bar = ProgressBar(total=max(1, snapshot.total), completed=snapshot.finished, width=60)
        running = sorted(snapshot.running, key=lambda r: (len(r.where), r.where))
        rows = [lane_row(each, self._time_left.measures_s(each)) for each in running]
        size = self._live.console.size
        lanes = lane_grid(rows, size.height - HEAD_LINES, size.width)
        self._live.update(Group(Text(line), bar, lanes), refresh=True)


def lane_grid(rows: list[tuple[str, str, str, str]], height: int, width: int) -> RenderableType:
    """Lanes in as many columns as they need and the terminal has; what is left is counted."""
    height = max(2, height)
    wide = max((sum(len(cell) + GAP for cell in row) for row in rows), default=1)
    columns = max(1, min(-(-len(rows) // height), width // wide))
    shown = rows if len(rows) <= columns * height else rows[: columns * (height - 1)]
    lines = -(-len(shown) // columns)
    table = Table.grid(padding=(0, GAP))
    for line in range(lines):
        beside = (shown[at] for at in range(line, len(shown), lines))
        table.add_row(*(cell for row in beside for cell in row))
    if len(shown) == len(rows):
        return table
    return Group(table, Text(f"and {len(rows) - len(shown)} more lanes"))


def lane_row(running: Running, duration_s: float) -> tuple[str, str, str, str]:
    """One lane: number, trial, step, and how far it is."""
    elapsed = time.monotonic() - running.since
    trial = running.job.trial.attempt_id(running.job.attempt)
    return running.where, trial, running.step.value, f"{elapsed:.0f}/{duration_s:.0f} s"


def summary(snapshot: Snapshot, left_s: float) -> str:
    """The run in one line."""
    parts = [
        f"{snapshot.finished}/{snapshot.total} trials done",
        f"{len(snapshot.running)} running",
    ]
    if snapshot.invalid:
        parts.append(f"{snapshot.invalid} invalid")
    if snapshot.failures:
        parts.append(f"{len(snapshot.failures)} failed")
    if snapshot.held_up:
        parts.append(f"waiting: {snapshot.held_up}")
    if snapshot.reduced:
        parts.append(
            f"departures are late: {Rate(snapshot.allowed_bps // 10**6 * 10**6)} at once for now"
        )
    if snapshot.finished < snapshot.total:
        parts.append(f"about {duration_text(left_s)} left")
    return ", ".join(parts)
