"""A request from its arrival to its answer: it passes the guards in order, and every answer is JSON with `ok`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

import msgspec
from aiohttp import ClientPayloadError, web
from aiohttp.http_exceptions import BadHttpMessage
from aiohttp.typedefs import Middleware

from equipoise.core.model import ServerId
from equipoise.errors import ScriptError, SpillError, StoreError
from equipoise.service.host import Host
from equipoise.web import guards
from equipoise.web.answers import Answer, Stream
from equipoise.web.connections import connection_of, drain
from equipoise.web.guards import Caller
from equipoise.web.openapi import TABLE
from equipoise.web.refusals import BODY, CALLER, EVENTS, HEAD_BYTES
from equipoise.web.routes import Request, Route, Services
from equipoise.wire import decode_as, split_form, unquoted

Respond = Callable[[web.Request], Awaitable[web.StreamResponse]]

_HTTP_CODES: Mapping[int, str] = {404: "not_found", 405: "method", 413: "size"}

log = logging.getLogger(__name__)


def application(current: Callable[[], Services]) -> web.Application:
    """Return all routes of the table behind their checks.

    Each request is answered by the services that are current at its beginning.
    """
    app = web.Application(middlewares=[_answer_everything(current)])
    for route in TABLE:
        app.router.add_route(route.method, route.path, _guarded(route, current))
    return app


def _answer_everything(current: Callable[[], Services]) -> Middleware:
    """Turn every error, also of an unknown path, into an answer that a script can read.

    `except Exception` is right here: NS2 sees neither status nor headers, and an answer without a body would look like
    a silent daemon.
    """

    @web.middleware
    async def answer(request: web.Request, handler: Respond) -> web.StreamResponse:
        connection, services = connection_of(request), current()
        connection.begin_request()
        try:
            guards.check_encoding(request)
            guards.check_host(request, services.names)
            guards.check_origin(request, services.names)
            response = await handler(request)
        except Exception as error:
            response = await _refuse(services, request, error)
        if connection.caller is None:
            response.force_close()
        return response

    return answer


def _as_script_error(error: Exception) -> ScriptError:
    """The refusal that an error is answered with; an unexpected one is logged and becomes a 500."""
    match error:
        case ScriptError():
            return error
        case web.HTTPException():
            return ScriptError(_HTTP_CODES.get(error.status, "http"), error.reason, status=error.status)
        case StoreError() | SpillError():
            return ScriptError("unavailable", str(error), status=503)
        case ClientPayloadError() | web.RequestPayloadError() | BadHttpMessage() | ConnectionError():
            # A ConnectionError: the caller has gone in the middle of the body. Nothing of ours failed.
            return ScriptError("payload", "the body cannot be read", status=400)
        case _:
            log.error("a request failed", exc_info=error)
            return ScriptError("internal", "the daemon failed on this; its log says how", status=500)


async def _refuse(services: Services, request: web.Request, raised: Exception) -> web.Response:
    """The refusal. It is sent before the rest of the body is read, and the connection is closed then."""
    error = _as_script_error(raised)
    # It holds the frames of the checks, and with them the body: a refusal may be a second late.
    raised.__traceback__ = None
    error = await services.refusals.throttled(request.remote, error)
    response = services.refusals.answer(error)
    if isinstance(raised, web.HTTPMethodNotAllowed):
        response.headers["Allow"] = raised.headers["Allow"]
    if not request.content.is_eof():
        response.force_close()
        with suppress(ConnectionError):
            await response.prepare(request)
            await response.write_eof()
    body = request[BODY] if BODY in request else await drain(request.content)
    services.refusals.record(request, error, body)
    if request.path == EVENTS and (host := _host(services, request)) is not None:
        host.refuse(error)
    return response


def _host(services: Services, request: web.Request) -> Host | None:
    """Return the server whose script sent a refused request.

    Secrets in headers count for requests that were refused before their check, too.
    """
    caller = request.get(CALLER)
    if caller is None:
        with suppress(ScriptError):
            secret = guards.bearer(request)
            caller = None if secret is None else services.callers.known(secret)
    return services.hosts.get(ServerId(caller.name)) if caller is not None and caller.role == "script" else None


def _guarded(route: Route, current: Callable[[], Services]) -> Respond:
    """Put the route's handler behind its checks, in their order."""
    seconds = current().metrics.seconds.labels(f"{route.method} {route.plain_path}")

    async def respond(request: web.Request) -> web.StreamResponse:
        start, services = time.perf_counter(), current()
        reply = await route.handler(await _checked(route, services, request))
        if isinstance(reply, Stream):
            return await reply.send(request)
        answer = reply if isinstance(reply, Answer) else Answer(msgspec.json.encode(reply))
        if answer.refusal is not None:
            services.metrics.refused.labels(answer.refusal).inc()
        seconds.observe(time.perf_counter() - start)
        return answer.response()

    return respond


async def _checked(route: Route, services: Services, request: web.Request) -> Request:
    """Return the request; ScriptError of the first check that it fails."""
    if route.body is not None:
        guards.check_content_type(request, form=route.form)
    guards.check_size(request)
    form = route.form and request.content_type == guards.FORM
    if form:
        secret, text = split_form(await _read(request), request.charset or "utf-8")
        caller = _caller(route, services, request, secret)
        body = unquoted(text)
    else:
        caller = _caller(route, services, request, guards.bearer(request))
        body = await _read(request)
    return Request(
        services=services,
        caller=caller,
        body=None if route.body is None else decode_as(body, route.body),
        query=None if route.query is None else _query(request, route),
        path=dict(request.match_info),
        gone=lambda: request.transport is None or request.transport.is_closing(),
    )


def _caller(route: Route, services: Services, request: web.Request, secret: str | None) -> Caller:
    if not route.roles:
        return Caller("viewer", "")
    caller = guards.check_credentials(services.callers, secret)
    connection_of(request).prove(caller.who)
    request[CALLER] = caller
    guards.check_role(caller, route.roles)
    return caller


async def _read(request: web.Request) -> bytes:
    # Not `request.read`: it would hold the body for as long as the request is in work.
    body = bytearray()
    try:
        async with asyncio.timeout(guards.BODY_SECONDS):
            while part := await request.content.readany():
                body += part
                if len(body) > guards.LIMIT:
                    raise guards.too_large()
    except TimeoutError:
        request[BODY] = b""  # the rest is not waited for
        raise guards.too_slow() from None
    except (ConnectionError, RuntimeError) as error:  # RuntimeError: aiohttp's, for a body that can never come
        # It holds the body, and the body's reader holds it: 256 KB until the next collection.
        error.__traceback__ = None
        raise ScriptError("payload", "the connection was closed in the middle of the body", status=400) from None
    request[BODY] = bytes(body[:HEAD_BYTES])
    return bytes(body)


def _query(request: web.Request, route: Route) -> object:
    if len(request.query) > len(set(request.query)):
        raise ScriptError("schema", "in the query: a parameter is there twice")
    try:
        return msgspec.convert(dict(request.query), route.query, strict=False)
    except msgspec.ValidationError as error:
        raise ScriptError("schema", f"in the query: {error}") from None
