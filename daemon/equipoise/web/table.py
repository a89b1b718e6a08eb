"""The table of routes: path, callers, handler and types of each."""

from __future__ import annotations

import asyncio
from functools import cache
from threading import Lock

from equipoise.service import metrics
from equipoise.web import (
    doctor,
    editing,
    exporting,
    logs,
    matches,
    past,
    players,
    quality,
    rcon,
    refits,
    reloading,
    scripts,
    servers,
    splitting,
    theta,
)
from equipoise.web.answers import Answered
from equipoise.web.health import show_health
from equipoise.web.messages import Limited, Paged
from equipoise.web.messages.doctor import Findings
from equipoise.web.messages.editing import EditUndone, PlayerEdited, RatingSet, RoundVoid, RoundVoided, Undo
from equipoise.web.messages.health import Health
from equipoise.web.messages.logs import Audits, Decisions, Reasons
from equipoise.web.messages.matches import MatchAsked, MatchFound
from equipoise.web.messages.past import History, OfPlayer, OfRounds, RoundFound, Rounds
from equipoise.web.messages.players import InPool, PlayerFound, PlayersFound, Sought, Top
from equipoise.web.messages.pools import (
    CalibrateAsked,
    CalibrateFound,
    PoolsFound,
    QualityFound,
    RefitAsked,
    RefitSeen,
    ThetaFound,
)
from equipoise.web.messages.rcon import ConsoleCommand, ConsoleOutput
from equipoise.web.messages.reloading import ReloadAsked, ReloadDone
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
    return Answered(await asyncio.to_thread(_description))


_describing = Lock()


def _description() -> bytes:
    """The document, which takes 90 ms of the processor: made once, however many ask for it at the same time."""
    with _describing:
        return _described()


@cache
def _described() -> bytes:
    return document(TABLE)


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
        "GET",
        "/v1/admin/players/{id}/rounds",
        "A player's rated rounds",
        READERS,
        past.show_history,
        History,
        query=OfPlayer,
    ),
    Route(
        "PUT",
        "/v1/admin/players/{id}",
        "Set a player's rating",
        ADMINS,
        editing.set_player,
        PlayerEdited,
        body=RatingSet,
        query=InPool,
    ),
    Route(
        "DELETE",
        "/v1/admin/players/{id}",
        "Make a player a newcomer",
        ADMINS,
        editing.reset_player,
        PlayerEdited,
        query=InPool,
    ),
    Route(
        "POST",
        "/v1/admin/players/{id}/undo",
        "Take back a player's last edit",
        ADMINS,
        editing.undo_edit,
        EditUndone,
        body=Undo,
        query=InPool,
    ),
    Route(
        "POST",
        "/v1/admin/rounds/{server}/{round}/void",
        "Take a round out of the ratings",
        ADMINS,
        editing.void_round,
        RoundVoided,
        body=RoundVoid,
    ),
    Route("GET", "/v1/admin/pools", "The configured pools", READERS, quality.show_pools, PoolsFound),
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
    Route(
        "POST",
        "/v1/admin/pools/{pool}/calibrate",
        "Calibrate what is said of chances by a pool's results",
        ADMINS,
        quality.calibrate,
        CalibrateFound,
        body=CalibrateAsked,
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
    Route(
        "POST",
        "/v1/admin/pools/{pool}/match",
        "How even two sides are known to be",
        READERS,
        matches.show_match,
        MatchFound,
        body=MatchAsked,
    ),
    Route("GET", "/v1/admin/rounds", "Stored rounds", READERS, past.list_rounds, Rounds, query=OfRounds),
    Route("GET", "/v1/admin/rounds/{server}/{round}", "A round", READERS, past.show_round, RoundFound),
    Route(
        "GET",
        "/v1/admin/pools/{pool}/export",
        "A whole pool as JSON Lines",
        ADMINS,
        exporting.export_pool,
        None,
        media_type="application/jsonl",
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
        "POST",
        "/v1/admin/servers/{server}/rcon",
        "A command to the game server's console",
        ADMINS,
        rcon.send_command,
        ConsoleOutput,
        body=ConsoleCommand,
    ),
    Route(
        "GET",
        "/v1/admin/decisions",
        "The decision log",
        READERS,
        logs.show_decisions,
        Decisions,
        query=Reasons,
    ),
    Route(
        "POST",
        "/v1/admin/reload",
        "Read the configuration again",
        ADMINS,
        reloading.reload,
        ReloadDone,
        body=ReloadAsked,
    ),
    Route("GET", "/v1/admin/audit", "What admins did", READERS, logs.show_audit, Audits, query=Paged),
    Route("GET", "/v1/admin/doctor", "What is wrong, and what to do", ADMINS, doctor.show_findings, Findings),
    Route("GET", "/healthz", "Does the daemon store rounds", frozenset(), show_health, Health),
    Route("GET", "/metrics", "Prometheus metrics", READERS, measures, None, media_type="text/plain"),
    Route("GET", "/openapi.json", "This document", ANYBODY, described, None),
)
