"""The way in and out: a form for a token, links that log in once, and the logout."""

from __future__ import annotations

import logging
import re
from urllib.parse import urlsplit

import msgspec
from aiohttp import web

from equipoise.errors import ScriptError
from equipoise.page.visits import Elsewhere, Pages, Shown, Visit
from equipoise.store.notes import Audit
from equipoise.web.logins import Logins, new_id
from equipoise.web.routes import Caller

HERE = re.compile(r"/(?![/\\])[!-~]*")
"""A path of this daemon with its query. What begins with two strokes is another machine to a browser."""
OLD_LINK = "this link was used, or is older than ten minutes; `equipoise page` makes a new one"

pages = Pages()
log = logging.getLogger(__name__)


class Way(msgspec.Struct, frozen=True):
    """Parameters of the login."""

    link: str | None = None
    """The secret of a link that logs in once."""
    next: str | None = None
    """The page to go to then."""


def first(visit: Visit, request: web.Request) -> Shown | Elsewhere:
    """Return the login instead of a page that needs it; a form that was sent there is not taken."""
    if request.method != "POST":
        return Elsewhere(visit.link("login", next=None if request.path_qs == "/" else request.path_qs))
    page = urlsplit(request.headers.get("Referer", ""))
    path = page.path.removeprefix(visit.browser.prefix) + (f"?{page.query}" if page.query else "")
    return _form(visit, Way(next=path), "you are not logged in any more, and nothing was done", status=403)


def again(visit: Visit, following: str | None, error: ScriptError) -> Shown:
    """Return the login after one that was refused."""
    return _form(visit, Way(next=following), error.message, status=error.status)


def _form(
    visit: Visit, way: Way, message: str | None = None, *, caller: Caller | None = None, status: int = 200
) -> Shown:
    """Return the form for a token; with `caller` the button that logs in as this one."""
    values = {
        "message": message,
        "target": visit.link("login", link=way.link, next=_own(way.next)),
        "caller": caller,
        "onward": None,
        "readable": not (visit.browser.secure or visit.browser.local),
    }
    return Shown("login.html", "Log in", values, status, None if visit.browser.id else new_id())


def _own(following: str | None) -> str | None:
    return following if following and HERE.fullmatch(following) else None


@pages.add("GET", "/login", frozenset(), query=Way)
async def show_login(visit: Visit) -> Shown:
    """The form; for a link one button, because a program that only looks where it leads must not use it up."""
    way: Way = visit.query
    if visit.browser.from_elsewhere:
        # The browser has kept its cookie back. It sends it to where a page of ours leads.
        page = visit.browser.prefix + (_own(way.next) or "/")
        return Shown("login.html", "Log in", {"onward": visit.link("login", link=way.link) if way.link else page})
    if way.link is None:
        return _form(visit, way)
    token = _logins(visit).links.token(way.link, visit.services.clock.monotonic(), use=False)
    caller = visit.services.callers.digests.get(token or b"")
    if caller is None:
        return _form(visit, Way(next=way.next), OLD_LINK, status=410)
    return _form(visit, way, caller=caller)


@pages.add("POST", "/login", frozenset(), query=Way)
async def log_in(visit: Visit) -> Elsewhere:
    """Log the browser in by a link or a token; ScriptError 401, 403."""
    way: Way = visit.query
    services, logins = visit.services, _logins(visit)
    if way.link is not None:
        how, refusal = "by a link", OLD_LINK
        token = logins.links.token(way.link, services.clock.monotonic(), use=True)
        caller = services.callers.digests.get(token or b"")
    else:
        how, refusal = "by a token", "this token is not known here"
        caller = services.callers.known(visit.form.get("token", "").strip())
    if caller is None:
        raise ScriptError("credentials", refusal, status=401)
    if caller.role == "script":
        message = "this is the secret of a game server: the page needs a token, as in the file owner.token"
        raise ScriptError("role", message, status=403)
    now = services.clock.epoch()
    login = await logins.open(services.callers.digest(caller), caller.role, now)
    await logins.end(visit.browser.id)
    # It is not waited for: who logs in may want to know why the store does not answer.
    services.store.note([Audit(now, caller.who, "login", "page", "", how)])
    log.info("logged in %s", how, extra={"caller": caller.who, "peer": visit.browser.peer})
    return Elsewhere(visit.browser.prefix + (_own(way.next) or "/"), login)


@pages.add("POST", "/logout", frozenset())
async def log_out(visit: Visit) -> Elsewhere:
    """End the login of this browser, and lead it to the form."""
    if visit.caller.name:
        await _logins(visit).end(visit.browser.id)
        log.info("logged out", extra={"caller": visit.caller.who, "peer": visit.browser.peer})
    return Elsewhere(visit.link("login"), "")


def _logins(visit: Visit) -> Logins:
    assert visit.services.logins is not None, "there are no pages without logins"
    return visit.services.logins
