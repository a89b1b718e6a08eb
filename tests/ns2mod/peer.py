"""A small HTTP server that writes down the forms it gets."""

from __future__ import annotations

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import parse_qsl


class Peer:
    """Listens on a free port of the loopback while it is entered."""

    def __init__(self) -> None:
        self.body = "yes"
        self.status = 200
        self.echoes = False
        """The body is the field `data` of the form."""
        self.gate: threading.Event | None = None
        """Requests wait for it before they are answered."""
        self.forms: list[dict[str, str]] = []
        self.types: list[str] = []
        peer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                peer.answer(self)

            do_GET = do_POST

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        if self.gate:
            self.gate.wait(60)
        data = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        self.types.append(handler.headers.get("Content-Type", ""))
        form = dict(parse_qsl(data.decode(), keep_blank_values=True))
        self.forms.append(form)
        body = (form["data"] if self.echoes else self.body).encode()
        handler.send_response(self.status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def settle(self, count: int) -> None:
        """Wait in real time until that many requests came, and a moment for those that should not."""
        end = time.monotonic() + 60
        while len(self.forms) < count and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(0.05)

    def __enter__(self) -> Peer:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
