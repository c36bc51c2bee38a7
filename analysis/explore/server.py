"""The explorer's server: for one page, on loopback, for whoever has its address.

Every address begins with a random token; without it there is nothing. A page of another site
cannot be answered even if it gets a name of its own to lead here (DNS rebinding): the name that the
browser asked for must be a loopback one. The page may load and ask for nothing but what is here.
Only GET is answered; what is asked for is a name of a table, and never a path or a query language.
"""

import hmac
import secrets
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from urllib.parse import parse_qsl, urlsplit

from nashbed.controlplane.contract.errors import NashbedError

from .content import ANSWERS, BadQueryError, Explorer

ADDRESS = "127.0.0.1"
PAGE = {
    "": ("index.html", "text/html; charset=utf-8"),
    **{
        name: (name, "text/javascript; charset=utf-8")
        for name in ("raster.js", "brush.js", "trial.js", "save.js", "explorer.js")
    },
    "explorer.css": ("explorer.css", "text/css; charset=utf-8"),
    "uPlot.iife.min.js": ("vendor/uPlot.iife.min.js", "text/javascript; charset=utf-8"),
    "uPlot.min.css": ("vendor/uPlot.min.css", "text/css; charset=utf-8"),
}
"""Address below the token -> file of the page, and its type."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
BINARY = ("view", "samples")


class ExplorerServer(ThreadingHTTPServer):
    """Serves a run until it is shut down.

    Args:
        port: The port; 0: any that is free.
    """

    daemon_threads = True

    def __init__(self, explorer: Explorer, port: int = 0) -> None:
        super().__init__((ADDRESS, port), Handler)
        self.explorer = explorer
        self.token = secrets.token_urlsafe(24)
        here = files(__package__) / "page"
        self.page = {
            address: ((here / name).read_bytes(), kind) for address, (name, kind) in PAGE.items()
        }

    @property
    def address(self) -> str:
        """The page's address, with its token."""
        return f"http://{ADDRESS}:{self.server_port}/{self.token}/"


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or an answer waits 40 ms for the browser's delayed ACK
    server_version = "nashbed"
    sys_version = ""
    server: ExplorerServer

    def do_GET(self) -> None:
        """Answer the page, or what it asks for."""
        try:
            status, content, kind = self._answered()
        except BadQueryError as error:
            status, content, kind = HTTPStatus.BAD_REQUEST, str(error).encode(), "text/plain"
        except NashbedError as error:
            content, kind = error.message.encode(), "text/plain; charset=utf-8"
            status = HTTPStatus.UNPROCESSABLE_ENTITY
        with suppress(ConnectionError):  # the page has gone on
            self._send(status, content, kind)

    def _send(self, status: HTTPStatus, content: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _answered(self) -> tuple[HTTPStatus, bytes, str]:
        if not self._asked_by_loopback_name():
            return HTTPStatus.FORBIDDEN, b"only by a loopback name", "text/plain"
        address = urlsplit(self.path)
        token, slash, name = address.path.removeprefix("/").partition("/")
        if not slash or not hmac.compare_digest(token.encode(), self.server.token.encode()):
            return HTTPStatus.FORBIDDEN, b"not without the token that was told", "text/plain"
        if name in self.server.page:
            content, kind = self.server.page[name]
            return HTTPStatus.OK, content, kind
        if name not in ANSWERS:
            return HTTPStatus.NOT_FOUND, b"there is no such thing", "text/plain"
        content = ANSWERS[name](self.server.explorer, dict(parse_qsl(address.query)))
        kind = "application/octet-stream" if name in BINARY else "application/json"
        return HTTPStatus.OK, content, kind

    def _asked_by_loopback_name(self) -> bool:
        port = self.server.server_port
        return self.headers.get("Host") in (f"{ADDRESS}:{port}", f"localhost:{port}")

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the address has the token."""
