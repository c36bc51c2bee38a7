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


def choose_testbed(
    repetition: int, seats: Mapping[str, int], handed: Mapping[str, int]
) -> str | None:
    """The testbed for a trial; None: it waits.

    Each repetition of a mix has its own testbed, so that testbeds can be compared; when there is
    no room, any that has a free seat takes it.

    Args:
        repetition: Which repetition of its mix the trial is.
        seats: Testbed -> trials that it runs at once. Of virtual time there is one, "".
        handed: Testbed -> trials that it has been given and that have not come back.
    """
    names = sorted(name for name, number in seats.items() if number)
    if not names:
        return None
    preferred = names[repetition % len(names)]
    if handed.get(preferred, 0) < most_handed(seats[preferred]):
        return preferred
    idle = [name for name in names if handed.get(name, 0) < seats[name]]
    return max(idle, key=lambda name: seats[name] - handed.get(name, 0), default=None)
