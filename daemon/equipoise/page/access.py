"""A browser's cookie, and the token in every form.

A form needs its token beside the cookie. It is made of the cookie's id, which no other site knows, so nothing is kept
for it. Before a login the cookie has an id of no login: the form of the login is guarded by the same means, and the
login makes a new id, so that one which somebody else has planted in the browser is worth nothing.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass

from aiohttp import web

from equipoise.errors import ScriptError
from equipoise.web.logins import LONGEST_SECONDS
from equipoise.web.proxies import PREFIX
from equipoise.web.requests import host_of


@dataclass(frozen=True, slots=True)
class Browser:
    """The browser that asks for a page, as far as its answer depends on it."""

    id: str
    """What its cookie holds: the id of a login that lasts, is over, or never was; empty: it has no cookie."""
    peer: str
    """Its address."""
    local: bool
    """It calls from this machine, or through a tunnel that ends here."""
    secure: bool
    """It calls over TLS."""
    cookie: str
    """The name of its cookie."""
    prefix: str
    """The path below which it finds the daemon behind a proxy; empty: at the top."""
    from_elsewhere: bool
    """A link on another site has led here: the cookie, which is SameSite=Strict, is not sent then."""

    @classmethod
    def of(cls, request: web.Request) -> Browser:
        """Return the browser that has sent this request."""
        prefix = request.get(PREFIX, "")
        # A browser has one jar for all ports of a name: without the port, two tunnels would log each other out.
        port = host_of(request).rpartition("]")[2].partition(":")[2]
        name = f"equipoise-{port}" if port else "equipoise"
        if request.secure:
            name = f"__Secure-{name}" if prefix else f"__Host-{name}"
        return cls(
            id=request.cookies.get(name, ""),
            peer=request.remote or "",
            local=request.remote in ("127.0.0.1", "::1"),
            secure=request.secure,
            cookie=name,
            prefix=prefix,
            from_elsewhere=request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site"),
        )

    def set_cookie(self, response: web.StreamResponse) -> None:
        """Have it keep its id for as long as a login may last, or with none forget it."""
        response.set_cookie(
            self.cookie,
            self.id,
            path=self.prefix or "/",
            max_age=int(LONGEST_SECONDS) if self.id else 0,
            httponly=True,
            samesite="Strict",
            secure=self.secure,
        )


def form_token(name: str) -> str:
    """Return the token in the forms of a browser whose cookie holds this id."""
    return hmac.new(name.encode("utf-8", "surrogateescape"), b"form", hashlib.sha256).hexdigest() if name else ""


def check_form(form: Mapping[str, str], name: str) -> None:
    """403: a form must come with the token that belongs to the browser's cookie."""
    if not name:
        message = "your browser sent no cookie with this form, and nothing was done: allow cookies for this page"
        raise ScriptError("form", message, status=403)
    token = form.get("csrf", "").encode("utf-8", "surrogateescape")
    if not hmac.compare_digest(token, form_token(name).encode()):
        message = "this form is older than your login, and nothing was done: load its page again"
        raise ScriptError("form", message, status=403)
