"""A stand-in for the web admin of an NS2 server: the login, the rules and the answers, each written from its source.

GAME is the game's own `ns2/lua/ServerWebInterface.lua` (BerserkCore/NS2 has that of build 266, ENSL-Modding/CompMod
that of a later one), IWA is LZZZZ/ns2-improved-web-admin, which measured engines of September 2026.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import math
import re
import secrets
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl

from aiohttp import web

USER, PASSWORD = "me", "not a secret"
NONCE_SECONDS = 300.0
"""IWA API.md, Authentication: accepted at every age up to 300 s."""
WRONG_LOGINS, LOCKED_SECONDS = 10, 60.0
"""IWA CONSTRAINTS.md, Engine rules: so many in a minute lock an address out for one. Not said, and assumed: with which
answer (401), and that the minute begins with the last of them."""
MOST_BODY = 64 << 10
"""IWA CONSTRAINTS.md, Engine rules."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""IWA API.md, Response headers."""


def md5(*parts: str) -> str:
    return hashlib.md5(":".join(parts).encode()).hexdigest()


class WebAdminServer:
    """The state of the game server, and what was asked of it."""

    def __init__(self, runs: Callable[[str], object] | None = None) -> None:
        self.runs = runs or (lambda command: None)
        """The console, as `Shared.ConsoleCommand`: it runs at once, and prints into the log."""
        self.user, self.password = USER, PASSWORD
        """An empty user: there is no login, as of a web admin that listens on this machine alone."""
        self.realm = "127.0.0.1"
        """IWA API.md, Authentication: the value of -webdomain, which the state has, too."""
        self.commands: list[str] = []
        self.requests = 0
        self.wrong: dict[str, list[float]] = defaultdict(list)
        """Times of wrong logins in the last minute, by address."""
        self.locked: dict[str, float] = {}
        """When addresses were locked out."""
        self.loading = False
        """IWA TESTING.md, Testing on Shine: requests during the map load return empty."""
        self.busy = False
        """IWA CONSTRAINTS.md, Engine rules: requests give up after 30 s with 503. Here at once."""
        self.now = time.monotonic
        self._nonces: dict[str, tuple[float, set[str]]] = {}
        self.state = {  # GAME GetServerState; IWA fixtures/serverstate.json has the types
            "webdomain": "127.0.0.1",
            "webport": "8080",
            "cheats": "false",
            "devmode": "false",
            "map": "ns2_summit",
            "players_online": 3,
            "marines": 1,
            "aliens": 1,
            "uptime": 9,
            "player_list": [player("Ann", 1001, 1), player("Bob \u2603", 1002, 2), player("[BOT] Gorgeous", 0, 0)],
            "marine_res": 60,
            "alien_res": 60,
            "server_name": "A fake server",
            "frame_rate": 29.957765579224,
            "game_started": False,
            "game_time": 0,
        }

    async def handle(self, request: web.Request) -> web.Response:
        self.requests += 1
        if request.method not in ("GET", "POST"):
            return self._answer(405)
        if refusal := self._refused(request):
            return refusal
        if self.busy:
            return self._answer(503)
        if self.user and (challenge := self._challenged(request)):
            return challenge
        body = await request.read()
        if len(body) > MOST_BODY:
            return self._answer(413)
        # IWA API.md, Request types: a GET's query or a POST's form, never both; headers and paths do not reach Lua.
        fields = dict(parse_qsl(body.decode())) if request.method == "POST" else dict(request.query)
        return self._web_request(fields)

    def _web_request(self, actions: dict[str, str]) -> web.Response:
        """GAME OnWebRequest."""
        if self.loading:
            return self._answer(200)
        if "command" in actions and "rcon" in actions:
            self.commands.append(actions["rcon"])
            self.runs(actions["rcon"])
        # dkjson writes bytes as they are, and a name may be cut in the middle of a character (a lone surrogate here).
        return self._answer(200, json.dumps(self.state, ensure_ascii=False), "application/json")

    def _refused(self, request: web.Request) -> web.Response | None:
        """IWA CONSTRAINTS.md, The Origin rule, and The Host rule without a login."""
        host = re.sub(r":\d+$", "", request.headers.get("Host", "localhost")).strip("[]").lower()
        origin = request.headers.get("Origin")
        if origin is not None and re.sub(r"^https?://|:\d+$", "", origin).strip("[]").lower() != host:
            return self._answer(403)
        if not self.user and host != "localhost":
            try:
                ipaddress.ip_address(host)
            except ValueError:
                return self._answer(403)
        return None

    def _challenged(self, request: web.Request) -> web.Response | None:
        """IWA API.md, Authentication: digest with MD5 and qop `auth`; each count of a nonce once."""
        address = request.remote or ""
        wrong = [at for at in self.wrong[address] if self.now() - at < LOCKED_SECONDS]
        self.wrong[address] = wrong
        given = request.headers.get("Authorization", "")
        locked = self.now() - self.locked.get(address, -math.inf) < LOCKED_SECONDS
        if not given.startswith("Digest ") or locked:
            return self._challenge()
        said = {name: quoted or plain for name, quoted, plain in re.findall(r'(\w+)=(?:"([^"]*)"|([^,\s]+))', given)}
        began, counts = self._nonces.get(said["nonce"], (0.0, set()))
        if said["nonce"] not in self._nonces or self.now() - began > NONCE_SECONDS or said["nc"] in counts:
            return self._challenge(stale=True)
        secret, what = md5(self.user, self.realm, self.password), md5(request.method, request.raw_path)
        right = md5(secret, said["nonce"], said["nc"], said["cnonce"], said["qop"], what)
        if said["username"] != self.user or said["response"] != right or said["uri"] != request.raw_path:
            wrong.append(self.now())
            if len(wrong) >= WRONG_LOGINS:
                self.locked[address] = self.now()
            return self._challenge()
        counts.add(said["nc"])
        return None

    def _challenge(self, *, stale: bool = False) -> web.Response:
        nonce = secrets.token_hex(24)
        self._nonces[nonce] = (self.now(), set())
        text = f'Digest qop="auth", realm="{self.realm}", nonce="{nonce}"' + (', stale="true"' if stale else "")
        return self._answer(401, headers={"WWW-Authenticate": text})

    def _answer(
        self, status: int, text: str = "", kind: str = "text/html", headers: dict[str, str] | None = None
    ) -> web.Response:
        body = text.encode(errors="surrogateescape")
        return web.Response(status=status, body=body, content_type=kind, headers={**HEADERS, **(headers or {})})


def player(name: str, account: int, team: int) -> dict[str, object]:
    """One of GAME's player_list; a bot has no account."""
    counts = dict.fromkeys(("score", "kills", "assists", "deaths", "resources", "ping"), 0)
    bot = str(account == 0).lower()
    return {"name": name, "steamid": account, "isbot": bot, "team": team, "iscomm": False, "ipaddress": "", **counts}


@asynccontextmanager
async def web_admin_server(
    runs: Callable[[str], object] | None = None, port: int = 0
) -> AsyncIterator[tuple[WebAdminServer, int]]:
    """The stand-in for as long as the context lasts, and its port."""
    stand_in = WebAdminServer(runs)
    runner = web.ServerRunner(web.Server(stand_in.handle))
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    try:
        yield stand_in, runner.addresses[0][1]
    finally:
        await runner.cleanup()
