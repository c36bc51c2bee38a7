"""An ssh server in this process, that runs commands on this machine: asyncssh's own."""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh


@dataclass
class SshServer:
    """A running server.

    Attributes:
        port: Its port on 127.0.0.1.
        known_hosts: A file with its key.
        commands: What was run.
    """

    port: int
    known_hosts: Path
    commands: list[str] = field(default_factory=list)


class _Open(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return False


class _Closed(asyncssh.SSHServer):
    def begin_auth(self, username: str) -> bool:
        return True


@contextmanager
def ssh_server(folder: Path, lets_in: bool = True) -> Iterator[SshServer]:
    """Run a server.

    Args:
        folder: For its known_hosts file.
        lets_in: Whether everybody may log in, or nobody.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def call(coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(30)

    key = asyncssh.generate_private_key("ssh-ed25519")
    server = SshServer(0, folder / "known_hosts")

    async def listen() -> Any:
        return await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[key],
            server_factory=_Open if lets_in else _Closed,
            process_factory=lambda process: _run(server, process),
        )

    acceptor = call(listen())
    server.port = acceptor.get_port()
    public = key.export_public_key().decode().strip()
    server.known_hosts.write_text(f"[127.0.0.1]:{server.port} {public}\n")
    try:
        yield server
    finally:
        call(_end(acceptor))
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


async def _end(acceptor: Any) -> None:
    """Close the server, once its commands have ended: they do with their connections."""
    acceptor.close()
    await acceptor.wait_closed()
    own = asyncio.current_task()
    running = {task for task in asyncio.all_tasks() if task is not own}
    _, pending = await asyncio.wait(running, timeout=10) if running else (set(), set())
    for task in pending:
        task.cancel()
    await asyncio.gather(*pending, return_exceptions=True)


async def _run(server: SshServer, process: Any) -> None:
    """Run a command; it is killed with its connection, as sshd does on `kill`."""
    server.commands.append(process.command)
    child = await asyncio.create_subprocess_shell(
        process.command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    process.signal_received = lambda name: _signal(child.pid, name)
    await process.redirect(child.stdin, child.stdout, child.stderr)
    ended = asyncio.create_task(child.wait())
    left = asyncio.create_task(process.wait_closed())
    await asyncio.wait({ended, left}, return_when=asyncio.FIRST_COMPLETED)
    if not ended.done():
        _signal(child.pid, "KILL")
    process.exit(await ended)
    left.cancel()


def _signal(group: int, name: str) -> None:
    """Send a signal to all processes of a command, as sshd does."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, getattr(signal, f"SIG{name}"))
