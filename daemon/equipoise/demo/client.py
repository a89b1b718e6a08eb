"""HTTP to the daemon: batches out, replies in, and a few questions to its admin interface."""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

import aiohttp
import msgspec

from equipoise.demo.protocol import Json
from equipoise.demo.script import Script
from equipoise.errors import PeerError
from equipoise.wire import orders as wire

TIMEOUT = aiohttp.ClientTimeout(total=5)
"""As long as the plugin's HTTP library, sm-ripext, waits."""
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
        for _ in range(ATTEMPTS):
            try:
                body = await self._send(batch)
            except (aiohttp.ClientConnectionError, TimeoutError):
                return None
            answer = _Answer.of(body)
            if answer.ok:
                return msgspec.json.decode(body, type=wire.Reply)
            if answer.error.code != "busy":
                raise PeerError(f"the daemon refuses a batch: {answer.error.message} (at {answer.error.path})")
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
        try:
            body = await self._call("GET", path, self._token)
        except (aiohttp.ClientConnectionError, TimeoutError):
            raise PeerError(f"the daemon does not answer {path}") from None
        answer = _Answer.of(body)
        if not answer.ok:
            raise PeerError(f"the daemon refuses {path}: {answer.error.message}")
        return msgspec.json.decode(body)

    async def _call(self, method: str, path: str, secret: str, body: Json | None = None) -> bytes:
        headers = {"Authorization": f"Bearer {secret}"}
        async with self._http.request(method, self._url + path, json=body, headers=headers) as response:
            return await response.read()


class _Fault(msgspec.Struct):
    code: str = ""
    message: str = ""
    path: str = "$"


class _Answer(msgspec.Struct):
    """The fields that all answers have."""

    ok: bool = True
    error: _Fault = msgspec.field(default_factory=_Fault)

    @classmethod
    def of(cls, body: bytes) -> _Answer:
        """PeerError when this is not an answer of the daemon."""
        try:
            return msgspec.json.decode(body, type=cls)
        except msgspec.DecodeError:
            raise PeerError(f"the daemon answers nonsense: {body[:60]!r}") from None
