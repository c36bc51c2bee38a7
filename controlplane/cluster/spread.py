"""Which testbed a trial is handed to: repetitions of a mix go to different ones, idle ones take."""

from __future__ import annotations

from collections.abc import Mapping

AHEAD = 0.25
"""Trials that are handed out beyond the seats, so that no worker waits for the client."""


def most_handed(seats: int) -> int:
    """How many trials workers with some seats are given at once; a few wait there.

    Args:
        seats: Trials that they run at once.
    """
    return seats + max(1, int(seats * AHEAD)) if seats else 0


def own_testbed_of(
    repetition: int, seats: Mapping[str, int], handed: Mapping[str, int]
) -> str | None:
    """The testbed that a repetition belongs to, if there is room for a trial; else None.

    Each repetition of a mix has its own, so that testbeds can be compared.

    Args:
        repetition: Which repetition of its mix the trial is.
        seats: Testbed -> trials that it runs at once. Of virtual time there is one, "".
        handed: Testbed -> trials that it has been given and that have not come back.
    """
    names = sorted(name for name, number in seats.items() if number)
    if not names:
        return None
    own = names[repetition % len(names)]
    return own if handed.get(own, 0) < most_handed(seats[own]) else None


def idle_testbed(
    repetition: int, seats: Mapping[str, int], handed: Mapping[str, int]
) -> str | None:
    """Any testbed with a free seat, the freest first: for when nothing of its own waits.

    Args:
        repetition: Does not matter.
        seats: As above.
        handed: As above.
    """
    idle = [name for name, number in seats.items() if handed.get(name, 0) < number]
    return max(sorted(idle), key=lambda name: seats[name] - handed.get(name, 0), default=None)
