"""Which trailer the frames of an interface carry, by evidence that no payload gives by chance."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from nashbed.controlplane.store.errors import RunError
from numpy.typing import NDArray

from . import exablaze, expcap, metamako
from .extent import MIN_FRAME, fcs_fits, message_ends
from .frames import ETHERNET, NOWHERE, Frames, Interface
from .trailer import Stamps, TrailerFormat

FORMATS: dict[str, TrailerFormat] = {
    each.name: each for each in (exablaze.FORMAT, metamako.FORMAT, expcap.FORMAT)
}
SAMPLE = 512
NEAR_S = 30 * 86400
"""A trailer's clock and the capture's are at most this far apart. A random number of seconds is
as near with a probability of 0.12 %, one of five choices with 0.6 %."""
ERA_S = 1 << 32
"""Seconds of a trailer have 32 bits: they begin anew in 2106, and every 136 years."""
LEAST = 4
"""Frames whose trailer begins where the message ends, without which nothing is concluded from it.

Random bytes within a message never begin where it ends. Random bytes behind it (another vendor's
trailer of as many bytes) have a near time in each of 4 frames with a probability of 5 x 0.0012^4 =
1e-11, in 9 of 10 frames of more with less. A fitting FCS alone decides: 5 x 0.0012 x 3 x 2^-32 =
4e-12 for a frame."""
ALL, NONE = 0.9, 0.1
"""Shares of sampled frames with a credible trailer above and below which there is no doubt."""
MIXED = 0.25
"""Share of frames with a near time from which on trailers without an FCS are not by chance: of 16
frames with random bytes behind their messages, 4 have one with a probability of 2e-6."""
WHICH = "say which times count: --format file, or the trailer's name"


@dataclass(frozen=True)
class Choice:
    """A trailer format, and the length of the new FCS behind it."""

    form: TrailerFormat
    fcs_bytes: int

    def decode(self, frames: Frames) -> Stamps:
        """Read the trailers of frames."""
        return self.form.decode(frames, self.fcs_bytes)


@dataclass(frozen=True)
class Decision:
    """What was found out of an interface.

    Attributes:
        choice: The trailer of its frames; None: they have none.
        doubt: What was thought of, where the file's times are used nevertheless.
    """

    choice: Choice | None = None
    doubt: str | None = None


@dataclass(frozen=True)
class _Evidence:
    """What speaks for a choice among frames, each a number of frames.

    Attributes:
        near: Those that end in what can be such a trailer, with a time near the file's.
        checked: Those of `near` whose FCS is right.
        fitting: Those of `near` whose trailer begins where the message, or its right FCS, ends.
        against: Those of `near` whose trailer would begin elsewhere.
        away_s: Median distance of the times from the file's.
    """

    frames: int = 0
    near: int = 0
    checked: int = 0
    fitting: int = 0
    against: int = 0
    away_s: float = 0.0

    @property
    def share(self) -> float:
        return self.near / self.frames

    @property
    def proves(self) -> bool:
        """Whether some frames have the trailer beyond doubt."""
        return self.checked > 0 or (self.fitting >= LEAST and self.share >= MIXED)

    @property
    def holds(self) -> bool:
        """Whether all of them have."""
        return self.proves and self.share >= ALL and self.against <= NONE * self.frames

    def rank(self) -> tuple[int, int, int, float]:
        return self.checked, self.fitting, self.near, -self.away_s


def credible(frames: Frames, stamps: Stamps) -> NDArray[np.bool_]:
    """Frames whose trailer can be one, with a time near that of the file, shape (n,).

    Payloads end in zeros too often: what would be the very beginning of 1970 is no time.
    """
    away = _away_s(frames, stamps)
    later = frames.times.seconds + away > 0
    good: NDArray[np.bool_] = stamps.sound & (np.abs(away) <= NEAR_S) & later
    return good


def in_era(frames: Frames, stamps: Stamps) -> Stamps:
    """Stamps whose 32-bit seconds are those of the 136 years about the file's times."""
    seconds = frames.times.seconds + _away_s(frames, stamps)
    return replace(stamps, times=replace(stamps.times, seconds=seconds))


def _away_s(frames: Frames, stamps: Stamps) -> NDArray[np.int64]:
    """Seconds of the trailers less those of the file, whatever the era."""
    half = ERA_S // 2
    return (stamps.times.seconds - frames.times.seconds + half) % ERA_S - half


