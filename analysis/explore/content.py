"""What the explorer's page asks for, as bytes: of a run, of its trials, and of parts of them."""

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from nashbed.controlplane.contract.model import JsonObject
from nashbed.controlplane.store.errors import RunError
from nashbed.controlplane.store.finished_run import FinishedRun, open_run
from nashbed.controlplane.store.sealed_trial import SealedTrial, open_trial
from numpy.typing import NDArray

from ..pyramid.levels import make_pyramid, open_pyramid
from ..pyramid.view import TrialQueue, queue_of
from .overview import run_overview, trial_facts
from .samples import SERIES, STATES, Samples, read_samples

MOST_PIXELS = 4000
KEPT_TRIALS = 4
"""Trials whose samples and footers stay in memory."""
SHOWN = ("occupancy_byte_ns", "departed_bytes", "dropped_packets", "marked_packets")
"""Sums of bins that the page draws."""
COUNTED = ("departed_packets", "dropped_packets")
"""Sums of bins that tell it how many packets are in view."""
KINDS = {"t_ns": "<f8", "state": "i1", "epoch": "<i4"}
"""Kinds of the arrays that are no 32-bit floats."""
T = TypeVar("T")


class BadQueryError(Exception):
    """The page asked for something that there is not."""


@dataclass
class Building:
    """A pyramid that is being built.

    Attributes:
        done: Packets read.
        total: Packets in all.
        problem: Why it failed; empty: it has not.
    """

    thread: threading.Thread | None = None
    done: int = 0
    total: int = 0
    problem: str = ""


@dataclass
class OpenedTrial:
    """A trial that was looked at.

    Attributes:
        queue: Its queue; None: not recorded, or its pyramid is still to be built.
        samples: Its samples; None: it has none.
    """

    trial: SealedTrial
    queue: TrialQueue | None = None
    samples: Samples | None = None


@dataclass
class Explorer:
    """A run directory that is looked into; it is never written to but for its pyramids.

    Attributes:
        cache: Where pyramids are kept if the run directory cannot be written to.
    """

    path: Path
    cache: Path
    _opened: OrderedDict[str, OpenedTrial] = field(default_factory=OrderedDict)
    _building: dict[str, Building] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _run: tuple[object, FinishedRun] | None = None

    def run(self) -> bytes:
        """The whole run; a trial that was sealed meanwhile is in it."""
        return _json(run_overview(self._current()))

    def trial(self, query: Mapping[str, str]) -> bytes:
        """A trial's facts, and whether its queue can be shown yet."""
        run, opened = self._current(), self._open(query)
        facts = trial_facts(run, opened.trial)
        return _json(facts | {"queue": self._queue_state(opened)})

    def view(self, query: Mapping[str, str]) -> bytes:
        """The queue in a part of a trial: sums of bins by flow."""
        queue = self._queue(query)
        start, end = _span(query)
        view = queue.view(start, end, _pixels(query), (*SHOWN, *COUNTED))
        head = {
            "start_ns": view.bins.start_ns,
            "width_ns": view.bins.length_ns,
            "source": view.source,
            "packets": int(sum(view.cells[name].sum() for name in COUNTED)),
        }
        return packed(head, {name: view.cells[name].T for name in SHOWN})

    def totals(self, query: Mapping[str, str]) -> bytes:
        """Exact sums of a part of a trial, by flow."""
        totals = self._queue(query).totals(*_span(query))
        names = ("departed_bytes", "departed_packets", "dropped_packets", "arrived_packets",
                 "marked_packets", "occupancy_byte_ns", "delay_sum_ns")  # fmt: skip
        sums = {name: getattr(totals, name) for name in names}
        return _json({name: None if v is None else v.tolist() for name, v in sums.items()})

    def packets(self, query: Mapping[str, str]) -> bytes:
        """The packets of a part of a trial, one by one, unless there are too many."""
        found = self._queue(query).packets(*_span(query))
        if found is None:
            return _json({"packets": None})
        return _json({"packets": {name: values.tolist() for name, values in found.items()}})

    def samples(self, query: Mapping[str, str]) -> bytes:
        """What the senders of a trial told of themselves in a part of it: `show`, RTT, states."""
        opened = self._open(query)
        if opened.samples is None:
            return packed({"states": STATES, "none": True}, {})
        names = (query.get("show", ""), "srtt", "retransmitted")
        if names[0] not in SERIES:
            raise BadQueryError("`show` is none of the senders' series")
        part = opened.samples.within(*_span(query), _pixels(query), names)
        arrays = {"t_ns": part.t_ns.astype(np.float64), **part.series}
        return packed({"states": STATES}, {**arrays, "state": part.state, "epoch": part.epoch})

    def _current(self) -> FinishedRun:
        """The run; read again once a trial was added or the run ended."""
        trials = self.path / "trials"
        changed = tuple(
            place.stat().st_mtime_ns if place.exists() else 0
            for place in (trials, self.path / "manifest.json")
        )
        with self._lock:
            if self._run is None or self._run[0] != changed:
                self._run = (changed, open_run(self.path))
            return self._run[1]

    def _open(self, query: Mapping[str, str]) -> OpenedTrial:
        """The trial that is asked for: one of the run's, by its id, whatever else it may name."""
        wanted = query.get("trial", "")
        with self._lock:
            if (kept := self._opened.get(wanted)) is not None:
                self._opened.move_to_end(wanted)
                return kept
            found = next((t for t in self._current().trials if t.id == wanted), None)
            if found is None:
                raise BadQueryError("there is no such trial")
            opened = OpenedTrial(open_trial(found.path), samples=read_samples(found))
            self._opened[wanted] = opened
            while len(self._opened) > KEPT_TRIALS:
                self._opened.popitem(last=False)
            return opened

    def _queue(self, query: Mapping[str, str]) -> TrialQueue:
        opened = self._open(query)
        if opened.queue is None:
            self._queue_state(opened)
        if opened.queue is None:
            raise BadQueryError("the trial has no queue to show, or its bins are still being made")
        return opened.queue

    def _queue_state(self, opened: OpenedTrial) -> JsonObject:
        """Whether a trial's queue can be shown; starts to build its pyramid where it needs one."""
        trial, scenario = opened.trial, self._current().scenario
        with self._lock:
            if opened.queue is None:
                if trial.has("postcards") and open_pyramid(trial, self.cache) is None:
                    return self._build(trial)
                self._building.pop(trial.id, None)
                opened.queue = queue_of(trial, scenario, self.cache)
            return {"state": "none" if opened.queue is None else "ready"}

    def _build(self, trial: SealedTrial) -> JsonObject:
        building = self._building.get(trial.id)
        if building is None:
            building = self._building[trial.id] = Building()
            building.thread = threading.Thread(
                target=self._make, args=(trial, building), daemon=True
            )
            building.thread.start()
        if building.problem:
            return {"state": "damaged", "problem": building.problem}
        return {"state": "building", "done": building.done, "total": building.total}

    def _make(self, trial: SealedTrial, building: Building) -> None:
        def show(done: int, total: int) -> None:
            building.done, building.total = done, total

        try:
            make_pyramid(trial, self.cache, show)
        except RunError as error:
            building.problem = error.message


