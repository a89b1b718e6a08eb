"""The table of routes: path, callers, handler and types of each."""

from __future__ import annotations

from functools import cache

from equipoise.service import metrics
from equipoise.web import logs, players, quality, refits, scripts, servers, splitting, theta
from equipoise.web.answers import Answered
from equipoise.web.health import show_health
from equipoise.web.messages import Limited
from equipoise.web.messages.health import Health
from equipoise.web.messages.logs import Audits, Decisions, OfServer
from equipoise.web.messages.players import InPool, PlayerFound, PlayersFound, RatingSet, Sought, Top
from equipoise.web.messages.pools import QualityFound, RefitAsked, RefitSeen, ThetaFound
from equipoise.web.messages.rounds import RoundSent, RoundTaken
from equipoise.web.messages.servers import Command, CommandDone, OneServer, Servers
from equipoise.web.messages.splits import SplitsAsked, SplitsFound
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
    Route("POST", "/v1/rounds", "A finished round", WRITERS, scripts.take_round, RoundTaken, body=RoundSent),
    Route(
        "POST",
        "/v1/splits",
        "The best split for every team size",
        ANYBODY,
        splitting.find_splits,
        SplitsFound,
        body=SplitsAsked,
    ),
    Route("GET", "/v1/admin/players/{id}", "A player", READERS, players.show_player, PlayerFound, query=InPool),
    Route(
        "PUT",
        "/v1/admin/players/{id}",
        "Set a player's rating",
        ADMINS,
        players.set_player,
        PlayerFound,
        body=RatingSet,
        query=InPool,
    ),
    Route(
        "DELETE",
        "/v1/admin/players/{id}",
        "Make a player a newcomer",
        ADMINS,
        players.reset_player,
        PlayerFound,
        query=InPool,
    ),
    Route(
        "GET",
        "/v1/admin/pools/{pool}/quality",
        "How well a pool predicts",
        READERS,
        quality.show_quality,
        QualityFound,
    ),
    Route(
        "GET",
        "/v1/admin/pools/{pool}/theta",
        "The scale of the logistic that a pool's rounds fit best",
        READERS,
        theta.show_theta,
        ThetaFound,
    ),
    Route(
        "POST",
        "/v1/admin/pools/{pool}/refit",
        "Fit all rounds of a pool at once",
        ADMINS,
        refits.start_refit,
        RefitSeen,
        body=RefitAsked,
    ),
    Route("GET", "/v1/admin/pools/{pool}/refit", "How that goes", READERS, refits.show_refit, RefitSeen),
    Route("GET", "/v1/admin/pools/{pool}/top", "The leaderboard", READERS, players.show_top, Top, query=Limited),
    Route(
        "GET",
        "/v1/admin/pools/{pool}/players",
        "Players by a part of their id or name",
        READERS,
        players.find_players,
        PlayersFound,
        query=Sought,
    ),
    Route("GET", "/v1/admin/servers", "All servers", READERS, servers.show_servers, Servers),
    Route("GET", "/v1/admin/servers/{server}", "A server", READERS, servers.show_server, OneServer),
    Route(
        "POST",
        "/v1/admin/servers/{server}/{action:scramble|balance|cancel|on|off}",
        "Order something",
        ADMINS,
        servers.command,
        CommandDone,
        body=Command,
    ),
    Route(
        "GET",
        "/v1/admin/decisions",
        "The decision log",
        READERS,
        logs.show_decisions,
        Decisions,
        query=OfServer,
    ),
    Route("GET", "/v1/admin/audit", "What admins did", READERS, logs.show_audit, Audits, query=Limited),
    Route("GET", "/healthz", "Does the daemon store rounds", frozenset(), show_health, Health),
    Route("GET", "/metrics", "Prometheus metrics", READERS, measures, None, media_type="text/plain"),
    Route("GET", "/openapi.json", "This document", ANYBODY, described, None),
)
