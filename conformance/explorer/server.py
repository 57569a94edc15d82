"""The page on this machine: a server on 127.0.0.1 that knows two kinds of paths and one method."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import ClassVar, Final
from urllib.parse import unquote

import msgspec

from raincheck.conformance.errors import UsageError

from .cases import Ask
from .document import Document
from .page import page, policy

HOST: Final = "127.0.0.1"
_STATE: Final = "/state/"
_PATIENCE: Final = 10.0
"""Seconds after which a connection that asks for nothing is closed."""


class _Handler(BaseHTTPRequestHandler):
    """Answers for one page; the subclass that `serving` makes says for which."""

    server_version = "raincheck"
    sys_version = ""
    timeout = _PATIENCE
    text: ClassVar[bytes] = b""
    ask: ClassVar[Ask]
    lock: ClassVar[Lock]

    def do_GET(self) -> None:
        """Answer with the page or with a state; refuse anything else."""
        port = self.connection.getsockname()[1]
        if self.headers.get("Host") not in (f"{HOST}:{port}", f"localhost:{port}"):
            # A name of somebody else's that leads here would let their pages read this one.
            self._answer(HTTPStatus.FORBIDDEN, b"Ask for 127.0.0.1.\n", "text/plain")
        elif self.path == "/":
            self._answer(HTTPStatus.OK, self.text, "text/html")
        elif self.path.startswith(_STATE):
            with self.lock:
                state = type(self).ask(unquote(self.path.removeprefix(_STATE)))
            if state is None:
                self._answer(HTTPStatus.NOT_FOUND, b"There is no such state.\n", "text/plain")
            else:
                self._answer(HTTPStatus.OK, msgspec.json.encode(state), "application/json")
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"There is / and /state/NAME.\n", "text/plain")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Security-Policy", f"{policy()}; frame-ancestors 'none'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal belongs to the verb."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a browser may leave at any time."""


@contextmanager
def serving(document: Document, ask: Ask, port: int = 0) -> Iterator[str]:
    """Serve the page, and yield its address; port 0 is any that is free.

    Raise UsageError if the port cannot be had.
    """
    parts = {
        "text": page(document).encode(),
        "ask": staticmethod(ask),
        "lock": Lock(),
    }
    handler = type("Handler", (_Handler,), parts)
    try:
        server = _Server((HOST, port), handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"Port {port} of {HOST} cannot be used ({reason}): choose another --port."
        ) from error
    thread = Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
