"""The real daemon, `equipoise serve` as a process of its own, and the HTTP client that talks to it."""

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
from types import TracebackType
from typing import Any

import aiohttp
import msgspec

from equipoise.demo.script import Json, Script
from equipoise.errors import PeerError
from equipoise.wire import Game
from equipoise.wire import orders as wire

POOL = "main"
START_SECONDS = 20.0
"""How long the daemon may take to answer; a cold disk is slow."""
STOP_SECONDS = 8.0
SHADOW_ROUNDS = 20
"""Fewer than an ordinary pool's 50, so that ratings become visible during the evening."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The part of a configuration that depends on the game server."""

    server: str
    game: Game
    pool: str
    """Lines of TOML: the rating system and its parameters."""
    rules: str = ""
    """Tables of TOML."""
    pool_name: str = POOL
    settings: str = ""
    """Lines of TOML of this server alone."""


class Daemon:
    """One daemon on a free loopback port; `start` and `stop` or `kill` it."""

    def __init__(self, home: Path, *installations: Installation) -> None:
        self.installations = installations
        self.secrets = {site.server: secrets.token_urlsafe() for site in installations}
        self.token = secrets.token_urlsafe()
        self._home = home
        # Kept for the whole evening: after a restart the script finds the daemon where it was.
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
        for name, secret in (*self.secrets.items(), ("owner", self.token)):
            digest = hashlib.sha256(secret.encode()).hexdigest()
            (self._home / "secrets" / f"{name}.sha256").write_text(digest + "\n", "ascii")
        token = self._home / "owner.token"
        # Before anything is in it: nobody else may read it for a moment.
        token.touch(mode=0o600)
        token.write_text(f"{self.token}\n", "ascii")
        self.config.write_text(self._settings(), "utf-8")

    def _settings(self) -> str:
        pools = {site.pool_name: site for site in self.installations}
        rules = dict.fromkeys(site.rules for site in self.installations)
        state = json.dumps(str(self._home.absolute() / "state"))
        parts = (
            _HEAD.format(port=self._port, state=state),
            *(_POOL.format(name=name, pool=site.pool) for name, site in pools.items()),
            *(
                _SERVER.format(server=site.server, pool=site.pool_name, game=site.game.name, settings=site.settings)
                for site in self.installations
            ),
            *rules,
            _TOKEN,
        )
        return "\n".join(parts)

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


_HEAD = """\
# Made by `equipoise demo`.
[web]
port = {port}

[store]
directory = {state}
"""
_POOL = f"""\
[pool.{{name}}]
shadow_rounds = {SHADOW_ROUNDS}
{{pool}}
"""
_SERVER = """\
[server.{server}]
secret_file = "secrets/{server}.sha256"
pool = "{pool}"
game = "{game}"
{settings}
"""
_TOKEN = """
[token.owner]
secret_file = "secrets/owner.sha256"
role = "admin"
"""


TIMEOUT = aiohttp.ClientTimeout(total=5)
"""The plugin's HTTP library, sm-ripext, waits as long."""
ATTEMPTS = 3
"""How often a batch is sent to a daemon that answers `busy`."""


class Client:
    """Posts a script's batches, with `forms` as NS2 does, and reads from the admin interface."""

    def __init__(self, url: str, secret: str, token: str, *, forms: bool = False) -> None:
        self._url = url
        self._secret = secret
        self._token = token
        self._forms = forms
        self._http = aiohttp.ClientSession(timeout=TIMEOUT)

    async def __aenter__(self) -> Client:
        """Connections are closed at the end of the context."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the HTTP session and its connections."""
        await self._http.close()

    async def exchange(self, script: Script) -> wire.Reply | None:
        """Post the script's next batch; None when no daemon answers. PeerError when it refuses the batch."""
        batch = script.batch()
        reply = await self._post(batch)
        if reply is None:
            script.unanswered()
        else:
            script.answered(reply)
        return reply

    async def _post(self, batch: Json) -> wire.Reply | None:
        # The batch is the same each time, so the daemon takes it once.
        for _ in range(ATTEMPTS):
            try:
                body = await self._send(batch)
            except (aiohttp.ClientConnectionError, TimeoutError):
                return None
            fault = _fault(body)
            if fault is None:
                return msgspec.json.decode(body, type=wire.Reply)
            if fault.code != "busy":
                raise PeerError(f"the daemon refuses a batch: {fault.message} (at {fault.path or '$'})")
        raise PeerError("the daemon stays busy")

    async def _send(self, batch: Json) -> bytes:
        """Post a batch as the game can: NS2 sends no headers, so the secret is in the form."""
        if not self._forms:
            return await self._call("POST", "/v1/events", self._secret, batch)
        form = {"secret": self._secret, "data": json.dumps(batch)}
        async with self._http.post(self._url + "/v1/events", data=form) as response:
            return await response.read()

    async def ask(self, path: str) -> Any:
        """The admin interface's answer. PeerError when there is none, or a refusal."""
        return await self._answer("GET", path)

    async def page(self) -> str:
        """The address that logs a browser in as the owner, once and within ten minutes; errors as `ask`."""
        return f"{self._url}{(await self._answer('POST', '/v1/admin/login', {}))['path']}"

    async def _answer(self, method: str, path: str, sent: Json | None = None) -> Any:
        try:
            body = await self._call(method, path, self._token, sent)
        except (aiohttp.ClientConnectionError, TimeoutError):
            raise PeerError(f"the daemon does not answer {path}") from None
        if fault := _fault(body):
            raise PeerError(f"the daemon refuses {path}: {fault.message}")
        return msgspec.json.decode(body)

    async def _call(self, method: str, path: str, secret: str, body: Json | None = None) -> bytes:
        headers = {"Authorization": f"Bearer {secret}"}
        async with self._http.request(method, self._url + path, json=body, headers=headers) as response:
            return await response.read()


class _Answer(msgspec.Struct):
    error: wire.Fault | None = None


def _fault(body: bytes) -> wire.Fault | None:
    """Return why a request was refused; None: it was not. PeerError when this is not an answer of the daemon."""
    try:
        return msgspec.json.decode(body, type=_Answer).error
    except msgspec.DecodeError:
        raise PeerError(f"the daemon answers nonsense: {body[:60]!r}") from None
