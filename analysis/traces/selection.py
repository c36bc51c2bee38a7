"""Which trial, flows and time are exported, and the rows of the trial's tables that belong to them.

Every file counts time from the same moment: `base_ns`, the whole second in which the trial began
by the clock on the wall, is the trial's t0. So the part of a time below a second is that of the
tables, to the nanosecond.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import numpy as np
import polars as pl
from nashbed.controlplane.contract.applications import UDP
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import FinishedRun
from nashbed.controlplane.store.parquet import Arrays
from nashbed.controlplane.store.sealed_trial import SealedTrial
from numpy.typing import NDArray

from ..measures import silent
from .marks import whole_marks

Progress = Callable[[str, int, int], None]
"""Takes what is being done, how many rows are done, and how many there are."""
NS_PER_S = 1_000_000_000
POSTCARD_COLUMNS = (
    "kind", "flow", "packet_bytes", "payload_bytes", "tcp_seq", "tcp_flags", "queue_bytes",
    "enqueue_ns", "dequeue_ns", "seq", "marks",
)  # fmt: skip
MOST_NAMED = 3


@dataclass(frozen=True)
class Selection:
    """What of a trial is exported.

    Attributes:
        flows: Numbers of the flows; empty: all.
        begin_ns: Only what reached the bottleneck, or was sampled, from this time after t0 on;
            None: from the beginning.
        end_ns: And before this one; None: to the end.
        progress: Is told of the postcards that have been read.
        programs: Strategies that are programs and send datagrams.
    """

    trial: SealedTrial
    flows: tuple[int, ...] = ()
    begin_ns: int | None = None
    end_ns: int | None = None
    progress: Progress = field(default=silent, compare=False)
    programs: frozenset[str] = frozenset()

    @cached_property
    def control(self) -> dict[int, str]:
        """Flow -> its congestion control, of the flows that are exported."""
        table = self.trial.arrays("flows", ["flow", "cc"])
        names = dict(zip(table["flow"].tolist(), table["cc"].tolist(), strict=True))
        missing = sorted(set(self.flows) - set(names))
        if missing:
            raise RunError(
                f"{self.trial.id}: has no flow {missing[0]}; its flows are 0 to {len(names) - 1}"
            )
        return {flow: names[flow] for flow in self.flows or sorted(names)}

    @cached_property
    def datagrams(self) -> frozenset[int]:
        """Those of the exported flows that are datagrams: no postcard says so itself."""
        sent_by = {UDP, *self.programs}
        return frozenset(flow for flow, control in self.control.items() if control in sent_by)

    @cached_property
    def base_ns(self) -> int:
        """The trial's t0 in every file: nanoseconds since 1970, a whole second."""
        started = datetime.fromisoformat(self.trial.record.started_utc)
        return int(started.timestamp()) * NS_PER_S

    @property
    def said(self) -> str:
        """The chosen time in words."""
        begin_s, end_s = ((at or 0) / NS_PER_S for at in (self.begin_ns, self.end_ns))
        lasts = f"of a trial of {self.trial.record.duration_ns / NS_PER_S:g} s"
        to = "the end" if self.end_ns is None else f"{end_s:g} s"
        return f"what is from {begin_s:g} s to {to} {lasts}"

    def name(self, flow: int) -> str:
        """A flow's name in every file."""
        return f"flow {flow} ({self.control[flow]})"

    def holds(self, t_ns: NDArray[np.int64], flow: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Say which rows are of the chosen flows and time.

        Args:
            t_ns: When each row was, after t0; shape (n,).
            flow: Its flow; shape (n,).
        """
        wanted = self.within(t_ns)
        return wanted & np.isin(flow, list(self.control)) if self.flows else wanted

    def within(self, t_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Say which times belong to the chosen time."""
        wanted = np.ones(len(t_ns), bool)
        if self.begin_ns is not None:
            wanted &= t_ns >= self.begin_ns
        if self.end_ns is not None:
            wanted &= t_ns < self.end_ns
        return wanted

    def postcards(self, what: str, columns: Sequence[str] = POSTCARD_COLUMNS) -> Iterator[Arrays]:
        """Stream the trial's postcards, all of them, in the order of the table.

        Args:
            what: What they are read for, as the progress says it.

        Raises:
            RunError: The trial has none.
        """
        self.need_postcards()
        total = int(self.trial.lazy("postcards").select(pl.len()).collect().item())
        done = 0
        self.progress(what, done, total)
        for batch in self.trial.batches("postcards", columns):
            yield whole_marks(batch)
            done += len(batch["enqueue_ns"])
            self.progress(what, done, total)

    def chosen_postcards(self, what: str) -> Iterator[Arrays]:
        """Stream the postcards of the chosen flows and time; see `postcards`."""
        for batch in self.postcards(what):
            wanted = self.holds(batch["enqueue_ns"], batch["flow"])
            if wanted.any():
                yield {name: column[wanted] for name, column in batch.items()}

    def need_postcards(self) -> None:
        """Refuse a trial without postcards.

        Raises:
            RunError: It has none.
        """
        if not self.trial.has("postcards"):
            kept = self.trial.record.postcards
            raise RunError(
                f"{self.trial.id}: has no postcards (telemetry.postcards was {kept!r}); run with "
                "`telemetry: {postcards: all}`, or export perfetto or qlog, which do without"
            )

    def samples(self) -> Arrays:
        """The samples of the chosen flows and time; empty columns where none were taken."""
        if not self.trial.has("flow_samples"):
            return {}
        table = self.trial.arrays("flow_samples")
        wanted = self.holds(table["t_ns"], table["flow"])
        return {name: column[wanted] for name, column in table.items()}


def choose_trial(run: FinishedRun, name: str | None, invalid: bool = False) -> SealedTrial:
    """The trial that is asked for.

    Args:
        name: Its name; None: the run's only valid one.

    Raises:
        RunError: There is no such trial, it is invalid or damaged, or there are several.
    """
    if name is None:
        return _only_trial(run)
    damaged = {each.id: each.problem for each in run.damaged}
    if name in damaged:
        raise RunError(damaged[name])
    found = next((trial for trial in run.trials if trial.id == name), None)
    if found is None:
        raise RunError(f"{run.path}: has no trial {name!r}; {_names(run.trials)}")
    if not found.record.valid and not invalid:
        reasons = "; ".join(found.record.invalid_reasons) or "a gate failed"
        raise RunError(f"{name}: is invalid ({reasons}); to look at it all the same: --invalid")
    return found


def _only_trial(run: FinishedRun) -> SealedTrial:
    trials = run.valid_trials
    if len(trials) != 1:
        raise RunError(f"{run.path}: name a trial with --trial; {_names(trials)}")
    return trials[0]


def _names(trials: Sequence[SealedTrial]) -> str:
    if not trials:
        return "it has none"
    more = ", ..." if len(trials) > MOST_NAMED else ""
    return f"there are {', '.join(trial.id for trial in trials[:MOST_NAMED])}{more}"


def parse_flows(text: str) -> tuple[int, ...]:
    """Read a choice of flows such as `0,3-5`.

    Raises:
        RunError: It is none.
    """
    flows: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise RunError(f"flows: {text!r} is no choice of flows; write numbers, e.g. 0,3-5")
        flows |= set(range(int(first), int(last or first) + 1))
    if not flows:
        raise RunError(f"flows: {text!r} chooses no flow; write numbers, e.g. 0,3-5")
    return tuple(sorted(flows))
