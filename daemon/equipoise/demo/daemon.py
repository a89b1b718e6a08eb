"""The real daemon, `equipoise serve` as a process: configured in its own directory, started, killed, started again."""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from equipoise.errors import PeerError
from equipoise.wire import Game

POOL = "main"
START_SECONDS = 20.0
"""How long the daemon may take to answer; a cold disk is slow."""
STOP_SECONDS = 8.0
SHADOW_ROUNDS = 20
"""Fewer than an ordinary pool's 50, so that ratings become visible during the evening."""


@dataclass(frozen=True, slots=True)
class Installation:
    """What a configuration says of the one game server."""

    server: str
    game: Game
    pool: str
    """Lines of TOML: the rating system and its parameters."""
    rules: str = ""
    """Tables of TOML."""


class Daemon:
    """One daemon on a free loopback port; `start` and `stop` or `kill` it."""

    def __init__(self, home: Path, installation: Installation) -> None:
        self.secret = secrets.token_urlsafe()
        self.token = secrets.token_urlsafe()
        self.installation = installation
        self._home = home
        self._port = _free_port()
        self._process: asyncio.subprocess.Process | None = None
        self._configure()

    @property
    def url(self) -> str:
        """The address it listens on."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def config(self) -> Path:
        """The path of the configuration file."""
        return self._home / "config.toml"

    @property
    def log(self) -> Path:
        """The path of the file that its output goes to."""
        return self._home / "daemon.log"

    def _configure(self) -> None:
        """Write configuration and hashed secrets as `equipoise init` does."""
        (self._home / "secrets").mkdir(mode=0o700)
        for name, secret in ((self.installation.server, self.secret), ("owner", self.token)):
            digest = hashlib.sha256(secret.encode()).hexdigest()
            (self._home / "secrets" / f"{name}.sha256").write_text(digest + "\n", "ascii")
        token = self._home / "owner.token"
        token.touch(mode=0o600)
        token.write_text(f"{self.token}\n", "ascii")
        self.config.write_text(
            _CONFIG.format(
                port=self._port,
                state=json.dumps(str(self._home.absolute() / "state")),
                pool=self.installation.pool,
                server=self.installation.server,
                game=self.installation.game.name,
                rules=self.installation.rules,
            ),
            "utf-8",
        )

    async def start(self) -> None:
        """Start it and wait until it answers. PeerError with its last line of output when it does not."""
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", _MAIN, "serve", "--config", str(self.config)),
                stdout=log,
                stderr=log,
                # Ctrl-C in the terminal reaches the demo only, which then stops the daemon itself.
                start_new_session=True,
            )
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._healthy(self._process)
        except TimeoutError:
            raise PeerError(f"the daemon does not start: {self._last_line()}") from None

    async def _healthy(self, process: asyncio.subprocess.Process) -> None:
        async with aiohttp.ClientSession() as http:
            while process.returncode is None:
                with suppress(aiohttp.ClientConnectionError):
                    async with http.get(f"{self.url}/healthz") as response:
                        if response.ok:
                            return
                await asyncio.sleep(0.05)
        raise PeerError(f"the daemon does not start: {self._last_line()}")

    def _last_line(self) -> str:
        lines = self.log.read_text("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix("equipoise: ") if lines else "it wrote nothing"

    async def kill(self) -> None:
        """SIGKILL: it cannot save anything."""
        if self._process is not None:
            self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        """SIGTERM, as systemd sends it, then SIGKILL if it does not end."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            pass
        finally:
            # Also after a second Ctrl-C: the daemon must not outlive the demo.
            if process.returncode is None:
                process.kill()
                await process.wait()


_MAIN = "from equipoise.cli import main; main()"
"""The `equipoise` of this Python, also where no script of that name is installed."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


_CONFIG = f"""\
# Made by `equipoise demo`.
[web]
port = {{port}}

[store]
directory = {{state}}

[pool.{POOL}]
shadow_rounds = {SHADOW_ROUNDS}
{{pool}}

[server.{{server}}]
secret_file = "secrets/{{server}}.sha256"
pool = "{POOL}"
game = "{{game}}"

{{rules}}

[token.owner]
secret_file = "secrets/owner.sha256"
role = "admin"
"""
