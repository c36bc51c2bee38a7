"""The fluid model in C: its constants, what it is told, and what it answers for one seed."""

from __future__ import annotations

import ctypes
import json
import os
from dataclasses import astuple, dataclass, fields
from functools import cache
from pathlib import Path

import numpy as np
from nashbed.controlplane.contract.units import PACKET_BYTES
from numpy.typing import NDArray

from ..competition import Competition, FlowKind, ModelError

FloatArray = NDArray[np.float64]

FITTED_FILE = Path(__file__).with_name("fitted.json")
"""By `python -m nashbed.analysis.models.fluid.fit`: the constants, and how well they predict."""


@dataclass(frozen=True)
class FluidConstants:
    """The constants of the fluid model.

    The first four are fitted; what each is in the network is in
    `docs/explanation/fluid-model.md`. The last two say how finely the fluid is cut: the answers
    hardly depend on them.

    Attributes:
        losing_packets: Packets that a CUBIC flow loses together when the queue overflows.
        rate_noise: By how many times the square root of the packets of a round the largest of BBR's
            delivery rate samples is too large.
        aggregated_packets: Packets that BBR keeps in flight beyond 2 BDP and three bursts, for
            acknowledgements that come back in bursts.
        timeout_weight: How likely a retransmission that is lost too ends in a timeout.
        slots_per_rtt: Slots of time in the smallest base RTT; a slot is 0.5 to 8 ms.
        cohorts: Most cohorts of one kind of flows.
    """

    losing_packets: float
    rate_noise: float
    aggregated_packets: float
    timeout_weight: float
    slots_per_rtt: float = 5.0
    cohorts: float = 6.0


FITTED = FluidConstants(**json.loads(FITTED_FILE.read_text(encoding="utf-8"))["constants"])


@dataclass(frozen=True)
class Course:
    """How a competition went, in bins of equal length.

    Attributes:
        bin_s: Length of a bin in seconds; bin i is from i to i + 1 times that.
        departed_bytes: What left the queue of each kind of flows, shape (T, G).
        queue_s: Mean time that the queue would have taken to drain, in seconds, shape (T,).
    """

    bin_s: float
    departed_bytes: FloatArray
    queue_s: FloatArray


@dataclass(frozen=True)
class Outcome:
    """One simulated competition, over its measured time.

    Attributes:
        throughput_bps: Of all flows of each kind together, shape (G,).
        sent_bps: What they sent to the queue, shape (G,).
        loss: Part of what each kind sent that was dropped, shape (G,).
        min_rtt_s: Mean smallest round-trip time that the flows of each kind believe in, shape (G,).
        utilisation: Part of the rate that was used.
        losing: Mean share of the flows of each kind that lose in a congestion event of that kind;
            NaN without one, shape (G,).
        course: From the start to the end, with what was not measured.
    """

    competition: Competition
    seed: int
    throughput_bps: FloatArray
    sent_bps: FloatArray
    loss: FloatArray
    min_rtt_s: FloatArray
    queueing_delay_s: float
    utilisation: float
    losing: FloatArray
    course: Course

    def share_of(self, cca: str) -> float:
        """Part of the throughput of all flows that the flows of a CCA have."""
        of = np.array([kind.cca == cca for kind in self.competition.kinds])
        total = self.throughput_bps.sum()
        return float(self.throughput_bps[of].sum() / total) if total > 0 else 0.0


BUILD = Path(os.environ.get("NASHBED_BUILD", Path(__file__).resolve().parents[3] / "build"))
LIBRARY = BUILD / "analysis" / "nashbed-fluid.so"
MAX_KINDS = 16
PROBLEMS = {
    1: "the library of the fluid model is of another version; run `make build`",
    3: "the fluid model has not enough memory for this",
    4: "the fluid model takes fewer kinds of flows, or a shorter time",
}
"""What a status of nashbed_fluid() means; 2 is a CCA that it does not know."""
NUMBERS_OF_KIND = ("flows", "base_rtt", "start", "start_spread", "window", "connecting")
DOUBLES = ctypes.c_double * MAX_KINDS


class FluidNotBuiltError(ModelError):
    """The library of the fluid model has not been built."""


class _Constants(ctypes.Structure):
    _fields_ = [(field.name, ctypes.c_double) for field in fields(FluidConstants)]


class _Kind(ctypes.Structure):
    _fields_ = [
        ("cca", ctypes.c_char_p),
        *((n, ctypes.c_double) for n in NUMBERS_OF_KIND),
    ]


class _Question(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint64),
        *((n, ctypes.c_double) for n in ("rate", "buffer", "duration", "measured_from", "bin")),
        ("seed", ctypes.c_uint64),
        ("kinds", ctypes.c_uint32),
        ("bins", ctypes.c_uint32),
        ("kind", _Kind * MAX_KINDS),
        ("constants", _Constants),
    ]


