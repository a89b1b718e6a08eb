"""A peer on a real socket that answers each connection with bytes a test wrote down."""

import socket
import struct
from enum import Enum, auto
from threading import Event, Thread


class Then(Enum):
    """What a peer does besides sending: stay silent until it is stopped, or reset the connection."""

    SILENCE = auto()
    RESET = auto()


def answer(status: int, body: str | bytes = b"", **headers: str) -> bytes:
    """A whole HTTP/1.1 answer."""
    data = body.encode() if isinstance(body, str) else body
    named = {"Content-Length": str(len(data)), **{name.replace("_", "-"): value for name, value in headers.items()}}
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in named.items())]
    return "\r\n".join([*lines, "", ""]).encode() + data


class Peer:
    """Answers the first connection with the first script, and so on; the last is used again.

    A script is a list of bytes to send, of `Then`, and of events to wait for; after it the connection is closed.
    `requests` are the texts that came.
    """

    def __init__(self, *scripts: "list[bytes | Then | Event]") -> None:
        self.scripts = list(scripts) or [[answer(200, '{"ok": true}')]]
        self.requests: list[str] = []
        self._stopped = Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1/events"
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def stop(self) -> None:
        """Close the port and end what is silent."""
        self._stopped.set()
        with socket.create_connection(("127.0.0.1", self.port)):
            pass
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._stopped.is_set():
                connection.close()
                return
            script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
            self._threads.append(Thread(target=self._serve, args=(connection, script)))
            self._threads[-1].start()

    def _serve(self, connection: socket.socket, script: "list[bytes | Then | Event]") -> None:
        with connection:
            self.requests.append(_read(connection))
            for step in script:
                if isinstance(step, bytes):
                    connection.sendall(step)
                elif isinstance(step, Event):
                    step.wait()
                elif step is Then.SILENCE:
                    self._stopped.wait()
                else:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _read(connection: socket.socket) -> str:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    size = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length")), 0)
    while len(body) < size:
        body += connection.recv(65536)
    return (head + b"\n\n" + body).decode().replace("\r\n", "\n")
