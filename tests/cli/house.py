"""The installed `equipoise`, run as a user runs it, in a folder of its own."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.daemons import Forked, Running, address_of, ran

EQUIPOISE = Path(sys.executable).with_name("equipoise")
ALONE = '\nbalance = "synelo"\n'
"""In place of what `init` writes: the pool's own system makes the teams."""
UNPRIVILEGED = Path(__file__).parents[1] / "chaos" / "unprivileged.py"


def run(*arguments: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """A command of ours, with no configuration but what is given."""
    plain = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
    return ran(*arguments, environ=plain | {"HOME": "/nonexistent"} | environ)


@dataclass(frozen=True, slots=True)
class House:
    """What `init` wrote."""

    folder: Path
    secret: str

    @classmethod
    def made(cls, folder: Path, *options: str | Path) -> House:
        """A new installation in a folder, whose daemon takes a free port and keeps its state there."""
        folder = folder / "equipoise"
        made = run("init", folder, *options)
        assert made.returncode == 0, made.stderr
        secret = re.search(r"^  [\w-]+  ([\w-]{43})$", made.stdout, re.MULTILINE)
        assert secret
        found = cls(folder, secret[1])
        # Most tests are about a pool whose own system makes the teams.
        found.edit('\nbalance = "joint"\n', ALONE)
        found.edit("port = 27500", f'port = 0\n\n[store]\ndirectory = "{folder}/state"')
        return found

    @property
    def config(self) -> Path:
        return self.folder / "config.toml"

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def edit(self, old: str, new: str) -> None:
        text = self.config.read_text()
        assert old in text
        self.config.write_text(text.replace(old, new))


@contextmanager
def serving(house: House, *options: str, forked: bool = True, **environ: str) -> Iterator[tuple[Running, str]]:
    """The daemon as a process, and its address once it says that it is ready.

    `forked` saves its imports; where the test is about the process itself, it is started as an operator does.
    """
    log = house.folder / "daemon.log"
    log.unlink(missing_ok=True)
    process: Running
    if forked:
        process = Forked(log, "serve", "--config", house.config, *options)
    else:
        with log.open("wb") as file:
            command = [EQUIPOISE, "serve", "--config", house.config, *options]
            process = subprocess.Popen(command, stderr=file, env={**os.environ, **environ})
    try:
        yield process, address_of(process, log)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(60)


def refused(config: Path, code: int = 2) -> str:
    """The one line of a daemon that cannot start."""
    log = config.parent / "refused.log"
    process, ended = Forked(log, "serve", "--config", config), None
    with suppress(subprocess.TimeoutExpired):
        ended = process.wait(60)
    process.send_signal(signal.SIGKILL)
    said, _ = log.read_text(), log.unlink()
    assert ended == code, said
    return one_line(subprocess.CompletedProcess("serve", code, "", said), code)


def post(address: str, secret: str, batch: dict[str, Any]) -> Any:
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    with urlopen(Request(f"http://{address}/v1/events", json.dumps(batch).encode(), headers), timeout=60) as answer:
        return json.load(answer)


def one_line(result: subprocess.CompletedProcess[str], code: int = 2) -> str:
    """What a refused start says: one line, no traceback."""
    assert result.returncode == code, result.stderr
    lines = [line for line in result.stderr.splitlines() if not re.match(r"<[567]>", line)]
    assert len(lines) == 1
    assert lines[0].startswith("equipoise: ")
    return lines[0]


def at_a_terminal(answer: str, *words: str | Path) -> tuple[int, str]:
    """The exit code of a command and all that it says where a terminal gives this answer."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [EQUIPOISE, *words], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        os.write(ours, f"{answer}\n".encode())
        said, _ = process.communicate(timeout=60)
    os.close(ours)
    os.close(theirs)
    return process.returncode, said


def ask(house: House, address: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that goes through the daemon."""
    return run(*arguments, "--config", house.config, "--url", f"http://{address}")
