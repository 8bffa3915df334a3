"""A web server for this machine alone: it knows the files of a site and nothing else.

It listens on the loopback address, answers only requests addressed to it by a loopback name (another name in ``Host``
means that some web page makes the browser ask), and no path ever reaches the file system.
"""

from __future__ import annotations

import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import unquote, urlsplit

from unbraid.errors import UsageError
from unbraid.report.explorer.site import Site

__all__ = ["ADDRESS", "LoopbackServer", "serve"]

ADDRESS = "127.0.0.1"
THREADS = 64
"""Connections served at once; the others wait in the queue."""
IDLE = 5.0
"""Seconds after which a connection that says nothing is closed."""
TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "png": "image/png",
    "txt": "text/plain; charset=utf-8",
}
HEADERS = {
    # The page may talk to this server and run WebAssembly, and may be framed by its own comparison only.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class LoopbackServer(ThreadingHTTPServer):
    """Serves a site on 127.0.0.1; ``port`` 0 takes any free one."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, site: Site, port: int = 0) -> None:
        if not 0 <= port < 65536:
            raise UsageError(f"port must lie in 0..65535, got {port}")
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise UsageError(f"port {port} cannot be used ({error.strerror}); try another one, or 0 for any") from error
        self.site, self._places = site, BoundedSemaphore(THREADS)
        self._open: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Start a thread for a connection as soon as there is a place."""
        self._places.acquire()
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._places.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._open.discard(request)
            self._places.release()

    @property
    def crowded(self) -> bool:
        """Whether most places are taken, so that connections should not be kept open for a next request."""
        return len(self._open) > THREADS // 2

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that closes its connections is no error to tell of."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: LoopbackServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "unbraid", ""
    timeout = IDLE

    def do_GET(self) -> None:
        hosts = self.headers.get_all("Host", [])
        if len(hosts) > 1:
            self._answer(HTTPStatus.BAD_REQUEST, b"a request names one host\n")
            return
        if "".join(hosts).lower() not in self._names():
            self._answer(HTTPStatus.MISDIRECTED_REQUEST, b"this server answers to loopback names only\n")
            return
        try:
            path = unquote(urlsplit(self.path).path).removeprefix("/")
        except ValueError:  # such as http://[
            self._answer(HTTPStatus.BAD_REQUEST, b"this is no address\n")
            return
        if path == "" or path.endswith("/"):
            path += "index.html"
        try:
            content = self.server.site.get(path)
        except UsageError as error:
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{error}\n".encode())
            return
        except Exception as error:  # the reader of the page is to see it too, and the next request is to be answered
            self._answer(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}\n".encode())
            raise
        if content is None:
            self._answer(HTTPStatus.NOT_FOUND, b"no such file\n")
        else:
            self._answer(HTTPStatus.OK, content, TYPES[path.rpartition(".")[2]])

    def do_HEAD(self) -> None:
        self.do_GET()

    def _names(self) -> tuple[str, ...]:
        port = self.server.server_port
        names = (ADDRESS, "localhost")
        return tuple(f"{name}:{port}" for name in names) + (names if port == 80 else ())  # browsers leave 80 out

    def _answer(self, status: HTTPStatus, content: bytes, kind: str = TYPES["txt"]) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if self.server.crowded:
            self.send_header("Connection", "close")  # which also makes this side close
        self.end_headers()
        if self.command != "HEAD":
            try:
                self.wfile.write(content)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the reader has left

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name the base class gives it)
        """The browser shows what went wrong; the terminal stays quiet."""


def serve(site: Site, *, port: int = 0, browser: bool = True) -> None:
    """Serve a site until interrupted, and open it in the browser."""
    import webbrowser

    with LoopbackServer(site, port) as server:
        print(f"{server.url}  (Ctrl-C to stop)", flush=True)
        if browser:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
