"""The web admin of Natural Selection 2 by HTTP: a console that takes commands and returns the state, but no output.

From the game's `lua/ServerWebInterface.lua` (build 266, and later ones as mods copied it), and from measurements on
engines of September 2026 (LZZZZ/ns2-improved-web-admin: docs/API.md, docs/CONSTRAINTS.md):

- `OnWebRequest` gets the parameters of a GET, nothing else. `command`, whatever it is, has the text in `rcon` run as by
  the server's own console; what it prints goes into the server's log alone. Every answer is the state as JSON
  (`GetServerState`): status and content are the same for a command that failed.
- The login is HTTP's digest with MD5, by `-webuser` and `-webpassword`. A nonce is good for 300 s and as many requests;
  each of its counts once. Ten wrong logins a minute lock an address out for one, so a refused password is not sent
  again. Without a login the web admin listens on this machine alone, and refuses a Host that is no IP address (403).
- While a map is loaded, and if the script fails, an answer is 200 and empty. A request that the game does not get to
  within 30 s is answered with 503.
"""

from __future__ import annotations

import aiohttp
import msgspec

from equipoise.game.console import EXCHANGE_SECONDS, Console, Failure
from equipoise.game.port import Address, WebState, one_line, written

LONGEST = 1 << 20
"""Bytes of an answer. That of 24 players is 6 KB."""
LOADING = "an empty answer: it loads a map, or its ServerWebInterface.lua failed (the server's log says so)"
STRANGER = "this is no web admin of NS2"


class _Player(msgspec.Struct):
    isbot: bool | str = False


class _State(msgspec.Struct):
    """`GetServerState`; `cheats` and `isbot` are texts in the game's own, and booleans in what mods made of it."""

    map: str
    server_name: str
    player_list: list[_Player]
    cheats: bool | str


def _is_true(value: bool | str) -> bool:
    return value in (True, "true")


class WebAdmin(Console):
    """The web admin of one game server. Each command has a connection of its own."""

    harmless = ""

    def __init__(
        self, server: str, address: Address, user: str, password: str, *, seconds: float = EXCHANGE_SECONDS
    ) -> None:
        super().__init__(server, address, seconds)
        # It keeps the nonce, and refuses a user with a colon, as the configuration does.
        self._digest = aiohttp.DigestAuthMiddleware(user, password)
        self._seen: WebState | None = None

    async def look(self) -> WebState:
        """Return the server's state as it is now. PeerError: it did not answer."""
        await self.execute(self.harmless)
        if self._seen is None:
            raise RuntimeError("an answer without a state")
        return self._seen

    async def _exchange(self, command: str) -> None:
        fields = {"request": "json", **({"command": "Send", "rcon": command} if command else {})}
        self._connections += 1
        try:
            # No connection is kept: aiohttp would send a command again if one ends that was used before.
            async with (
                aiohttp.ClientSession(
                    connector=aiohttp.TCPConnector(force_close=True),
                    cookie_jar=aiohttp.DummyCookieJar(),
                    middlewares=(self._digest,),
                ) as session,
                session.get(f"http://{written(self._address)}/", params=fields, allow_redirects=False) as response,
            ):
                _check(response)
                body = await response.content.read(LONGEST + 1)
                while body and len(body) <= LONGEST and (more := await response.content.read(LONGEST + 1)):
                    body += more
        except aiohttp.ClientConnectorError as error:
            raise error.os_error from None
        except aiohttp.ClientError as error:
            raise Failure(f"{STRANGER}: {one_line(str(error))}") from None
        self._seen = _decoded(body)

    def _drop(self) -> None:
        """There is no connection between two commands."""


def _check(response: aiohttp.ClientResponse) -> None:
    match response.status:
        case 200:
            return
        case 401 if response.headers.get("WWW-Authenticate", "").lower().startswith("digest "):
            text = "the web admin refused user and password (10 wrong ones a minute lock an address out for one)"
            raise Failure(text, "refused")
        case 403:
            raise Failure(
                "the web admin refused the request (403): without a login it takes them to an IP address alone"
            )
        case 503:
            raise Failure("the game server is busy (503)")
        case status:
            raise Failure(f"{STRANGER}: status {status}")


def _decoded(body: bytes) -> WebState:
    if len(body) > LONGEST:
        raise Failure(f"an answer of more than {LONGEST} bytes")
    if not body.strip():
        raise Failure(LOADING)
    try:
        # A name may be cut in the middle of a character.
        state = msgspec.json.decode(body.decode(errors="replace"), type=_State)
    except msgspec.MsgspecError:
        raise Failure(STRANGER) from None
    bots = sum(_is_true(player.isbot) for player in state.player_list)
    return WebState(
        one_line(state.server_name), one_line(state.map), len(state.player_list), bots, _is_true(state.cheats)
    )
