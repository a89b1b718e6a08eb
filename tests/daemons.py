"""The real daemon as a process: set up by `equipoise init`, started, killed, started again, and asked."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

EQUIPOISE = (sys.executable, "-m", "equipoise")
START_SECONDS = 20.0


class RealDaemon:
    """`equipoise serve` in a folder of its own, on a free loopback port."""

    def __init__(self, folder: Path, server: str = "test-1", settings: str = "") -> None:
        self.folder = folder
        self.server = server
        self.port = _free_port()
        said = self.run("init", "--server", server, str(folder)).stdout
        found = re.search(r"shown this once.*?\n\s+(\S+)\n", said, re.DOTALL)
        assert found, said
        self.secret = found[1]
        self.token = (folder / "owner.token").read_text().strip()
        config = (folder / "config.toml").read_text()
        config = config.replace("port = 27500", f"port = {self.port}")
        self.config = folder / "config.toml"
        self.config.write_text(f'{settings}\n{config}\n[store]\ndirectory = "{folder / "state"}"\n')
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command of ours, to its end."""
        return subprocess.run([*EQUIPOISE, *words], capture_output=True, text=True, check=True, timeout=60)

    def start(self) -> None:
        """Start it and wait until it answers."""
        log = (self.folder / "daemon.log").open("ab")
        with log:
            self._process = subprocess.Popen(
                [*EQUIPOISE, "serve", "--config", str(self.config)], stdout=log, stderr=log
            )
        end = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise AssertionError((self.folder / "daemon.log").read_text())
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=2) as response:
                return bool(response.status == 200)
        except OSError:
            return False

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
        return process.wait(10)

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
        with urllib.request.urlopen(request, timeout=10) as response:
            return json.load(response)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
