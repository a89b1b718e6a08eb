"""Neighbours that mean harm: game servers' RCON (TCP), A2S (UDP) and web admin (HTTP), and webhooks (HTTP).

Each draws anew for every connection or packet what it does. The forms of packets are those of "Source RCON Protocol"
and "Server queries" of the Valve Developer Community.
"""

from __future__ import annotations

import bz2
import gzip
import socket
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from random import Random
from threading import Event, Thread

PASSWORD = "not a secret"
LONGEST = 8.0
"""Seconds for which a neighbour keeps one connection busy."""
AUTH, AUTH_RESPONSE, VALUE = 3, 2, 0
PLAIN, SPLIT = b"\xff\xff\xff\xff", b"\xfe\xff\xff\xff"
CHALLENGE = PLAIN + b"A\x0b\x0d\x0e\x0f"
STATE = b'{"map": "ns2_veil", "server_name": "Fair", "player_list": [], "cheats": "false"}'
INFO = PLAIN + b"I\x11Fair Arena\0koth_harvest\0tf\0Team Fortress\0" + struct.pack("<HBBB", 440, 3, 24, 1) + b"dl\0\x01"


class Neighbour:
    """What all have: a socket, a luck of its own, and an end."""

    def __init__(self, rng: Random, ends: Event, tried: Counter[str]) -> None:
        self.rng, self.ends, self.tried = rng, ends, tried

    def draw(self, *ways: Callable[..., None]) -> Callable[..., None]:
        way = self.rng.choice(ways)
        self.tried[f"{type(self).__name__}.{way.__name__}"] += 1
        return way

    def waits(self) -> None:
        self.ends.wait(self.rng.uniform(0.0, LONGEST))

    def drips(self, client: socket.socket, data: bytes) -> None:
        """A byte at a time."""
        for byte in data:
            client.sendall(bytes([byte]))
            if self.ends.wait(0.05):
                return

    def pours(self, client: socket.socket, data: bytes) -> None:
        """The same without an end, as fast as it is taken."""
        ends_at = time.monotonic() + LONGEST
        while time.monotonic() < ends_at and not self.ends.is_set():
            client.sendall(data)


