"""The table of routes: path, callers, handler and types of each."""

from __future__ import annotations

from functools import cache

from equipoise.service import metrics
from equipoise.web import admin, quality, scripts, splitting, theta
from equipoise.web import messages as m
from equipoise.web.answers import Answered
from equipoise.web.health import show_health
from equipoise.web.openapi import document
from equipoise.web.routes import ADMINS, ANYBODY, READERS, SCRIPTS, WRITERS, Asked, Route
from equipoise.wire import events, orders


async def measures(asked: Asked) -> Answered:
    """The metrics in Prometheus' text format."""
    return Answered(asked.services.metrics.text(), content_type=metrics.CONTENT_TYPE)


async def described(asked: Asked) -> Answered:
    """The OpenAPI description of this table."""
    return Answered(_description())


@cache
def _description() -> bytes:
    return document(TABLE)  # takes 10 ms


TABLE: tuple[Route, ...] = (
    Route(
        "POST",
        "/v1/events",
        "A game script's batch",
        SCRIPTS,
        scripts.take_batch,
        orders.Reply,
        body=events.Batch,
        form=True,
    ),
    Route("POST", "/v1/rounds", "A finished round", WRITERS, scripts.take_round, m.RoundTaken, body=m.RoundSent),
    Route(
        "POST",
        "/v1/splits",
        "The best split for every team size",
        ANYBODY,
        splitting.find_splits,
        m.SplitsFound,
        body=m.SplitsAsked,
    ),
    Route("GET", "/v1/admin/players/{id}", "A player", READERS, admin.show_player, m.PlayerFound, query=m.InPool),
    Route(
        "PUT",
        "/v1/admin/players/{id}",
        "Set a player's rating",
        ADMINS,
        admin.set_player,
        m.PlayerFound,
        body=m.RatingSet,
        query=m.InPool,
    ),
    Route(
        "DELETE",
        "/v1/admin/players/{id}",
        "Make a player a newcomer",
        ADMINS,
        admin.reset_player,
        m.PlayerFound,
        query=m.InPool,
    ),
    Route(
        "GET",
        "/v1/admin/pools/{pool}/quality",
        "How well a pool predicts",
        READERS,
        quality.show_quality,
        m.QualityFound,
    ),
    Route(
        "GET",
        "/v1/admin/pools/{pool}/theta",
        "The scale of the logistic that a pool's rounds fit best",
        READERS,
        theta.show_theta,
        m.ThetaFound,
    ),
    Route("GET", "/v1/admin/pools/{pool}/top", "The leaderboard", READERS, admin.show_top, m.Top, query=m.Limited),
    Route(
        "GET",
        "/v1/admin/pools/{pool}/players",
        "Players by a part of their id or name",
        READERS,
        admin.find_players,
        m.PlayersFound,
        query=m.Sought,
    ),
    Route("GET", "/v1/admin/servers", "All servers", READERS, admin.show_servers, m.Servers),
    Route("GET", "/v1/admin/servers/{server}", "A server", READERS, admin.show_server, m.OneServer),
    Route(
        "POST",
        "/v1/admin/servers/{server}/{action:scramble|balance|cancel|on|off}",
        "Order something",
        ADMINS,
        admin.command,
        m.CommandDone,
        body=m.Command,
    ),
    Route(
        "GET",
        "/v1/admin/decisions",
        "The decision log",
        READERS,
        admin.show_decisions,
        m.Decisions,
        query=m.OfServer,
    ),
    Route("GET", "/v1/admin/audit", "What admins did", READERS, admin.show_audit, m.Audits, query=m.Limited),
    Route("GET", "/healthz", "Does the daemon store rounds", frozenset(), show_health, m.Health),
    Route("GET", "/metrics", "Prometheus metrics", READERS, measures, None, media_type="text/plain"),
    Route("GET", "/openapi.json", "This document", ANYBODY, described, None),
)
