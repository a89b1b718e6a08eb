"""`equipoise serve` as a process: configured as docs/operations.md says, started, ended, and watched from outside."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from pathlib import Path
from random import SystemRandom
from tempfile import TemporaryDirectory
from threading import Thread
from types import MappingProxyType

from tests.chaos.calls import Request, ask
from tests.chaos.formulas import Parameters
from tests.chaos.tracer import EARLY

COMMAND = (sys.executable, "-m", "equipoise")
TRACER = (sys.executable, "-S", str(Path(__file__).with_name("tracer.py")))
UNPRIVILEGED = (sys.executable, "-S", str(Path(__file__).with_name("unprivileged.py")))
CLOCK = Path(__file__).with_name("clock")
START_SECONDS = 180.0
"""A machine may have much else to do."""
LATE_SECONDS = 0.1
"""What the loop may be held at most."""
HELD = re.compile(r"the event loop (?:was|is) held: (.*) seconds=([\d.]+)")


class Ended(Exception):
    """The daemon is not there, though nothing ended it."""


class Daemon:
    """One at a time, in a folder with its configuration, state and log; the port stays the same."""

    token = "secret-owner"

    def __init__(
        self,
        folder: Path,
        state: Path,
        pools: Mapping[str, Parameters | str],
        servers: Mapping[str, str],
        games: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.folder, self.state = folder, state
        self.config, self.log, self.points = folder / "config.toml", folder / "daemon.log", folder / "points"
        self.port = free_port()
        self.unprivileged = False
        """The modes of files hold for it, though it is root's."""
        self._clock = folder / "clock"
        self._process: subprocess.Popen[bytes] | None = None
        self._traced = False
        self._still_since: float | None = None
        self._still = 0.0
        """Seconds for which it was stopped by SIGSTOP."""
        self.starts = 0
        self.late: list[str] = []
        """How the event loop was held for too long by the daemon itself, since somebody took these lines away."""
        self._configure(pools, servers, games)

    def start(self, *, trace: bool = False, kill: str | None = None) -> None:
        """Start it and wait until it answers, or until it was killed at a point."""
        command = [*COMMAND, "serve", "--config", str(self.config)]
        if trace or kill:
            self.points.unlink(missing_ok=True)
            at = ["--kill", kill] if kill else []
            command = [*TRACER, "--folder", str(self.state), "--log", str(self.points), *at, "--", *command]
        self._traced = trace or kill is not None
        self._process = self._run(command)
        if not self._traced:
            Thread(target=self._watch, args=(self._process, self.log.stat().st_size), daemon=True).start()
        self.starts += 1
        end = time.monotonic() + START_SECONDS
        while (answer := ask(self.port, Request("GET", "/healthz", {}))) is None or not answer.ok:
            if self._process.poll() is not None:
                if kill and self._process.returncode == -signal.SIGKILL % 256:
                    return
                raise Ended(f"it does not start: {self.last_words()}")
            if time.monotonic() > end:
                self.kill()
                raise Ended(f"it does not answer {START_SECONDS:g} s after its start: {self.last_words()}")
            time.sleep(0.02)

    def refuses_to_start(self, config: Path | None = None, expected: int = 2) -> str | None:
        """Start it where it must not start; what is wrong with how it refuses, or None.

        Its exit code is 2 where somebody must change something first, and 1 where it may start later.
        """
        before = self.log.stat().st_size
        process = self._run([*COMMAND, "serve", "--config", str(config or self.config)])
        try:
            code = process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return "it starts where it must not"
        said = self.log.read_bytes()[before:].decode(errors="replace")
        return f"exit {code}: {said}" if code != expected or "Traceback" in said or not said.strip() else None

    def kill(self) -> None:
        """SIGKILL: no time to write anything down."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM, as systemd does; its exit code."""
        return self._end(signal.SIGTERM)

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)
        if number == signal.SIGSTOP:
            self._still_since = time.monotonic()
        elif number == signal.SIGCONT and self._still_since is not None:
            self._still += time.monotonic() - self._still_since
            self._still_since = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def expect(self) -> None:
        """Ended: it is not there any more."""
        if not self.running:
            raise Ended(f"it ended by itself: {self.last_words()}")

    @property
    def pid(self) -> int:
        """Of the daemon itself, also when it is traced."""
        assert self._process is not None
        if self._traced:
            return int(self.points.read_text().split("\n", 1)[0].removeprefix("pid "))
        return self._process.pid

    def last_words(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-600:]

    def tracebacks(self) -> int:
        """Faults of its own that it has logged."""
        return self.log.read_text(errors="replace").count("Traceback (most recent call last)")

    def early(self) -> list[str]:
        """Answers that left before what they say was synced, as far as the tracer saw since the last start."""
        lines = self.points.read_text().splitlines() if self.points.exists() else []
        return [line.removeprefix(EARLY) for line in lines if line.startswith(EARLY)]

    def turn_clock(self, seconds: float) -> None:
        """Set the daemon's wall clock ahead or back; it holds for later starts too."""
        beside = self._clock.with_name("clock.new")
        beside.write_text(repr(seconds))
        beside.replace(self._clock)

    def _end(self, number: signal.Signals) -> int:
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self.send(number)
            self.send(signal.SIGCONT)
        return self._process.wait(START_SECONDS)

    def _run(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        environment = environment_of_all()
        if self._clock.exists():
            paths = filter(None, (str(CLOCK), environment.get("PYTHONPATH")))
            environment |= {"PYTHONPATH": os.pathsep.join(paths), "CHAOS_CLOCK": str(self._clock)}
        if self.unprivileged:
            command = [*UNPRIVILEGED, *command]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=environment
            )

    def _watch(self, process: subprocess.Popen[bytes], place: int) -> None:
        """Read from its log how long its loop was held, less the time without a processor and that of a SIGSTOP."""
        waited = deque([(time.monotonic(), 0.0)], maxlen=2000)
        with self.log.open("rb") as log:
            log.seek(place)
            while process.poll() is None:
                time.sleep(0.05)
                now = time.monotonic()
                waited.append((now, waited_for_processor(process.pid) + self._still))
                for line in log.readlines():
                    if found := HELD.search(line.decode(errors="replace")):
                        seconds = float(found[2])
                        before = next((value for at, value in reversed(waited) if at < now - seconds - 0.3), 0.0)
                        if seconds - (waited[-1][1] - before) > LATE_SECONDS:
                            self.late.append(f"the loop was held for {seconds:g} s: {found[1]}")

    def _configure(
        self, pools: Mapping[str, Parameters | str], servers: Mapping[str, str], games: Mapping[str, str]
    ) -> None:
        """Write the configuration: servers by name, each with its pool; a server's secret is `secret-<name>`.

        A pool is one of SynElo with these parameters, or these lines; games are those of servers that are not `tf2`.
        """
        text = [f'[web]\nport = {self.port}\n[store]\ndirectory = "{self.state}"\n[log]\nlevel = "warning"']
        for pool, lines in pools.items():
            if isinstance(lines, Parameters):
                values = (f"{each.name} = {getattr(lines, each.name)}" for each in fields(lines))
                lines = 'system = "synelo"\n' + "\n".join(values)
            text.append(f"[pool.{pool}]\n{lines}")
        for server, pool in servers.items():
            self._write_secret(server)
            game = games.get(server, "tf2")
            text.append(f'[server.{server}]\npool = "{pool}"\ngame = "{game}"\nsecret_file = "{server}.sha256"')
        self._write_secret("owner")
        text.append('[token.owner]\nrole = "admin"\nsecret_file = "owner.sha256"')
        self.config.write_text("\n".join(text) + "\n")

    def _write_secret(self, name: str) -> None:
        digest = hashlib.sha256(secret_of(name).encode()).hexdigest()
        (self.folder / f"{name}.sha256").write_text(digest + "\n")


@cache
def _compiled() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="equipoise-compiled-")  # it goes with this process


def environment_of_all() -> dict[str, str]:
    """The environment of each process of Equipoise: the first one compiles the package for all, outside of its tree."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": _compiled().name}


def waited_for_processor(pid: int) -> float:
    """Seconds that threads of a process were ready to run and did not: sched-stats.rst of Linux, /proc/…/schedstat."""
    total = 0
    with suppress(OSError):  # the process has ended
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with suppress(OSError):  # the thread has ended
                total += int(task.read_text().split()[1])
    return total / 1e9


def secret_of(name: str) -> str:
    """The secret of a server, or of the token `owner`."""
    return f"secret-{name}"


def free_port() -> int:
    """A port that is free, and stays so while the daemon is down: the kernel gives it to no connection by itself."""
    while True:
        port = SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port