ANSWERS: dict[str, Callable[[Explorer, Mapping[str, str]], bytes]] = {
    "run": lambda explorer, _: explorer.run(),
    "trial": Explorer.trial,
    "view": Explorer.view,
    "totals": Explorer.totals,
    "packets": Explorer.packets,
    "samples": Explorer.samples,
}
"""What the page may ask for, by name."""


def packed(head: JsonObject, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays for a page: the length of the head, the head as JSON, and all values.

    The head has each array's shape and the place of its values, from the end of the head on, which
    is a multiple of 8. They are little-endian, 32-bit floats but for those of KINDS.
    """
    parts, places, offset = [], {}, 0
    for name, values in arrays.items():
        kind = KINDS.get(name, "<f4")
        content = np.ascontiguousarray(values, dtype=kind).tobytes()
        places[name] = {"kind": kind, "shape": list(values.shape), "at": offset}
        content += b"\0" * (-len(content) % 8)
        offset += len(content)
        parts.append(content)
    text = json.dumps({**head, "arrays": places}).encode()
    text += b" " * (-(len(text) + 8) % 8)
    return len(text).to_bytes(8, "little") + text + b"".join(parts)


def _json(content: JsonObject) -> bytes:
    return json.dumps(content, allow_nan=False).encode()


def _span(query: Mapping[str, str]) -> tuple[int, int]:
    start, end = _whole(query, "from"), _whole(query, "to")
    if not -(2**62) < start < end < 2**62:
        raise BadQueryError("`from` is not before `to`")
    return start, end


def _pixels(query: Mapping[str, str]) -> int:
    return min(max(_whole(query, "pixels"), 1), MOST_PIXELS)


def _whole(query: Mapping[str, str], name: str) -> int:
    try:
        return int(query[name])
    except (KeyError, ValueError) as error:
        raise BadQueryError(f"`{name}` is not a whole number") from error
