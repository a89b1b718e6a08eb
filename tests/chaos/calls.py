"""HTTP as docs/protocol.md has it, one connection per request, and what is wrong with an answer."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PATIENCE = 3.0
"""Seconds a script waits for an answer; the daemon promises one after 1."""


@dataclass(frozen=True)
class Request:
    """What is sent; the headers beside those that HTTP needs."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What came back; `fault` says what the protocol does not allow in it."""

    status: int
    json: Mapping[str, Any]
    fault: str | None = None

    @property
    def ok(self) -> bool:
        return self.json.get("ok") is True

    @property
    def code(self) -> str | None:
        """The error's code."""
        return None if self.ok else self.json.get("error", {}).get("code")


def ask(port: int, request: Request, patience: float = PATIENCE) -> Answer | None:
    """The answer to a request; None when none came, for whatever reason."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patience)
    try:
        connection.request(request.method, request.path, request.body, {**request.headers, "Connection": "close"})
        response = connection.getresponse()
        return read(response.status, response.read())
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def read(status: int, body: bytes) -> Answer:
    """Every answer is a JSON object with `ok`, and a refusal has a code; 500 is a fault of the daemon."""
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if not isinstance(value, dict) or not isinstance(value.get("ok"), bool):
        return Answer(status, {}, f"{status}: no JSON object with `ok`: {body[:200]!r}")
    answer = Answer(status, value)
    if not answer.ok and not isinstance(answer.code, str):
        return Answer(status, value, f"{status}: a refusal without a code: {body[:200]!r}")
    if status == 500:
        return Answer(status, value, f"{status}: {body[:200]!r}")
    return answer


def bearer(secret: str) -> dict[str, str]:
    """The headers of a JSON request with a secret."""
    return {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
