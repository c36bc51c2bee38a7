"""One QUIC flow of bulk data between a server, which sends, and a client, by aioquic.

aioquic_flow.py server ADDRESS PORT CC KEY.pem CERTIFICATE.pem QLOG
aioquic_flow.py client ADDRESS PORT CLIENT_PORT
"""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import sys
from pathlib import Path
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import HandshakeCompleted, QuicEvent
from aioquic.quic.logger import QuicLogger

WINDOW = 1 << 26
"""Bytes that a client lets a server have under way, so that flow control limits nothing."""
AHEAD = 1 << 21
"""Bytes that a server keeps written, those under way included."""
ALPN = ["flow"]


class Sending(QuicConnectionProtocol):
    """Sends on one stream from the handshake on."""

    _stream: int | None = None

    def quic_event_received(self, event: QuicEvent) -> None:
        """Begin once the handshake is complete."""
        if isinstance(event, HandshakeCompleted):
            self._stream = self._quic.get_next_available_stream_id(is_unidirectional=True)
            self._fill(self._stream)

    def datagram_received(self, data: bytes | str, addr: Any) -> None:
        """Take a datagram, and write more where it acknowledged something."""
        super().datagram_received(data, addr)
        if self._stream is not None:
            self._fill(self._stream)

    def _fill(self, number: int) -> None:
        stream = self._quic._streams.get(number)
        if stream is None or len(stream.sender._buffer) < AHEAD:
            self._quic.send_stream_data(number, bytes(AHEAD))
            self.transmit()


async def send(address: str, port: str, cc: str, key: str, certificate: str, qlog: str) -> None:
    """Send to who connects until SIGTERM; then write the qlog."""
    log = QuicLogger()
    config = QuicConfiguration(is_client=False, alpn_protocols=ALPN, quic_logger=log)
    config.congestion_control_algorithm = cc
    config.load_cert_chain(certificate, key)
    await serve(address, int(port), configuration=config, create_protocol=Sending)
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    await over.wait()
    Path(qlog).write_text(json.dumps(log.to_dict()) + "\n", encoding="utf-8")


async def receive(address: str, port: str, own_port: str) -> None:
    """Read what comes until somebody ends this process."""
    config = QuicConfiguration(alpn_protocols=ALPN, verify_mode=ssl.CERT_NONE)
    config.max_data = config.max_stream_data = WINDOW
    async with connect(address, int(port), configuration=config, local_port=int(own_port)) as peer:
        await peer.wait_closed()


if __name__ == "__main__":
    role, *words = sys.argv[1:]
    asyncio.run({"server": send, "client": receive}[role](*words))
