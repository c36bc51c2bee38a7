"""`nashbed scheduler`: a Dask scheduler on this machine, until stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ..contract.cluster import ClusterTls
from ..contract.errors import HostError
from .patience import prefer_our_patience
from .quiet import quiet
from .security import check_host, dask_security
from .signals import stop_requested

DEFAULT_PORT = 8786


def serve_scheduler(
    host: str,
    port: int,
    dashboard: str,
    tls: ClusterTls | None,
    private_network: bool,
    say: Callable[[str], None],
) -> None:
    """Run a scheduler until Ctrl-C or SIGTERM.

    Args:
        host: Name or address that it listens on; with TLS also 0.0.0.0, every network.
        port: Its port; 0: any free one.
        dashboard: ADDRESS:PORT of the dashboard, which is not encrypted.
        tls: Its certificates; without, it listens on this machine or a private network only.
        private_network: Whether private addresses are allowed without TLS.
        say: Called with a line for the user.

    Raises:
        ConfigError: The host may not be listened on without TLS.
        HostError: The port is taken, or the address is not of this machine.
    """
    address = check_host(host, private_network)[0] if tls is None else host
    prefer_our_patience()
    with quiet():
        asyncio.run(_serve(_options(address, port, dashboard, tls), say))


def _options(address: str, port: int, dashboard: str, tls: ClusterTls | None) -> dict[str, Any]:
    return {
        "host": address,
        "port": port,
        "protocol": "tcp://" if tls is None else "tls://",
        "security": dask_security(tls),
        "dashboard_address": dashboard,
    }


async def _serve(options: dict[str, Any], say: Callable[[str], None]) -> None:
    import distributed  # noqa: PLC0415 - Dask takes long to import

    stop = stop_requested()
    make: Any = distributed.Scheduler  # Dask has no types
    scheduler = make(**options)
    try:
        await scheduler
    except Exception as error:
        raise HostError(_not_started(options, error)) from error
    try:
        say(f"scheduler at {scheduler.address} (Ctrl-C stops)")
        finished = asyncio.create_task(scheduler.finished())
        asked = asyncio.create_task(stop.wait())
        await asyncio.wait({finished, asked}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        await scheduler.close(reason="nashbed-scheduler-stops")


def _not_started(options: dict[str, Any], error: BaseException) -> str:
    place = f"{options['protocol']}{options['host']}:{options['port']}"
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OSError):
        cause = cause.__cause__
    reason = (cause.strerror or str(cause)) if isinstance(cause, OSError) else str(error)
    return f"{place}: cannot listen there: {reason}; give another --host or --port"
