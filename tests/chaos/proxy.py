"""A TCP proxy that loses answers and cuts requests, one request per connection."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random
from threading import Lock, Thread

FATES = ("pass", "lose the answer", "cut the request", "cut the answer", "delay the answer")


class Proxy:
    """What happens to a request is drawn from `rng`; `counts` says how often something did."""

    def __init__(self, port: int, rng: Random) -> None:
        self._target, self._rng, self._lock = port, rng, Lock()
        self.counts = dict.fromkeys(FATES, 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads: list[Thread] = []

    def serve(self) -> None:
        """Until the listener is closed."""
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                thread = Thread(target=self._one, args=(client,))
                thread.start()
                self._threads.append(thread)

    def close(self) -> None:
        """Wait for requests under way."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _one(self, client: socket.socket) -> None:
        with self._lock:
            fate = self._rng.choices(FATES, (4, 3, 1, 1, 1))[0]
            wait = self._rng.uniform(0.05, 0.5)
            self.counts[fate] += 1
        with client, suppress(OSError):
            client.settimeout(10.0)
            request = read_request(client)
            with socket.create_connection(("127.0.0.1", self._target), 10.0) as daemon:
                if fate == "cut the request":
                    daemon.sendall(request[: len(request) // 2])
                    return
                daemon.sendall(request)
                answer = b"".join(iter(lambda: daemon.recv(65536), b""))
            if fate == "delay the answer":
                time.sleep(wait)
            if fate == "cut the answer":
                # Inside the body: a head without its end is read as a whole one by Python's client.
                answer = answer[: -1 - len(answer.partition(b"\r\n\r\n")[2]) // 2]
            if fate != "lose the answer":
                client.sendall(answer)


def read_request(client: socket.socket) -> bytes:
    """Head and body; OSError when the client ends it early."""
    request = b""
    while not (head := request.partition(b"\r\n\r\n"))[1] or len(head[2]) < length_of(head[0]):
        more = client.recv(65536)
        if not more:
            raise ConnectionError("the request is not whole")
        request += more
    return request


def length_of(head: bytes) -> int:
    """Of the body."""
    found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    return int(found[1]) if found else 0


@contextmanager
def proxy(port: int, rng: Random) -> Iterator[Proxy]:
    """A proxy in front of a port, on a port of its own."""
    between = Proxy(port, rng)
    serving = Thread(target=between.serve)
    serving.start()
    try:
        yield between
    finally:
        between.close()
        serving.join()
