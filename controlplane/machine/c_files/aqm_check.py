"""Whether a discipline, or a policy of memory, does what every queue must: `nashbed aqm check`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...contract.c_files import CFile
from ...contract.units import Size
from ..log import ShowStep
from .aqm_judging import NS_PER_S, Arrival, Fate, Passage, problems_of
from .aqm_tool import DisciplineAbout, about_object, pass_through
from .kinds import DISCIPLINE
from .objects import shared_object

RATE_BPS = 10**7
PACKETS = 4000
FLOWS = 5
FULL_BYTES, SMALL_BYTES = 1514, 64
ECN_CAPABLE = 2
"""Codepoint ECT(0)."""


@dataclass(frozen=True)
class Load:
    """Packets that are sent through a discipline.

    Attributes:
        share: Their rate as a share of the line's.
        burst: How many come at once.
        limit: The queue's hard limit.
        small: Share of them that are as small as can be.
        ecn: Share of them that can be marked.
    """

    name: str
    share: float
    burst: int
    limit: Size
    small: float = 0.0
    ecn: float = 0.0


LOADS = (
    Load("half of the line", 0.5, 1, Size(150_000)),
    Load("all of it, half ECN", 1.0, 1, Size(150_000), ecn=0.5),
    Load("a third too much", 4 / 3, 1, Size(150_000), ecn=0.5),
    Load("bursts of 60", 0.9, 60, Size(150_000)),
    Load("three packets of room", 1.5, 2, Size(3 * FULL_BYTES)),
    Load("small and large ones", 1.2, 4, Size(60_000), small=0.7, ecn=0.2),
)


@dataclass(frozen=True)
class LoadVerdict:
    """What came of a load.

    Attributes:
        departed: Packets that left.
        dropped: Those that were dropped.
        marked: Those that left with a mark.
        mean_delay_ms: Mean time in the queue of those that left.
        problems: What is wrong, by the name of the check.
    """

    load: Load
    departed: int
    dropped: int
    marked: int
    mean_delay_ms: float
    problems: dict[str, str]


@dataclass(frozen=True)
class DisciplineVerdict:
    """What is known of a discipline after it was tried.

    Attributes:
        made_by: The compiler.
        about: What it says of itself.
        loads: What came of each load.
    """

    own: CFile
    made_by: str
    about: DisciplineAbout
    loads: tuple[LoadVerdict, ...]

    @property
    def ok(self) -> bool:
        """Whether every check was passed."""
        return not any(each.problems for each in self.loads)


def check_discipline(source: Path, show: ShowStep, seed: int = 1) -> DisciplineVerdict:
    """Try a discipline with its default parameters.

    The seed is of the arrivals, and of what the discipline draws itself.

    Raises:
        ConfigError: It does not compile, is no discipline, crashes, or does not return.
        HostError: There is no compiler, or nashbed-aqm is not built.
    """
    own = DISCIPLINE.read(source)
    show(f"compiling {own.name}", 0, len(LOADS))
    made = shared_object(own)
    about = about_object(made.path)
    verdicts = []
    for done, load in enumerate(LOADS):
        show(f"{own.name}: {load.name}", done, len(LOADS))
        verdicts.append(_tried(made.path, load, seed))
    return DisciplineVerdict(own, made.made_by, about, tuple(verdicts))


def _tried(path: Path, load: Load, seed: int) -> LoadVerdict:
    arrivals = list(arrivals_of(load, seed))
    fates = _through(path, arrivals, load, seed)
    passage = Passage(arrivals, fates, RATE_BPS, load.limit.bytes)
    problems = problems_of(passage)
    if _through(path, arrivals, load, seed) != fates:
        problems["repeatability"] = "the same packets fared otherwise when they came again"
    left = passage.departures()
    waited = [fate.ns - arrival.ns for arrival, fate in left]
    return LoadVerdict(
        load=load,
        departed=len(left),
        dropped=sum(not each.departed for each in fates),
        marked=sum(each.marked for each in fates),
        mean_delay_ms=sum(waited) / len(waited) / 1e6 if waited else 0.0,
        problems=problems,
    )


def arrivals_of(load: Load, seed: int) -> Iterator[Arrival]:
    """The packets of a load: bursts at random times, flows and sizes at random."""
    draw = random.Random(f"{seed} {load.name}")  # noqa: S311 - to be repeated
    mean_bytes = load.small * SMALL_BYTES + (1 - load.small) * FULL_BYTES
    gap_ns = load.burst * mean_bytes * 8 * NS_PER_S / (load.share * RATE_BPS)
    now = 0.0
    for number in range(PACKETS):
        if number % load.burst == 0:
            now += draw.expovariate(1 / gap_ns)
        size = SMALL_BYTES if draw.random() < load.small else FULL_BYTES
        ecn = ECN_CAPABLE if draw.random() < load.ecn else 0
        yield Arrival(int(now), draw.randrange(FLOWS), size, ecn)


def _through(path: Path, arrivals: list[Arrival], load: Load, seed: int) -> list[Fate]:
    """What becomes of packets in a process of its own, by a discipline or in four queues."""
    lines = "".join(f"{a.ns} {a.flow} {a.bytes} {a.ecn}\n" for a in arrivals)
    own = {"name": path.stem, "file": str(path), "seed": seed}
    is_memory = about_object(path).what == "memory"
    asked = {"queues": {"queues": [{}] * 4, "memory": own}} if is_memory else {"discipline": own}
    limit = {"unit": "bytes", "value": load.limit.bytes}
    rows = pass_through(path.stem, {"rate_bps": RATE_BPS, "limit": limit, **asked}, lines)
    return [Fate(packet, ns, bool(departed), bool(mark)) for packet, ns, departed, mark, _ in rows]