class Tcp(Neighbour):
    """A listener, with a thread for each connection."""

    def __init__(self, rng: Random, ends: Event, tried: Counter[str]) -> None:
        super().__init__(rng, ends, tried)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.2)
        self.port = int(self.listener.getsockname()[1])

    def serve(self) -> None:
        with self.listener:
            while not self.ends.is_set():
                with suppress(TimeoutError):
                    client, _ = self.listener.accept()
                    Thread(target=self.meet, args=(client,), daemon=True).start()

    def meet(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(LONGEST)
            self.one(client)

    def one(self, client: socket.socket) -> None:
        raise NotImplementedError


class Rcon(Tcp):
    def one(self, client: socket.socket) -> None:
        if self.rng.random() < 0.7:  # the login goes well
            number = struct.unpack("<ii", client.recv(4096)[4:12])[0]
            client.sendall(packet(number, VALUE, b"") + packet(number, AUTH_RESPONSE, b""))
        ways = (self.silent, self.cut, self.huge, self.negative, self.wrong_ids, self.flood, self.slow, self.garbage)
        self.draw(*ways, self.endless, self.right)(client)

    def silent(self, client: socket.socket) -> None:
        self.waits()

    def cut(self, client: socket.socket) -> None:
        client.sendall(packet(client.recv(4096)[4], VALUE, b"half of it")[: self.rng.randrange(1, 20)])

    def huge(self, client: socket.socket) -> None:
        client.sendall(struct.pack("<iii", 2**31 - 1, 1, VALUE))
        self.pours(client, bytes(65536))

    def negative(self, client: socket.socket) -> None:
        client.sendall(struct.pack("<iii", self.rng.choice((-1, 0, 9, -(2**31))), 1, VALUE) * 50)

    def wrong_ids(self, client: socket.socket) -> None:
        client.recv(4096)
        for number in (-1, 0, 77, 2**31 - 1):
            client.sendall(packet(number, self.rng.choice((VALUE, AUTH_RESPONSE, 99)), b"for somebody else"))
        self.waits()

    def flood(self, client: socket.socket) -> None:
        self.pours(client, packet(-5, VALUE, b"x" * 4000) * 16)

    def slow(self, client: socket.socket) -> None:
        self.drips(client, packet(1, VALUE, b"slowly, " * 20))

    def garbage(self, client: socket.socket) -> None:
        client.sendall(self.rng.randbytes(self.rng.randrange(1, 5000)))
        self.waits()

    def endless(self, client: socket.socket) -> None:
        number = struct.unpack("<i", client.recv(4096)[4:8])[0]
        self.pours(client, packet(number, VALUE, b"\x1b]0;more\x07" * 400))

    def right(self, client: socket.socket) -> None:
        while data := client.recv(4096):
            for place in packets(data):
                client.sendall(packet(struct.unpack("<i", data[place + 4 : place + 8])[0], VALUE, b"done"))


class Webhook(Tcp):
    def one(self, client: socket.socket) -> None:
        head = client.recv(65536)
        if not head:
            return
        ways = (self.silent, self.cut, self.slow, self.endless, self.packed, self.broken, self.wait_for_years)
        self.draw(*ways, self.elsewhere, self.no_http, self.right)(client)

    def silent(self, client: socket.socket) -> None:
        self.waits()

    def cut(self, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")

    def slow(self, client: socket.socket) -> None:
        self.drips(client, b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n" + b"{" * 200)

    def endless(self, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.pours(client, b"10000\r\n" + b"x" * 65536 + b"\r\n")

    def packed(self, client: socket.socket) -> None:
        body = gzip.compress(bytes(50 << 20), 1)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n"
        client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def broken(self, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 %d Broken\r\nContent-Length: 0\r\n\r\n" % self.rng.choice((400, 404, 500, 503)))

    def wait_for_years(self, client: socket.socket) -> None:
        seconds = self.rng.choice((b"1e308", b"-5", b"99999999999", b"nan", b"tomorrow"))
        body = b'{"retry_after": %s, "global": true}' % seconds
        head = b"HTTP/1.1 429 Slow\r\nRetry-After: %s\r\nContent-Length: %d\r\n\r\n"
        client.sendall(head % (seconds, len(body)) + body)

    def elsewhere(self, client: socket.socket) -> None:
        where = b"http://127.0.0.1:%d/again" % self.port
        client.sendall(b"HTTP/1.1 307 There\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n" % where)

    def no_http(self, client: socket.socket) -> None:
        client.sendall(self.rng.randbytes(3000))

    def right(self, client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 204 Done\r\n\r\n")


class WebAdmin(Webhook):
    """NS2's: a question about its state, or a command, with a login that is asked for."""

    def one(self, client: socket.socket) -> None:
        head = client.recv(65536)
        if head and b"\r\nAuthorization:" not in head and self.rng.random() < 0.7:
            realm = self.rng.choice((b"ns2", b"x" * 5000, b"\xff\xfe", b""))
            client.sendall(b'HTTP/1.1 401 Login\r\nWWW-Authenticate: Digest realm="%s", ' % realm)
            client.sendall(b'nonce="%d", qop="auth"\r\nContent-Length: 0\r\n\r\n' % self.rng.randrange(10**9))
            return
        ways = (self.silent, self.cut, self.slow, self.endless, self.packed, self.broken, self.elsewhere, self.no_http)
        self.draw(*ways, self.loads, self.half, self.strange, self.crowded, self.no_login, self.right, self.right)(
            client
        )

    def says(self, client: socket.socket, body: bytes) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    def loads(self, client: socket.socket) -> None:
        self.says(client, self.rng.choice((b"", b" \r\n")))

    def half(self, client: socket.socket) -> None:
        self.says(client, STATE[: self.rng.randrange(1, len(STATE))])

    def strange(self, client: socket.socket) -> None:
        self.says(
            client, self.rng.choice((b"[]", b"null", b"1e999", b"[" * 100_000, b'{"map": 1}', b'{"map": "\xff"}'))
        )

    def crowded(self, client: socket.socket) -> None:
        """More players than an answer may have bytes."""
        self.says(client, STATE.replace(b"[]", b"[" + b'{"isbot": "false"},' * 100_000 + b"{}]"))

    def no_login(self, client: socket.socket) -> None:
        """A refusal without a way to log in, which is not one of the password."""
        client.sendall(b"HTTP/1.1 401 Login\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")

    def right(self, client: socket.socket) -> None:
        self.says(client, STATE)


class Query(Neighbour):
    """A2S."""

    def __init__(self, rng: Random, ends: Event, tried: Counter[str]) -> None:
        super().__init__(rng, ends, tried)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.2)
        self.port = int(self.socket.getsockname()[1])

    def serve(self) -> None:
        with self.socket:
            while not self.ends.is_set():
                with suppress(OSError):
                    _, where = self.socket.recvfrom(4096)
                    ways = (self.challenge, self.split, self.packed, self.flood, self.garbage, self.cut, self.right)
                    self.draw(*ways, self.silent)(where)

    def silent(self, where: tuple[str, int]) -> None:
        """Nothing comes."""

    def challenge(self, where: tuple[str, int]) -> None:
        for _ in range(20):
            self.socket.sendto(CHALLENGE, where)

    def split(self, where: tuple[str, int]) -> None:
        for place in range(200):
            self.socket.sendto(SPLIT + struct.pack("<iBBH", 7, 200, place, 1248) + bytes(1200), where)

    def packed(self, where: tuple[str, int]) -> None:
        """A kilobyte that would be a gigabyte."""
        head = struct.pack("<IBBHII", 0x80000007, 1, 0, 1248, 1 << 30, 0)
        self.socket.sendto(SPLIT + head + bz2.compress(bytes(4 << 20)), where)

    def flood(self, where: tuple[str, int]) -> None:
        for _ in range(3000):
            self.socket.sendto(PLAIN + b"D\xff" + b"name\0" * 200, where)

    def garbage(self, where: tuple[str, int]) -> None:
        self.socket.sendto(self.rng.randbytes(self.rng.randrange(1400)), where)
        self.socket.sendto(b"", where)

    def cut(self, where: tuple[str, int]) -> None:
        self.socket.sendto(INFO[: self.rng.randrange(len(INFO))], where)

    def right(self, where: tuple[str, int]) -> None:
        self.socket.sendto(INFO, where)


def packet(number: int, kind: int, body: bytes) -> bytes:
    return struct.pack("<iii", len(body) + 10, number, kind) + body + b"\0\0"


def packets(data: bytes) -> Iterator[int]:
    """Where packets begin."""
    place = 0
    while place + 12 <= len(data):
        yield place
        place += 4 + max(0, struct.unpack("<i", data[place : place + 4])[0])


@contextmanager
def neighbours(rng: Random, tried: Counter[str]) -> Iterator[tuple[Rcon, WebAdmin, Query, Webhook]]:
    """One of each, until the block ends."""
    ends = Event()
    everybody = tuple(kind(Random(rng.random()), ends, tried) for kind in (Rcon, WebAdmin, Query, Webhook))
    threads = [Thread(target=each.serve) for each in everybody]
    for thread in threads:
        thread.start()
    try:
        yield everybody  # type: ignore[misc]
    finally:
        ends.set()
        for thread in threads:
            thread.join()