def sample(frames: Frames) -> Frames:
    """Some frames, evenly spread; without padding records, which have no wire length."""
    real = np.flatnonzero(frames.wire > 0)
    return frames.take(real[:: max(1, len(real) // SAMPLE)])


def detect(parts: Sequence[Frames]) -> Decision:
    """Find the trailer that the frames of one interface carry.

    Args:
        parts: Samples of its frames.

    Raises:
        RunError: Some of them carry it and some do not.
    """
    parts = [part for part in parts if len(part)]
    if not parts or _interface(parts).link != ETHERNET:
        return Decision()
    choices = _choices(parts[0], None)
    weighed = [(_weigh(parts, choice), choice) for choice in choices]
    evidence, best = max(weighed, key=lambda pair: pair[0].rank())
    if evidence.holds:
        return Decision(best)
    title = best.form.title
    if evidence.proves and evidence.share < ALL and not evidence.against > evidence.near // 2:
        raise parts[0].capture.damaged(
            f"mixes formats: {evidence.share:.0%} of {evidence.frames} sampled frames have the "
            f"{title}, {evidence.frames - evidence.near} have none",
            WHICH,
        )
    if evidence.share <= NONE:
        return Decision()
    return Decision(
        doubt=f"{evidence.near} of {evidence.frames} sampled frames end in what could be the "
        f"{title}, but {_missing(evidence)}: the file's times are used "
        f"(--format {best.form.name} takes the trailers')"
    )


def _missing(evidence: _Evidence) -> str:
    if evidence.against:
        return f"in {evidence.against} it would begin within the message or not at its end"
    if evidence.fitting:
        return f"only {evidence.fitting} messages end before it, and no FCS fits"
    return "no message says that it ends before it, and no FCS fits"


def forced(parts: Sequence[Frames], name: str, fcs_bytes: int | None) -> Choice:
    """The format that a person named; its clock may be anywhere.

    Args:
        parts: Samples of an interface's frames.
        name: Of FORMATS.
        fcs_bytes: Length of the new FCS; None: find it out.

    Raises:
        RunError: There is no such trailer, or whether an FCS follows cannot be decided.
    """
    first = parts[0]
    choices = [c for c in _choices(first, fcs_bytes) if c.form.name == name]
    if not choices:
        allowed = " or ".join(str(n) for n in FORMATS[name].fcs_choices)
        raise first.capture.damaged(
            f"an FCS behind the {name} trailer can only have {allowed} bytes"
        )
    parts = [part for part in parts if len(part)]
    if not parts or fcs_bytes is not None:
        return choices[0]
    weighed = [(_weigh(parts, choice), choice) for choice in choices]
    evidence, best = max(weighed, key=lambda pair: pair[0].rank())
    if evidence.share >= ALL:
        return best
    far = [(_fitting_share(parts, choice), n) for n, choice in enumerate(choices)]
    share, n = max(far)
    if share >= ALL:
        return choices[n]
    raise _absent(parts, FORMATS[name])


def _absent(parts: Sequence[Frames], form: TrailerFormat) -> RunError:
    frames = sum(len(part) for part in parts)
    cut = sum(int(np.count_nonzero(part.captured < part.wire)) for part in parts)
    why = "the frames carry none"
    if cut > frames // 2:
        why = f"{cut} of {frames} frames are cut short and lost it"
    return parts[0].capture.damaged(
        f"has no {form.title}: {why}",
        "use --format file for the file's own times, or, if the trailers are of another clock, "
        "say --fcs 0 or --fcs 4",
    )


def _interface(parts: Sequence[Frames]) -> Interface:
    return parts[0].interfaces[int(parts[0].interface[0])]


def _choices(frames: Frames, fcs_bytes: int | None) -> list[Choice]:
    said = frames.interfaces[int(frames.interface[0])].fcs_bytes if len(frames) else None
    reported = said if fcs_bytes is None else fcs_bytes
    result = []
    for form in FORMATS.values():
        known = (reported,) if reported in form.fcs_choices else ()
        choices = known or (form.fcs_choices if fcs_bytes is None else ())
        result += [Choice(form, n) for n in choices if n is not None]
    return result


def _weigh(parts: Sequence[Frames], choice: Choice) -> _Evidence:
    near = checked = fitting = against = 0
    away: list[NDArray[np.int64]] = []
    for part in parts:
        stamps = choice.decode(part)
        good = np.flatnonzero(credible(part, stamps))
        away.append(np.abs(_away_s(part, stamps))[good])
        frames, own = part.take(good), (part.captured - stamps.trailer_bytes)[good]
        right = fcs_fits(frames, own, stamps.original_fcs[good])
        fits, says = _begins_at_end(frames, own)
        near += len(good)
        checked += int(right.sum())
        fitting += int((fits | right).sum())
        against += int((says & ~fits & ~right).sum())
    return _Evidence(
        frames=sum(len(part) for part in parts),
        near=near,
        checked=checked,
        fitting=fitting,
        against=against,
        away_s=float(np.median(np.concatenate(away))) if near else 0.0,
    )


def _fitting_share(parts: Sequence[Frames], choice: Choice) -> float:
    """Share of the frames that say where they end, and whose trailer begins there."""
    fitting = saying = 0
    for part in parts:
        stamps = choice.decode(part)
        fits, says = _begins_at_end(part, part.captured - stamps.trailer_bytes)
        fitting += int((fits & stamps.sound).sum())
        saying += int(says.sum())
    return fitting / saying if saying else 0.0


def _begins_at_end(
    frames: Frames, own: NDArray[np.int64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where `own` bytes are the message, padded or not; and where the message says its length."""
    ends, least = message_ends(frames)
    says = ends != NOWHERE
    fits = (own == ends) | (own == np.maximum(ends, MIN_FRAME)) | (own == np.maximum(ends, least))
    return fits & says, says
