"""What each property in /openapi.json means.

The docstring under a field is its description, in its own class or a base of it. A field without one has the text of
its name in `MEANINGS`: most names mean the same wherever they stand.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

MEANINGS: Mapping[str, str] = {
    "a": "Players on side A: RED, Marines",
    "action": "What was done",
    "address": "Where it is reached, `host:port`",
    "admin": "The script vouches that this player is an admin",
    "after": "The value after it",
    "alive": "The player is alive",
    "args": "Arguments of the phrase, in order; `@<id>` is shown as that player's name",
    "assists": "Assists in kills of others",
    "at": "When it happened, in seconds of the script's monotonic clock; by default the batch's time",
    "audit": "Lines of the audit, newest first",
    "b": "Players on side B: BLU, Aliens",
    "balanced_by": "The rating system that makes the teams now",
    "before": "The value before it",
    "bench": "Players who sit out",
    "bench_cost": "The sum of bench costs",
    "blu": "Of side B: BLU, Aliens",
    "bots": "How many of the players are bots",
    "boot": "Names one start of the script: a number that no other start ever had",
    "building": "The player has a sentry or teleporter standing",
    "by": "The player who typed it; empty for the server's console",
    "cache": "Splits to fall back on while the daemon does not answer; only when they changed",
    "captures": "What each side captured, over all stages",
    "carrier": "The player carries the objective, or commands: they are never moved",
    "charge": "Übercharge, 0 to 1",
    "code": "What kind of refusal it is: a word of docs/protocol.md",
    "converged": "Whether the ratings stood still at the end",
    "commands": "How many commands were answered",
    "configuration": "Whether the last reading of the configuration was refused, and why",
    "connections": "How often a connection was made",
    "connected": "Seconds since the player connected",
    "count": "How many they are",
    "deadline": "Seconds after which the player is moved even alive",
    "deaths": "Suicides too",
    "decisions": "Lines of the decision log, newest first",
    "demoman": "Seconds as this class",
    "detail": "What it was decided from: plain data",
    "draws": "Rated rounds that no side won",
    "dropped": "Finished rounds that fell out of the script's full ring since the last answered batch",
    "dry_run": "Only show what would be done",
    "due": "Waiting For Players ended while the daemon did not answer, and its scramble was not carried out",
    "due_if": "Outcomes of the running round that would make a scramble due",
    "edit": "The change that was taken back, or made again",
    "enabled": "False while an admin has switched Equipoise off on this server",
    "ended_at": "When it ended, in seconds since the epoch",
    "ends_in": "Seconds to a known end of the round",
    "engineer": "Seconds as this class",
    "english": "The text in English",
    "error": "Why it was refused",
    "events": "What happened, in order",
    "facts": "What the script knows of the map's rules",
    "failures": "How often it failed",
    "findings": "What is wrong, and what is worth to know",
    "fitted": "What the fit did",
    "fought": "The player dealt or took damage, or healed another player",
    "game": "Which game it is",
    "gap": "How much better the best split of this size can be",
    "heavy": "Seconds as this class",
    "held": "Why nobody may move the player: a word of docs/protocol.md",
    "high": "Upper end of the bin: a win probability",
    "id": "The player: a SteamID64, or `bot:<userid>`",
    "ids": "Players, by id",
    "immune": "An admin who is not moved",
    "inactive_reason": "Why the script gives no orders on this map, by the game's own rules; empty: it does",
    "iterations": "How many passes it took",
    "jobs": "What the daemon does on a timer",
    "k": "Players on each side",
    "keep_together": "Groups that play on one side or sit out together",
    "kills": "Of other players",
    "kind": "Names the kind",
    "koth": "TF2: `m_bPlayingKoth`",
    "late": "The script was loaded in the middle of a map",
    "left": "The player disconnected before the round's end",
    "level": "How far to go on this map",
    "level_reason": "The key of [maps] that matched the map; empty when none did",
    "limit": "The most lines to return",
    "lines": "Texts, in order",
    "lineup": "Who stood on the sides when the round went live",
    "losses": "Rated rounds that they lost",
    "lost": "The script has been silent for `silence_seconds`",
    "low": "Lower end of the bin: a win probability",
    "map": "The map's name",
    "max_players": "Places for players",
    "mean": "Mean of the ratings; null without players",
    "medic": "Seconds as this class",
    "message": "The reason in words, for people",
    "mode": "What decides when a scramble is due",
    "moment": "`freeze`: only before the round goes live; `now`: at once",
    "moves": "Who changes sides",
    "moves_reason": "Why players may not be moved now: a word of docs/protocol.md",
    "multiple_trains": "TF2: `m_bMultipleTrains`",
    "names": "Last known names, by player id",
    "name": "What the player calls themselves",
    "next_run": "When it runs next, in seconds since the epoch",
    "next": "Call again after this many seconds at the latest",
    "no": "Votes against it",
    "ok": "Whether the request was accepted",
    "order": "The order's id",
    "orders": "What to do, in order",
    "partial": "The script did not see the round go live",
    "path": "The JSON path of what was refused",
    "pending": "Whether a scramble is due and not carried out yet",
    "phase": "Where in a round the game is",
    "phrase": "The key of the text in the translation files",
    "pid": "The daemon's process",
    "pinned": "Players who must be on a side, on the bench, or in the game on either side",
    "player": "The player",
    "played": "What the player did in it, and what it did to their rating",
    "players": "The players concerned",
    "players_a": "How many play on side A",
    "players_b": "How many play on side B",
    "plugin": "The script's version",
    "pool": "The rating population; may be left out where there is only one",
    "proposal": "What a dry run would do; null for an order that was given",
    "pyro": "Seconds as this class",
    "query": "What A2S last said",
    "rating": "The rating, in points",
    "ratings": "Ratings of players who are named by their place in this list",
    "rcon": "What RCON last said",
    "ready": "The player has chosen a class, or the script keeps a choice for them",
    "reason": "Why, in words",
    "red": "Of side A: RED, Marines",
    "refit": "How the refit goes, or went",
    "replay": "What the replay of the following rounds changes",
    "result": "What the new ratings change",
    "ring": "Rounds that wait for the store",
    "round": "The round's id, unique on its server",
    "rounds": "How many rounds",
    "rounds_after": "Rated rounds after it",
    "rounds_before": "Rated rounds before it",
    "running_since": "Since when it runs, in seconds since the epoch; null: it does not",
    "score": "1, 0.5 or 0",
    "scout": "Seconds as this class",
    "seconds_a": "Seconds on side A",
    "seconds_b": "Seconds on side B",
    "seconds": "How long, in seconds",
    "seq": "Number of the batch within the boot",
    "server": "The game server's name in the configuration",
    "servers": "Every configured game server",
    "session": "Names one map on one server",
    "side": "The player's side",
    "since": "Since when, in seconds since the epoch",
    "slots": "Places for players on the server",
    "sniper": "Seconds as this class",
    "soldier": "Seconds as this class",
    "splits": "One split for every size",
    "spy": "Seconds as this class",
    "stale": "Without a rated round for so long that they are not on the leaderboard",
    "started_at": "When the round went live, in seconds since the epoch",
    "state": "Whether the store takes what is written",
    "status": "`stored`, or `kept` in the daemon's ring",
    "store": "Whether the store is well",
    "stayed": "Players whom the order names and who could not be moved",
    "streak": "Rounds in a row that one side has won",
    "streak_side": "The side that won them",
    "sum_a": "Sum of the skills on side A",
    "sum_b": "Sum of the skills on side B",
    "target": "What it was done to: a player, a server, a pool",
    "text": "The text",
    "theta": "Scale of the logistic, in points",
    "undone": "Whether it was taken back",
    "v": "Version of the protocol",
    "value": "The estimate",
    "version": "The daemon's version",
    "visible": "The rating may be shown",
    "void": "Whether the round is out of the ratings",
    "vote_running": "A vote is running",
    "waiting": "Waiting to play; of a map or a round: inside Waiting For Players",
    "waiting_rounds": "Finished rounds that the store has not taken yet",
    "want": "What the script sends next",
    "what": "What is wrong",
    "who": "Token or player",
    "win_probability": "Of side A",
    "winner": "The side that won",
    "wins": "Rated rounds that they won",
    "words": "The command and its arguments",
    "yes": "Votes for it",
}


def meaning(kind: type, field: str) -> str:
    """What a field of a struct or dataclass means, as one line; empty when that is said nowhere."""
    for base in kind.__mro__:
        if text := _docstrings(base.__module__).get(base.__name__, {}).get(field):
            return " ".join(text.split())
    return MEANINGS.get(field, "")


@cache
def _docstrings(module: str) -> dict[str, dict[str, str]]:
    """The docstrings under the fields of a module's classes. Python drops them: they are read from the source."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if not module.startswith("equipoise.") or file is None:
        return {}
    tree = ast.parse(Path(file).read_text("utf-8"))
    return {each.name: dict(_under_fields(each)) for each in tree.body if isinstance(each, ast.ClassDef)}


def _under_fields(kind: ast.ClassDef) -> list[tuple[str, str]]:
    return [
        (field.target.id, below.value.value)
        for field, below in zip(kind.body, kind.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    ]
