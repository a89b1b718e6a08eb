"""The real daemon as a process: set up as `equipoise init` does, started, killed, started again, and asked."""

from __future__ import annotations

import gc
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from equipoise.cli import main
from equipoise.install.configuration import Ruleset, prepare_new
from equipoise.install.server_files import Added, NewServer
from tests import failures
from tests.web import recorded

EQUIPOISE = (sys.executable, "-m", "equipoise")
START_SECONDS = 60.0
"""For a machine with much else to do: a test waits for the daemon's word, not for a time."""

# Importing costs a daemon half a second of the processor, most of a test: forks of one process import once.
_FORKS = multiprocessing.get_context("forkserver")
COMMANDS = (
    "decisions",
    "doctor",
    "player_commands",
    "pool_commands",
    "recomputing",
    "round_commands",
    "server_commands",
    "setup",
)
SYSTEMS = ("joint", "ns2", "synelo")
MODULES = (
    *(f"equipoise.cli.{name}" for name in ("serve", *COMMANDS)),
    *(f"equipoise.ratings.{name}.system" for name in SYSTEMS),
)
_FORKS.set_forkserver_preload(["pytest", "tests.daemons", "equipoise.app", *MODULES, "tests.begun"])


class Forked:
    """A command of ours as a process that begins with everything imported; what of `Popen` is needed."""

    def __init__(self, log: Path, *words: str | Path) -> None:
        self._process = _FORKS.Process(target=_command, args=(log, *map(str, words)), daemon=True)
        self._process.start()
        assert self._process.pid
        self.pid = self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        # The server of the forks takes a process's end first, and says it to us a moment later.
        with suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, number)

    def wait(self, timeout: float) -> int | None:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self._process.exitcode


Running = Forked | subprocess.Popen[bytes]


def _command(log: Path, *words: str) -> None:
    """The command line, its output in a file."""
    gc.freeze()  # a daemon's first collection would go through all that was imported, and copy its pages
    with log.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if folder := os.environ.get(recorded.VARIABLE):
        recorded.record(Path(folder), log)
    main(words)


def ran(*words: str | Path, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A command of ours to its end, as a process that begins with everything imported, in this folder."""
    with TemporaryDirectory() as folder:
        said = [Path(folder) / name for name in ("stdout", "stderr")]
        process = _FORKS.Process(target=_to_its_end, args=(said, os.getcwd(), dict(environ), [*map(str, words)]))
        process.start()
        process.join(300)
        if process.exitcode is None:
            process.kill()
            raise AssertionError(f"{words} goes on for five minutes")
        return subprocess.CompletedProcess(words, process.exitcode, *(path.read_text() for path in said))


def _to_its_end(said: list[Path], folder: str, environ: dict[str, str], words: list[str]) -> None:
    gc.freeze()
    for number, path in enumerate(said, start=1):
        with path.open("wb") as file:
            os.dup2(file.fileno(), number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    main(words, prog_name="equipoise")


def address_of(process: Running, log: Path) -> str:
    """Where a daemon listens, once it has said that it is ready; an assertion with its log if it never does."""
    end = time.monotonic() + START_SECONDS
    while not (found := re.search(r" ready address=(\S+)", said := log.read_text() if log.exists() else "")):
        assert process.poll() is None, said
        assert time.monotonic() < end, said
        time.sleep(0.01)
    return found[1]


def write_new(directory: Path, servers: Sequence[NewServer], rules: Ruleset = "equipoise") -> list[Added]:
    """Write a configuration with these servers."""
    preparation = prepare_new(directory, servers, rules)
    with preparation.applied():
        return preparation.servers


class RealDaemon:
    """`equipoise serve` in a folder of its own, on a free loopback port that it keeps when it is started again.

    With `forked` it is a fork of a process that has imported everything: the same daemon sooner, but memory that it
    shares and time to start are not those of an operator's. A `prefix` of its command runs it on another machine.
    """

    def __init__(
        self,
        folder: Path,
        server: str = "test-1",
        settings: str = "",
        *,
        forked: bool = False,
        game: str = "tf2",
        rules: Ruleset = "equipoise",
        pool: str = "",
        prefix: Sequence[str] = (),
    ) -> None:
        self.folder, self.server, self._forked, self._prefix = folder, server, forked, prefix
        (self.secret,) = (added.secret for added in write_new(folder, [NewServer(server, game=game)], rules))
        self.token = (folder / "owner.token").read_text().strip()
        self.config = folder / "config.toml"
        self.port = 0
        text = self.config.read_text().replace("port = 27500", "port = 0")
        text = text.replace('system = "ns2"\n', f'system = "ns2"\n{pool}\n')
        self.config.write_text(f'{settings}\n{text}\n[store]\ndirectory = "{folder / "state"}"\n')
        self._process: Running | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        log = self.folder / "daemon.log"
        log.unlink(missing_ok=True)
        if self._forked:
            self._process = Forked(log, "serve", "--config", self.config)
        else:
            with log.open("wb") as file:
                self._process = subprocess.Popen(
                    [*self._prefix, *EQUIPOISE, "serve", "--config", self.config], stderr=file
                )
        self.port = int(address_of(self._process, log).rpartition(":")[2])
        self.config.write_text(self.config.read_text().replace("port = 0", f"port = {self.port}"))

    def kill(self) -> None:
        """SIGKILL: no time to write anything down."""
        self._end(signal.SIGKILL)

    def stop(self) -> int | None:
        """SIGTERM, as systemd does; its exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int | None:
        process, self._process = self._process, None
        if process is None:
            return None
        process.send_signal(number)
        code = process.wait(60)
        failures.NOTED.extend(failures.failures_in((self.folder / "state" / failures.STORE,)))
        return code

    @property
    def pid(self) -> int:
        """Of the running process."""
        assert self._process is not None
        return self._process.pid

    def ask(self, path: str, body: object | None = None, method: str | None = None) -> Any:
        """The admin interface's answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/admin/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.load(response)
