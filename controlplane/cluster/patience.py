"""How long a scheduler of ours waits for a worker that says nothing."""

from __future__ import annotations

from typing import Any

WORKER_TTL = "60 s"
"""A worker whose connection lives but which says nothing for so long is started anew (Dask looks
once in that time, so it may take twice as long). Dask's own five minutes are long where one that
hangs holds a trial up; a worker says something at least every 6 s, with a thousand of them."""


def prefer_our_patience() -> None:
    """Put our value in the place of Dask's default; what the user has configured stays."""
    import dask.config  # noqa: PLC0415 - Dask takes long to import
    import distributed  # noqa: F401, PLC0415 - brings the defaults of its configuration

    change: Any = dask.config.update_defaults  # Dask has no types
    change({"distributed": {"scheduler": {"worker-ttl": WORKER_TTL}}})
