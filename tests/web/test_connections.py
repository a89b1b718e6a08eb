"""Clients without a secret cannot keep game servers out, however many sockets they open and however slow they are."""

from __future__ import annotations

import asyncio
import hashlib
import json
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from equipoise.service.metrics import Metrics
from equipoise.web import requests
from equipoise.web.refusals import Refusals
from tests.daemons import RealDaemon
from tests.web.daemon import CONFIG, SECRETS, Daemon, running
from tests.wire.samples import body

pytestmark = pytest.mark.slow

MOST = 16
FEW = CONFIG.replace("port = 0", f"port = 0\nmax_connections = {MOST}")
EVENTS = "POST /v1/events HTTP/1.1"


@contextmanager
def few(folder: Path) -> Iterator[Daemon]:
    """A daemon with few connections."""
    with running(folder, FEW) as daemon:
        yield daemon


class Client:
    """A socket to the daemon."""

    def __init__(self, host: str, port: int, source: str = "127.0.0.1") -> None:
        self.host = f"{host}:{port}"
        self.socket = socket.create_connection((host, port), timeout=60, source_address=(source, 0))

    def send(self, *lines: str, secret: str | None = None, body: bytes = b"", length: int | None = None) -> None:
        """A request whose body may be shorter than it says."""
        head = [*lines, f"Host: {self.host}", "Content-Type: application/json"]
        head += [] if secret is None else [f"Authorization: Bearer {secret}"]
        head += [f"Content-Length: {len(body) if length is None else length}", "", ""]
        self.socket.sendall("\r\n".join(head).encode() + body)

    def answer(self) -> bytes:
        """One answer; less when the connection ends before."""
        data = b""
        while b"\r\n\r\n" not in data and (more := self.socket.recv(65536)):
            data += more
        head, _, rest = data.partition(b"\r\n\r\n")
        length = next((int(line.split()[1]) for line in head.splitlines() if line.startswith(b"Content-Length")), 0)
        while len(rest) < length and (more := self.socket.recv(65536)):
            rest += more
        return head + b"\r\n\r\n" + rest

    def post(self, server: str, seq: int, *, secret: str | None = None) -> int:
        """The status of the answer to a batch of a game script."""
        self.send(EVENTS, secret=secret or SECRETS[server], body=body(server=server, seq=seq))
        return int(self.answer().split()[1])

    def ended(self) -> bool:
        """Wait for the daemon to close it; False: it sent something first."""
        try:
            return self.socket.recv(1) == b""
        except ConnectionResetError:
            return True


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def connect(stack: ExitStack, daemon: Daemon, source: str = "127.0.0.1") -> Client:
    client = Client(daemon.host, daemon.port, source)
    stack.callback(client.socket.close)
    return client


def metric(daemon: Daemon, name: str, **labels: str) -> float:
    """The sum of the metric's samples with these labels."""
    found = daemon.call("GET", "/metrics").raw.decode().splitlines()
    samples = [line for line in found if line.startswith((name + " ", name + "{"))]
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    return sum(float(line.rsplit(" ", 1)[1]) for line in samples if all(each in line for each in wanted))


def test_more_sockets_than_the_limit_do_not_keep_game_servers_out(tmp_path: Path, stack: ExitStack) -> None:
    names = [f"server-{number}" for number in range(20)]
    for name in names:
        (tmp_path / name).write_text(hashlib.sha256(name.encode()).hexdigest())
    settings = CONFIG.replace("port = 0", "port = 0\nmax_connections = 48")
    tables = "".join(f'[server.{name}]\nsecret_file = "{name}"\n' for name in names)
    with running(tmp_path, settings + tables) as daemon:
        kept = {name: connect(stack, daemon) for name in names}
        for seq in range(1, 5):
            for name, script in kept.items():
                assert script.post(name, seq, secret=name) == 200
            for number in range(100):
                connect(stack, daemon).socket.sendall(b"POST /v1/eve" * (number % 2))
            assert connect(stack, daemon).post("arena-1", seq) == 200
            assert metric(daemon, "equipoise_connections") <= 48
        assert metric(daemon, "equipoise_connections_closed_total") >= 300


