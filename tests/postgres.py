"""Real PostgreSQL servers for tests: Debian's, as a user who is not root, with fsync, and PgBouncer in front of one.

`postgres` is a server of the whole run: tests make databases of their own in it. Who stops or breaks one makes it by
`cluster`, which copies what `initdb` has made once.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import pwd
import select
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.chaos.daemon import free_port
from tests.programs import installed, missing

USER = "postgres"
"""Debian's, who may not read what root made: PostgreSQL refuses to run as root."""
OWNER, PASSWORD = "equipoise", "correct horse"
PATIENCE = 30.0
_numbers = count(1)


def program(name: str) -> str:
    """A program of the newest PostgreSQL that is installed; Debian has them outside of PATH."""
    paths = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    return str(paths[-1]) if paths else installed(name)


def unprivileged(command: list[str]) -> list[str]:
    if os.geteuid():
        return command
    return ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", "--", *command]


def _folder(prefix: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    _give(folder)
    return folder


def _give(path: Path) -> None:
    if os.geteuid() == 0:
        shutil.chown(path, USER, USER)


@dataclass
class Postgres:
    """A server, its superuser `postgres` and the role `equipoise`, who may make databases."""

    folder: Path
    port: int = field(default_factory=free_port)
    settings: dict[str, str] = field(default_factory=dict)
    machine: tuple[str, ...] = ()
    """What a command begins with that runs where the server does."""
    process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def url(self, database: str, *, role: str = OWNER, port: int | None = None, host: str = "127.0.0.1") -> str:
        return f"postgresql://{role}@{host}:{port or self.port}/{database}"

    def url_of_both(self, standby: Postgres, database: str) -> str:
        """The URL of whichever of the two takes writes."""
        hosts = f"127.0.0.1:{self.port},127.0.0.1:{standby.port}"
        return f"postgresql://{OWNER}@{hosts}/{database}?target_session_attrs=read-write"

    def start(self) -> None:
        settings = {"port": str(self.port), "unix_socket_directories": str(self.folder), **self.settings}
        options = [word for key, value in settings.items() for word in ("-c", f"{key}={value}")]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.machine, *unprivileged([program("postgres"), "-D", str(self.data), *options])],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C at the tests is not for it
                cwd="/",
            )
        ends_at = time.monotonic() + PATIENCE
        while not self.answers():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < ends_at, self.log()
            time.sleep(0.02)

    def answers(self) -> bool:
        """Whether it takes connections; while it recovers from a crash it does not."""
        command = [program("pg_isready"), "-q", "-h", str(self.folder), "-p", str(self.port)]
        return subprocess.run(command, check=False).returncode == 0

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT tells all clients, SIGKILL is a power cut of the server."""
        if self.process is None:
            return
        if how is signal.SIGKILL:
            self._kill_children()
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        self.process = None

    def _kill_children(self) -> None:
        """Each has a session of its own, so no signal reaches all; one that outlives the server keeps the next away."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)  # it would see its children die, and start others
        pid = self.process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            descriptor = os.pidfd_open(int(child))
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            ended, _, _ = select.select([descriptor], [], [], PATIENCE)
            assert ended, f"process {child} of PostgreSQL does not end"
            os.close(descriptor)

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        self.stop(how)
        self.start()

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def sql(self, statements: str, database: str = "postgres", role: str = USER) -> list[tuple[Any, ...]]:
        """Run statements as the superuser, and return the rows of the last one."""

        async def run() -> list[tuple[Any, ...]]:
            connection = await asyncpg.connect(
                host=str(self.folder), port=self.port, user=role, database=database, password=PASSWORD
            )
            try:
                *before, last = [statement for statement in statements.split(";") if statement.strip()]
                for statement in before:
                    await connection.execute(statement)
                return [tuple(row) for row in await connection.fetch(last)]
            finally:
                await connection.close()

        return asyncio.run(run())

    def database(self, *, options: str = "") -> str:
        """A new empty database of the role; returns its name."""
        name = f"test{next(_numbers)}"
        self.sql(f"CREATE DATABASE {name} OWNER {OWNER} {options}")
        return name


@cache
def _template() -> Path:
    """What `initdb` makes, with passwords as in a real installation."""
    folder = _folder("equipoise-initdb-")
    atexit.register(shutil.rmtree, folder)
    password = folder / "password"
    password.write_text(PASSWORD)
    _give(password)
    words = ("-U", USER, "-A", "scram-sha-256", "--auth-local=scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8")
    command = [program("initdb"), "-D", str(folder / "data"), *words, "--pwfile", str(password)]
    subprocess.run(unprivileged(command), check=True, capture_output=True, cwd="/")
    return folder / "data"


@contextmanager
def cluster(*machine: str, **settings: str) -> Iterator[Postgres]:
    """A server of the test's own, running, with settings of `postgresql.conf`; clients of all addresses may log in."""
    if os.geteuid() == 0:
        try:
            pwd.getpwnam(USER)
        except KeyError:
            missing("postgres")
    folder = _folder("equipoise-postgres-")
    server = Postgres(folder, settings=settings, machine=machine)
    try:
        subprocess.run(["cp", "-a", str(_template()), str(server.data)], check=True)
        with open(server.data / "pg_hba.conf", "a") as rules:
            rules.write("host all all all scram-sha-256\n")
        server.start()
        server.sql(f"CREATE ROLE {OWNER} LOGIN CREATEDB PASSWORD '{PASSWORD}'")
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(folder)