class _Answer(ctypes.Structure):
    _fields_ = [
        *((n, DOUBLES) for n in ("departed", "sent", "dropped", "min_rtt", "losing")),
        ("queue_delay", ctypes.c_double),
        ("utilisation", ctypes.c_double),
        ("course_departed", ctypes.POINTER(ctypes.c_double)),
        ("course_queue", ctypes.POINTER(ctypes.c_double)),
    ]


@cache
def library() -> ctypes.CDLL:
    """The library.

    Raises:
        FluidNotBuiltError: It has not been built.
    """
    try:
        loaded = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        raise FluidNotBuiltError(
            f"the fluid model has not been built ({error}); run `make build`"
        ) from error
    loaded.nashbed_fluid_cca.restype = ctypes.c_char_p
    return loaded


@cache
def ccas() -> tuple[str, ...]:
    """Names of the CCAs that the model knows."""
    names: list[str] = []
    while (name := library().nashbed_fluid_cca(len(names))) is not None:
        names.append(name.decode())
    return tuple(names)


def simulate(
    competition: Competition, seed: int, constants: FluidConstants, bin_s: float = 1.0
) -> Outcome:
    """Simulate a competition once.

    Args:
        seed: Of its chance: starts within their spread, who loses, BBR's first phase.
        bin_s: Length of a bin of the course in seconds.

    Raises:
        ModelError: A CCA is not known, or there is too much to simulate.
        FluidNotBuiltError: The library has not been built.
    """
    kinds, bins = len(competition.kinds), int(np.ceil(competition.duration_s / bin_s))
    departed, queue = np.zeros((bins, kinds)), np.zeros(bins)
    question = _question(competition, seed, constants, bin_s, bins)
    answer = _Answer(course_departed=_pointer(departed), course_queue=_pointer(queue))
    status = library().nashbed_fluid(ctypes.byref(question), ctypes.byref(answer))
    if status:
        raise ModelError(_problem(status, competition))
    return _outcome(competition, seed, answer, Course(bin_s, departed * PACKET_BYTES, queue))


def _pointer(array: np.ndarray) -> ctypes._Pointer[ctypes.c_double]:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def _question(
    competition: Competition, seed: int, constants: FluidConstants, bin_s: float, bins: int
) -> _Question:
    empty = [kind.cca for kind in competition.kinds if not kind.flows]
    if empty:
        raise ModelError(f"0 {empty[0]} flows; give at least 1")
    if not 1 <= len(competition.kinds) <= MAX_KINDS:
        raise ModelError(f"{len(competition.kinds)} kinds of flows; give 1 to {MAX_KINDS}")
    return _Question(
        size=ctypes.sizeof(_Question),
        rate=competition.rate_bps / 8 / PACKET_BYTES,
        buffer=competition.buffer_bytes / PACKET_BYTES,
        duration=competition.duration_s,
        measured_from=competition.measured_from_s,
        bin=bin_s,
        seed=seed,
        kinds=len(competition.kinds),
        bins=bins,
        kind=(_Kind * MAX_KINDS)(*map(_kind, competition.kinds)),
        constants=_Constants(*astuple(constants)),
    )


def _kind(kind: FlowKind) -> _Kind:
    return _Kind(
        kind.cca.encode(),
        kind.flows,
        kind.base_rtt_s,
        kind.start_s,
        kind.start_spread_s,
        kind.window_bytes / PACKET_BYTES,
        kind.connecting_s,
    )


def _problem(status: int, competition: Competition) -> str:
    unknown = sorted({kind.cca for kind in competition.kinds} - set(ccas()))
    if unknown:
        return f"{unknown[0]}: the fluid model knows {', '.join(ccas())}"
    return PROBLEMS[status]


def _outcome(competition: Competition, seed: int, answer: _Answer, course: Course) -> Outcome:
    kinds = len(competition.kinds)
    departed, sent, dropped = (
        np.array(values[:kinds]) for values in (answer.departed, answer.sent, answer.dropped)
    )
    bits_per_s = PACKET_BYTES * 8 / (competition.duration_s - competition.measured_from_s)
    return Outcome(
        competition=competition,
        seed=seed,
        throughput_bps=departed * bits_per_s,
        sent_bps=sent * bits_per_s,
        loss=np.divide(dropped, sent, out=np.zeros(kinds), where=sent > 0),
        min_rtt_s=np.array(answer.min_rtt[:kinds]),
        queueing_delay_s=answer.queue_delay,
        utilisation=answer.utilisation,
        losing=np.array(answer.losing[:kinds]),
        course=course,
    )
