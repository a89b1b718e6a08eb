"""Callers, and the checks of a request before its handler runs, in the order of docs/protocol.md.

Callers are game servers' scripts and holders of tokens. Their secrets are known by their SHA-256 only. Each check
raises ScriptError, with the status that its docstring names.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from aiohttp import web

from equipoise.errors import ScriptError

LIMIT = 256 * 1024
BODY_SECONDS = 10.0
JSON = "application/json"
FORM = "application/x-www-form-urlencoded"

Role = Literal["script", "viewer", "admin"]


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller whose secret is known."""

    role: Role
    name: str
    """The script's server, or the token's name."""

    @property
    def who(self) -> str:
        """The caller's name in the audit."""
        return f"{'script' if self.role == 'script' else 'token'}:{self.name}"


@dataclass(frozen=True, slots=True)
class Callers:
    """Every caller by the SHA-256 of their secret."""

    digests: Mapping[bytes, Caller] = field(default_factory=dict)

    def names(self) -> frozenset[str]:
        """Return all callers as the audit names them."""
        return frozenset(caller.who for caller in self.digests.values())

    def known(self, secret: str) -> Caller | None:
        """Return the caller who has this secret.

        All digests are compared, so that the time taken reveals none.
        """
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
        match = None
        for entry, caller in self.digests.items():
            if hmac.compare_digest(entry, digest):
                match = caller
        return match


def check_encoding(request: web.Request) -> None:
    """415: no body is unpacked, because 4 MB may unpack to 4 GB."""
    encoding = request.headers.get("Content-Encoding", "").lower()
    transfer = request.headers.get("Transfer-Encoding", "chunked").lower()
    if encoding not in ("", "identity") or transfer != "chunked":
        raise ScriptError("encoding", "send the body as it is, without Content-Encoding", status=415)


def check_host(request: web.Request, names: Collection[str]) -> None:
    """421: the Host header must name the daemon, which stops DNS rebinding."""
    if request.headers.get("Host", "").lower() not in names:
        raise ScriptError("host", "this host is not served here; web.hosts lists its names", status=421)


def check_origin(request: web.Request, names: Collection[str]) -> None:
    """403: no page of another site may have a browser call."""
    origin = request.headers.get("Origin")
    if origin is not None and origin.lower() not in {f"{s}://{name}" for s in ("http", "https") for name in names}:
        raise ScriptError("origin", "pages of other sites may not call", status=403)
    if request.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
        raise ScriptError("origin", "pages of other sites may not call", status=403)


def check_content_type(request: web.Request, *, form: bool) -> None:
    """415: JSON, and where it is allowed a form."""
    types = (JSON, FORM) if form else (JSON,)
    if request.content_type not in types:
        raise ScriptError("content_type", f"send {' or '.join(types)}", status=415)


def check_size(request: web.Request) -> None:
    """413: a body that announces itself as too large is not read."""
    if (request.content_length or 0) > LIMIT:
        raise too_large()


def too_large() -> ScriptError:
    """Return the refusal of a body over the limit."""
    return ScriptError("size", f"a body has at most {LIMIT} bytes", status=413)


def too_slow() -> ScriptError:
    """Return the refusal of a body that does not arrive."""
    return ScriptError("timeout", f"the body did not arrive within {BODY_SECONDS:g} s", status=408)


def bearer(request: web.Request) -> str | None:
    """Return the secret in the Authorization header, None without one; 401 when it is of another kind."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer":
        raise ScriptError("credentials", "send Authorization: Bearer <secret>", status=401)
    return secret.strip()


def check_credentials(callers: Callers, secret: str | None) -> Caller:
    """401: the secret must be known."""
    caller = None if secret is None else callers.known(secret)
    if caller is None:
        raise ScriptError("credentials", "this secret is not known here", status=401)
    return caller


def check_role(caller: Caller, roles: Collection[str]) -> None:
    """403: the caller's role must be among those of the route."""
    if caller.role not in roles:
        raise ScriptError(
            "role", f"this is not for the role {caller.role}, but for: {', '.join(sorted(roles))}", status=403
        )


def check_server(caller: Caller, server: str) -> None:
    """403: a script speaks for its own server only."""
    if caller.role == "script" and caller.name != server:
        raise ScriptError("server", "this secret belongs to another server", path="$.server", status=403)