@contextmanager
def standby(primary: Postgres) -> Iterator[Postgres]:
    """A standby that confirms each of a server's commits, and takes over by `SELECT pg_promote()`."""
    folder = _folder("equipoise-standby-")
    server = Postgres(folder)
    try:
        source = ("-h", str(primary.folder), "-p", str(primary.port), "-U", USER)
        command = [program("pg_basebackup"), *source, "-D", str(server.data), "-R", "-X", "stream", "-c", "fast"]
        environ = {**os.environ, "PGPASSWORD": PASSWORD}
        subprocess.run(unprivileged(command), env=environ, check=True, capture_output=True, cwd="/")
        server.start()
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = '*'; SELECT pg_reload_conf()")
        yield server
    finally:
        server.stop(signal.SIGQUIT)
        shutil.rmtree(folder)


@contextmanager
def small_disk(server: Postgres, database: str) -> Iterator[Path]:
    """Keep a log's events on a disk of 2 MB meanwhile; yields its folder."""
    if os.geteuid():
        pytest.skip("only root can mount a small disk")
    folder = server.folder / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=True)
    move = "ALTER TABLE equipoise.events SET TABLESPACE {}; SELECT 1"
    try:
        _give(folder)
        server.sql(f"CREATE TABLESPACE small LOCATION '{folder}'; SELECT 1")
        server.sql(move.format("small"), database)
        yield folder
        server.sql(move.format("pg_default"), database)
        server.sql("DROP TABLESPACE small; SELECT 1")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server of the run, for tests that leave it running."""
    with cluster() as server:
        yield server


@contextmanager
def pgbouncer(server: Postgres, *, mode: str = "transaction") -> Iterator[int]:
    """PgBouncer in front of a server; yields its port."""
    folder, port = _folder("equipoise-pgbouncer-"), free_port()
    (folder / "users.txt").write_text(f'"{OWNER}" "{PASSWORD}"\n')
    (folder / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nunix_socket_dir =\nauth_type = scram-sha-256\nauth_file = {folder}/users.txt\n"
        f"pool_mode = {mode}\ndefault_pool_size = 3\n"
    )
    for file in folder.iterdir():
        _give(file)
    command = unprivileged([installed("pgbouncer"), str(folder / "pgbouncer.ini")])
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
    try:
        ends_at = time.monotonic() + PATIENCE
        while "process up" not in (text := (folder / "log").read_text()):
            assert process.poll() is None, text
            assert time.monotonic() < ends_at, text
            time.sleep(0.02)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        shutil.rmtree(folder)


_Chunks = asyncio.Queue[tuple[float, bytes]]
"""What is under way in one direction, and when it arrives; an empty chunk is the end."""


class Between:
    """A network between a client and a server that can be slow, lose answers, and be cut in one direction or both."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.seconds = 0.0
        """One way."""
        self.to_server = self.to_client = True
        """Whether bytes arrive; those that do not are lost for good, as their connection is."""
        self.lose_answer_to: bytes | None = None
        """The next request with these bytes arrives, and its answer does not: the connection ends."""

    async def __aenter__(self) -> Between:
        self._listener = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._listener.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def heal(self) -> None:
        """Let bytes through again; of connections that lost some nothing is heard any more."""
        self.to_server = self.to_client = True
        for task in self._tasks:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        server_writer = None
        try:
            server_reader, server_writer = await asyncio.open_connection("127.0.0.1", self._target)
            lost = asyncio.Event()
            async with asyncio.TaskGroup() as group:
                for source, sink, outward in ((reader, server_writer, True), (server_reader, writer, False)):
                    chunks: _Chunks = asyncio.Queue()
                    group.create_task(self._receive(source, chunks, outward, lost))
                    group.create_task(self._deliver(chunks, sink, outward, lost))
        except (OSError, asyncio.CancelledError, ExceptionGroup):
            pass
        finally:
            self._tasks.discard(task)
            for each in (writer, server_writer):
                if each is not None:
                    each.transport.abort()

    async def _receive(self, source: asyncio.StreamReader, chunks: _Chunks, outward: bool, lost: asyncio.Event) -> None:
        while chunk := await source.read(65536):
            if outward and self.lose_answer_to and self.lose_answer_to in chunk:
                self.lose_answer_to = None
                lost.set()
            chunks.put_nowait((asyncio.get_running_loop().time() + self.seconds, chunk))
        chunks.put_nowait((0, b""))

    async def _deliver(self, chunks: _Chunks, sink: asyncio.StreamWriter, outward: bool, lost: asyncio.Event) -> None:
        while True:
            at, chunk = await chunks.get()
            await asyncio.sleep(at - asyncio.get_running_loop().time())
            if not chunk or (not outward and lost.is_set()):
                raise ConnectionResetError  # ends the other tasks of this connection too
            if self.to_server if outward else self.to_client:
                sink.write(chunk)
                await sink.drain()