def test_an_address_displaces_no_connection_of_another_that_has_fewer(
    tmp_path: Path, stack: ExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    with few(tmp_path) as daemon:
        slow = connect(stack, daemon)
        attackers = [connect(stack, daemon, "127.0.0.2") for _ in range(3 * MOST)]
        assert attackers[0].ended()
        assert attackers[MOST].ended()
        slow.send("GET /healthz HTTP/1.1")
        assert b" 200 OK" in slow.answer()
    first, again = (record for record in caplog.records if "to make room" in record.getMessage())
    assert (vars(first)["peer"], vars(again)["peer"]) == ("127.0.0.2", "127.0.0.2")
    assert vars(again)["count"] >= MOST


def test_a_caller_displaces_no_connection_of_another_who_has_fewer(tmp_path: Path, stack: ExitStack) -> None:
    with few(tmp_path) as daemon:
        other = connect(stack, daemon)
        assert other.post("ns2-1", 1) == 200
        many = []
        for seq in range(1, MOST + 5):
            many.append(connect(stack, daemon))
            assert many[-1].post("arena-1", seq) == 200
        assert many[0].ended()
        assert other.post("ns2-1", 2) == 200
        assert many[-1].post("arena-1", MOST + 5) == 200


def test_a_connection_without_a_request_is_closed(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    with few(tmp_path) as daemon:
        kept = connect(stack, daemon)
        assert kept.post("arena-1", 1) == 200
        monkeypatch.setattr(requests, "HEAD_SECONDS", 0.2)
        silent, half = (connect(stack, daemon) for _ in range(2))
        half.socket.sendall(b"POST /v1/events HTTP/1.1\r\nHost: ")
        assert silent.ended()
        assert half.ended()
        assert kept.post("arena-1", 2) == 200
        assert metric(daemon, "equipoise_connections_closed_total", reason="late") >= 2


@pytest.mark.parametrize("secret", [SECRETS["arena-1"], None])
def test_a_body_that_does_not_arrive_is_408(
    tmp_path: Path, stack: ExitStack, monkeypatch: pytest.MonkeyPatch, secret: str | None
) -> None:
    monkeypatch.setattr(requests, "BODY_SECONDS", 0.2)
    with few(tmp_path) as daemon:
        client = connect(stack, daemon)
        if secret:
            client.send(EVENTS, secret=secret, body=b'{"v": 1', length=1000)
        else:
            client.socket.sendall(
                f"{EVENTS}\r\nHost: {client.host}\r\nContent-Length: 9\r\n"
                "Content-Type: application/x-www-form-urlencoded\r\n\r\nsecret=".encode()
            )
        head, _, sent = client.answer().partition(b"\r\n\r\n")
        assert b" 408 " in head
        assert json.loads(sent)["error"]["code"] == "timeout"
        assert client.ended()


def test_a_connection_is_kept_once_it_has_carried_a_secret(tmp_path: Path, stack: ExitStack) -> None:
    with few(tmp_path) as daemon:
        client = connect(stack, daemon)
        client.send("GET /healthz HTTP/1.1")
        assert b"Connection: close" in client.answer()
        assert client.ended()
        client = connect(stack, daemon)
        assert client.post("arena-1", 1) == 200
        client.send(EVENTS, secret=SECRETS["arena-1"], body=b"{}")
        assert b" 422 " in client.answer()
        assert client.post("arena-1", 2) == 200


@pytest.mark.parametrize("size", [20_000, 300_000])
def test_a_refusal_can_be_read_after_all_of_the_body_was_sent(tmp_path: Path, stack: ExitStack, size: int) -> None:
    with few(tmp_path) as daemon:
        client = connect(stack, daemon)
        client.send(EVENTS, secret="wrong", body=b"x" * (size // 2), length=size)
        client.socket.sendall(b"x" * (size // 2))
        head, _, sent = client.answer().partition(b"\r\n\r\n")
        assert b"Connection: close" in head
        assert json.loads(sent)["ok"] is False
        assert client.socket.recv(1) == b""


def test_a_refused_body_is_not_read_for_ever(tmp_path: Path, stack: ExitStack) -> None:
    with few(tmp_path) as daemon:
        client = connect(stack, daemon)
        client.send(EVENTS, secret="wrong", length=1 << 40)
        with pytest.raises(ConnectionError):
            client.socket.sendall(bytes(100 << 20))


@pytest.mark.parametrize("secret", ["wrong", SECRETS["arena-1"]])
def test_what_follows_a_broken_body_is_not_kept(tmp_path: Path, stack: ExitStack, secret: str) -> None:
    with few(tmp_path) as daemon:
        client = connect(stack, daemon)
        head = (EVENTS, f"Host: {client.host}", "Content-Type: application/json", f"Authorization: Bearer {secret}")
        client.socket.sendall("\r\n".join((*head, "Transfer-Encoding: chunked", "", "0", "")).encode())
        with pytest.raises(ConnectionError):
            client.socket.sendall(b"A: %s\r\n" % (b"b" * 4000) * 8000)
        assert metric(daemon, "equipoise_connections_closed_total", reason="size") == 1


def test_out_of_open_files_is_logged_once_and_clients_are_still_answered(tmp_path: Path, stack: ExitStack) -> None:
    daemon = RealDaemon(tmp_path, forked=True)
    daemon.start()
    stack.callback(daemon.stop)
    assert daemon.ask("servers")["ok"]
    files = len(list(Path(f"/proc/{daemon.pid}/fd").iterdir())) + 8
    resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (files, files))
    for _ in range(40):
        stack.callback(socket.create_connection(("127.0.0.1", daemon.port), timeout=60).close)
    for _ in range(3):
        assert daemon.ask("servers")["ok"]
    log = (tmp_path / "daemon.log").read_text()
    assert log.count("cannot accept a connection: Too many open files") == 1
    assert "Traceback" not in log


async def nobody(request: web.BaseRequest) -> web.StreamResponse:
    raise AssertionError(f"{request.path} is asked for, and nobody asks here")


def test_a_client_who_comes_in_the_moment_of_a_stop_is_no_error() -> None:
    errors = list[dict[str, Any]]()

    async def stop() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: errors.append(context))
        metrics = Metrics()
        accepting = requests.Connections(web.Server(nobody), MOST, Refusals(metrics), metrics)
        listener = socket.create_server(("127.0.0.1", 0))
        task = asyncio.create_task(accepting.accept(listener))
        await asyncio.sleep(0.01)
        with socket.create_connection(listener.getsockname()):
            await asyncio.sleep(0)  # the loop has seen the client, and not accepted it yet
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert listener.fileno() == -1

    asyncio.run(stop())
    assert errors == []


def test_the_limit_of_open_files_is_raised_where_it_may_be() -> None:
    program = (
        "import resource; from equipoise.web.requests import fitting\n"
        "for hard in (4096, 128): resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard)); print(fitting(256))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["256", "64"]
