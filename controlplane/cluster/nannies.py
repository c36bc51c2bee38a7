"""The keepers of a machine's worker processes, as long as one of them has its scheduler."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

AGAIN_S = 2.0
"""How long to wait before a scheduler that is not there is looked for again."""
CLOSE_S = 10.0
"""How long a worker may take to end before it is killed."""


class Nannies:
    """Dask's nannies, each of which starts its worker process again when it is killed.

    A worker ends with its connection to the scheduler, and its nanny with it. When the network was
    cut for about as long as TCP is patient, that may be one worker of several: it is started anew,
    and the others go on.

    Args:
        nannies: They have not started yet.
        make: Makes one of a worker's name.
        stop: Set when they are about to be closed.
    """

    def __init__(
        self, nannies: list[Any], make: Callable[[str | None], Any], stop: asyncio.Event
    ) -> None:
        self._nannies = nannies
        self._make = make
        self._stop = stop

    async def run(self, ready: Callable[[], None]) -> None:
        """Start them; returns when all have ended.

        Args:
            ready: Called when all have started.
        """
        await asyncio.gather(*self._nannies)
        ready()
        await asyncio.gather(*map(self._keep, range(len(self._nannies))))

    async def _keep(self, place: int) -> None:
        name = self._nannies[place].name
        await self._nannies[place].finished()
        while self._others_go_on:
            self._nannies[place] = self._make(name)
            with suppress(Exception):  # the scheduler may be gone, or know the old one still
                await self._nannies[place]
                await self._nannies[place].finished()
            await asyncio.sleep(AGAIN_S)

    @property
    def _others_go_on(self) -> bool:
        running = any(nanny.status.name == "running" for nanny in self._nannies)
        return running and not self._stop.is_set()

    async def close(self) -> None:
        """End them, also those that have not started; one that fails to does not keep others."""
        closing = (n.close(timeout=CLOSE_S, reason="nashbed-worker-stops") for n in self._nannies)
        await asyncio.gather(*closing, return_exceptions=True)
