"""What workers tell the client while a run goes on, as events of a Dask topic for each run."""

from __future__ import annotations

STARTED = "started"
"""A trial has begun there: `trial`, `worker` (its address), `name`."""
REFUSED = "refused"
"""A worker takes no part: `worker`, `name`, `reasons` (a list of lines)."""
WANTS_KERNELS = "wants kernels"
"""A worker lacks kernels of virtual time: `worker`, `name`."""
LOGGED = "logged"
"""A line of a worker's log: `worker`, `name`, `level` (as in `logging`), `line`."""
OFFERS = "offers"
"""A worker is a real testbed and waits for the client's answer: `worker`, `name`, `offer` (a
`TestbedOffer`, as JSON)."""
JOINED = "joined"
"""A worker takes part: `worker`, `name`, `seats` (trials at once), `testbed` (of a real testbed its
name; empty: virtual time)."""


def topic_of(run: str) -> str:
    """The topic of a run.

    Args:
        run: Its name, as in `RunBundle`.
    """
    return f"nashbed-{run}"
