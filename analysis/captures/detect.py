# SPDX-License-Identifier: Apache-2.0
"""Which trailer the frames of a capture carry: the one whose times are near the file's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from nashbed.controlplane.store.errors import RunError
from numpy.typing import NDArray

from . import exablaze, expcap, metamako
from .frames import ETHERNET, Frames
from .trailer import ETHERNET_HEADER, Stamps, TrailerFormat

FORMATS: dict[str, TrailerFormat] = {
    each.name: each for each in (exablaze.FORMAT, metamako.FORMAT, expcap.FORMAT)
}
SAMPLE = 512
NEAR_S = 30 * 86400
"""A trailer's clock and the capture's are at most this far apart. A random number of seconds is
as near with a probability of 0.12 %."""
ALL, NONE = 0.9, 0.1
"""Shares of sampled frames with a credible trailer above and below which there is no doubt."""
WHICH = "say which times count: --format file, or the trailer's name"
IPV4 = 0x0800
MIN_FRAME = 60
IP_LENGTH = np.dtype([("ether_type", ">u2"), ("skip", "V2"), ("total", ">u2")])


@dataclass(frozen=True)
class Choice:
    """A trailer format, and the length of the new FCS behind it."""

    form: TrailerFormat
    fcs_bytes: int

    def decode(self, frames: Frames) -> Stamps:
        """Read the trailers of frames."""
        return self.form.decode(frames, self.fcs_bytes)


def credible(frames: Frames, stamps: Stamps) -> NDArray[np.bool_]:
    """Frames whose trailer can be one, with a time near that of the file, shape (n,).

    Payloads end in zeros too often: what would be the very beginning of 1970 is no time.
    """
    away = np.abs(stamps.times.seconds - frames.times.seconds)
    good: NDArray[np.bool_] = stamps.sound & (away <= NEAR_S) & (stamps.times.seconds > 0)
    return good


def detect(frames: Frames) -> Choice | None:
    """Find the trailer that these frames carry; None: they carry none.

    Raises:
        RunError: Some of them carry it and some do not.
    """
    sample = _sample(frames)
    if len(sample) == 0 or frames.link != ETHERNET:
        return None
    ranked = sorted(_choices(sample, None), key=lambda choice: _rank(sample, choice))
    best = ranked[-1]
    share = _rank(sample, best)[0]
    if share >= ALL:
        return best
    if share <= NONE:
        return None
    missing = np.flatnonzero(~credible(sample, best.decode(sample)))
    raise frames.capture.damaged(
        f"mixes formats: {share:.0%} of {len(sample)} sampled frames have the {best.form.title}, "
        f"{len(missing)} have none",
        WHICH,
    )


def forced(frames: Frames, name: str, fcs_bytes: int | None) -> Choice:
    """The format that a person named; its clock may be anywhere.

    Args:
        frames: The first ones of the capture.
        name: Of FORMATS.
        fcs_bytes: Length of the new FCS; None: find it out.

    Raises:
        RunError: There is no such trailer, or whether an FCS follows cannot be decided.
    """
    sample = _sample(frames)
    choices = [c for c in _choices(sample, fcs_bytes) if c.form.name == name]
    if not choices:
        allowed = " or ".join(str(n) for n in FORMATS[name].fcs_choices)
        raise frames.capture.damaged(
            f"an FCS behind the {name} trailer can only have {allowed} bytes"
        )
    if len(sample) == 0 or fcs_bytes is not None:
        return choices[0]
    for share in (_credible_share, _fitting_share):
        best = max(choices, key=lambda choice: share(sample, choice))
        if share(sample, best) >= ALL:
            return best
    raise _absent(sample, FORMATS[name])


def _absent(frames: Frames, form: TrailerFormat) -> RunError:
    cut = int(np.count_nonzero(frames.captured < frames.wire))
    why = "the frames carry none"
    if cut > len(frames) // 2:
        why = f"{cut} of {len(frames)} frames are cut short and lost it"
    return frames.capture.damaged(
        f"has no {form.title}: {why}",
        "use --format file for the file's own times, or, if the trailers are of another clock, "
        "say --fcs 0 or --fcs 4",
    )


def _sample(frames: Frames) -> Frames:
    """Some frames, evenly spread; without padding records, which have no wire length."""
    real = np.flatnonzero(frames.wire > 0)
    return frames.take(real[:: max(1, len(real) // SAMPLE)])


def _choices(frames: Frames, fcs_bytes: int | None) -> list[Choice]:
    reported = frames.fcs_bytes if fcs_bytes is None else fcs_bytes
    result = []
    for form in FORMATS.values():
        known = (reported,) if reported in form.fcs_choices else ()
        choices = known or (form.fcs_choices if fcs_bytes is None else ())
        result += [Choice(form, n) for n in choices if n is not None]
    return result


def _rank(frames: Frames, choice: Choice) -> tuple[float, float, float]:
    """Share of credible frames, of those that fit by length, nearness to the file's times."""
    stamps = choice.decode(frames)
    good = credible(frames, stamps)
    if not good.any():
        return 0.0, 0.0, 0.0
    away = np.abs(stamps.times.seconds - frames.times.seconds)[good]
    return float(good.mean()), _fitting_share(frames, choice), -float(np.median(away))


def _credible_share(frames: Frames, choice: Choice) -> float:
    return float(credible(frames, choice.decode(frames)).mean())


def _fitting_share(frames: Frames, choice: Choice) -> float:
    """Share of IPv4 frames whose trailer begins where the IP packet, or its padding, ends."""
    stamps = choice.decode(frames)
    long = np.flatnonzero(frames.captured >= ETHERNET_HEADER + 4)
    head = frames.capture.at(frames.start[long] + 12, IP_LENGTH)
    is_ip = head["ether_type"] == IPV4
    if not is_ip.any():
        return 0.0
    which = long[is_ip]
    packet = ETHERNET_HEADER + head["total"][is_ip].astype(np.int64)
    own = frames.captured[which] - stamps.trailer_bytes[which]
    fits = (own == packet) | (own == np.maximum(packet, MIN_FRAME))
    return float((fits & stamps.sound[which]).mean())
