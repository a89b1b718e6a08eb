"""Messages as examples in /openapi.json, by their type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from equipoise.web.messages.editing import RatingSet, RoundVoid, Undo
from equipoise.web.messages.health import Health
from equipoise.web.messages.matches import MatchAsked, MatchFound
from equipoise.web.messages.players import PlayerFound
from equipoise.web.messages.pools import CalibrateAsked, QualityFound, RefitAsked
from equipoise.web.messages.rcon import ConsoleCommand
from equipoise.web.messages.reloading import ReloadAsked
from equipoise.web.messages.rounds import RoundSent, RoundTaken
from equipoise.web.messages.servers import Command, CommandDone
from equipoise.web.messages.splits import SplitsAsked, SplitsFound
from equipoise.wire import events, orders

ANN, BOB = "76561197960265729", "76561197960265730"

_ROUND = {
    "round": "1763622000123-1",
    "session": "1763622000123-1",
    "map": "arena_lumberyard",
    "game": "tf2",
    "facts": {"game_type": 4},
    "started_at": 1763622040.0,
    "seconds": 95.0,
    "winner": "red",
    "captures": {"red": 1, "blu": 0},
    "lineup": [{"id": ANN, "side": "red"}, {"id": BOB, "side": "blu"}],
    "players": [
        {
            "id": ANN,
            "side": "red",
            "seconds": {"red": 95.0},
            "fought": True,
            "counts": {"kills": 2, "deaths": 0, "assists": 1, "points": 4, "classes": {"soldier": 95.0}, "suicides": 1},
        },
        {"id": BOB, "side": "blu", "seconds": {"blu": 95.0}, "fought": True},
    ],
}
_STREAK = {"phrase": "Equipoise_ReasonStreak", "args": ["3"]}
_HELLO = {
    "kind": "hello",
    "plugin": "0.1.0",
    "game": "tf2",
    "map": "arena_lumberyard",
    "session": "1763622000123-1",
    "phase": "idle",
    "facts": {"game_type": 4},
}
_ROSTER = {"kind": "roster", "players": [{"id": ANN, "side": "red"}, {"id": BOB, "side": "blu"}]}

EXAMPLES: Mapping[Any, Any] = {
    events.Batch: {
        "v": 1,
        "server": "arena-1",
        "boot": 1763622000123,
        "seq": 1,
        "at": 812.4,
        "events": [_HELLO, _ROSTER],
    },
    orders.Reply: {
        "ok": True,
        "orders": [{"kind": "say", "text": {"phrase": "Equipoise_Scrambled", "args": ["RED", "51", _STREAK]}}],
        "rounds": {"1763622000123-1": "stored"},
        "players": [{"id": ANN, "rating": 1018.0, "rounds": 1, "visible": False}],
        "pending": False,
        "reason": None,
        "due_if": ["red"],
        "want": [],
        "enabled": True,
        "level": "balance",
        "level_reason": "",
        "next": 5.0,
    },
    RoundSent: {"server": "arena-1", "round": _ROUND},
    RoundTaken: {
        "ok": True,
        "status": "stored",
        "win_probability": 0.5,
        "unrated": None,
        "players": [
            {"id": ANN, "side": "a", "before": 1000.0, "after": 1018.0, "rounds": 1, "visible": False},
            {"id": BOB, "side": "b", "before": 1000.0, "after": 982.0, "rounds": 1, "visible": False},
        ],
    },
    SplitsAsked: {"ratings": [1830, 1210, 1450, 990], "keep_together": [[0, 3]]},
    SplitsFound: {
        "ok": True,
        "splits": [
            {
                "k": 2,
                "a": [0, 3],
                "b": [1, 2],
                "bench": [],
                "difference": 160.0,
                "win_probability": 0.5167,
                "low": None,
                "high": None,
                "unevenness": 0.0167,
                "evenness": 0.9666,
                "quality": 0.9666,
                "trueskill_quality": None,
                "optimal": True,
                "gap": {"points": 0.0, "bench_cost": 0, "moves": 0},
            }
        ],
    },
    RatingSet: {"rating": 1500},
    Undo: {"dry_run": True},
    RoundVoid: {"reason": "a cheater played", "dry_run": True},
    PlayerFound: {
        "ok": True,
        "pool": "main",
        "player": {
            "id": ANN,
            "name": "Ann",
            "rating": 1500.0,
            "rounds": 212,
            "visible": True,
            "stale": False,
            "last_played": 1763622135.0,
            "skill": 1500.0,
            "skill_by": None,
            "deviation": 78.0,
            "interval": {"low": 1400.0, "high": 1600.0},
            "record": {"wins": 109, "draws": 4, "losses": 99, "leaves": 6},
            "skills": None,
        },
    },
    MatchAsked: {"a": [ANN], "b": ["Bob"]},
    MatchFound: {
        "ok": True,
        "pool": "main",
        "a": [{"id": ANN, "name": "Ann"}],
        "b": [{"id": BOB, "name": "Bob"}],
        "win_probability": 0.52,
        "low": 0.3,
        "high": 0.73,
        "unevenness": 0.13,
        "evenness": 0.74,
        "quality": 0.74,
        "trueskill_quality": 0.42,
    },
    Command: {"dry_run": True},
    CommandDone: {
        "ok": True,
        "lines": [],
        "proposal": {
            "a": [BOB],
            "b": [ANN],
            "bench": [],
            "before": 0.61,
            "after": 0.51,
            "before_outlook": {"chance": 0.61, "low": 0.42, "high": 0.79, "unevenness": 0.14},
            "after_outlook": {"chance": 0.51, "low": 0.44, "high": 0.58, "unevenness": 0.04},
            "spread_before": [120.0, 80.0],
            "spread_after": [95.0, 101.0],
            "moves": [{"id": ANN, "name": "Ann", "side": "blu"}],
            "sides": ["red", "blu"],
        },
    },
    ConsoleCommand: {"command": "status"},
    RefitAsked: {"dry_run": True},
    CalibrateAsked: {"dry_run": True},
    QualityFound: {
        "ok": True,
        "pool": "main",
        "typical": {"favourite": 0.55, "even": 0.71, "random": 0.67},
        "quality": {
            "rounds": 500,
            "brier": {"value": 0.243, "error": 0.004},
            "log_loss": {"value": 0.679, "error": 0.008},
            "even": {"value": 0.44, "error": 0.022},
            "calibration": [
                {"low": 0.5, "high": 0.6, "rounds": 500, "predicted": 0.53, "scored": {"value": 0.52, "error": 0.022}}
            ],
            "calibration_error": 0.01,
        },
        "players": {"count": 212, "visible": 150, "shadow": 62, "stale": 40, "mean": 1004.0, "spread": 130.0},
        "suggested_theta": None,
        "groups": [
            {
                "by": "squad",
                "name": "2",
                "rounds": 310,
                "players": 840,
                "predicted": 0.5,
                "scored": 0.53,
                "difference": {"value": 0.03, "error": 0.012},
            }
        ],
        "balance": None,
        "team_sizes": {"rounds": 500, "usual": 12, "k_max": 12, "suggested_k_max": None},
        "scores": [
            {
                "mode": "arena",
                "rounds": 640,
                "used": True,
                "gain": 21.3,
                "weights": [{"feature": "kills", "weight": 0.1, "deviation": 0.02}],
                "noise": 0.7,
                "offset": 0.11,
                "correlation": 0.33,
            }
        ],
        "spread": {"rounds": 1240, "present": 0.31, "spread": 0.33, "error": 0.03, "missing": 2100},
        "learnt_spread": {
            "number": 913,
            "at": 1763355000.0,
            "spread": 0.31,
            "error": 0.04,
            "rounds": 880,
            "before": 0.25,
            "configured": 0.25,
        },
        "calibration": None,
    },
    ReloadAsked: {"dry_run": True},
    Health: {
        "ok": True,
        "version": "0.1.0",
        "waiting_rounds": 0,
        "store": {"state": "ok", "since": None, "advice": ""},
    },
}
"""Every body that can be sent has one, and the answers that programs read most."""
