"""Encode answers to game scripts, below the size that their HTTP library reads whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

import msgspec
from msgspec import UNSET, UnsetType

from equipoise.core import effects
from equipoise.core.model import DueIf, PlayerId, PlayerSummary, RoundId, Side, Split, SplitCache
from equipoise.core.phrases import Text
from equipoise.core.rules import Level
from equipoise.wire import orders
from equipoise.wire.orders import RoundStatus
from equipoise.wire.scalars import TF2, Game

LIMIT = 16 * 1024
"""Bytes. sm-ripext cuts off bodies from this size on (its issues 57 and 63)."""

_ANY = frozenset({DueIf(Side.A), DueIf(Side.B), DueIf(None)})


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a batch, before it is encoded in the words of the script's game."""

    orders: tuple[effects.Order, ...] = ()
    rounds: Mapping[RoundId, RoundStatus] = field(default_factory=dict)
    summaries: tuple[PlayerSummary, ...] = ()
    pending: bool = False
    reason: Text | None = None
    due_if: tuple[DueIf, ...] = ()
    """Outcomes that would make a scramble due. Every outcome is written as the three without `shutout`."""
    cache: SplitCache | None = None
    want: tuple[Literal["hello", "roster"], ...] = ()
    enabled: bool = True
    level: Level = "balance"
    level_reason: str = ""
    """The key of the configuration that set the level; empty where none matched the map."""
    next: float = 5.0
    stale: str = ""
    """Why only the rounds of the batch were taken; empty: all of it was."""


def encode_reply(reply: Reply, game: Game = TF2) -> bytes:
    """The answer to a batch, sides in the game's words, below `LIMIT` bytes.

    What does not fit is left out, least needed first: cached splits from the smallest team size up, players' summaries,
    lines of `tell`. Orders that move a player are never left out.
    """
    body = _encode(reply, game)
    while len(body) >= LIMIT and (smaller := _smaller(reply)) is not None:
        reply = smaller
        body = _encode(reply, game)
    return body


def encode_refusal(code: str, message: str, path: str | None = None) -> bytes:
    """The answer to a refused request; quotes from it are cut to 300 characters and made valid Unicode."""
    fault = orders.Fault(code, _quotable(message), UNSET if path is None else _quotable(path))
    return msgspec.json.encode(orders.Refusal(fault))


def _quotable(text: str) -> str:
    return text[:300].encode("utf-8", "replace").decode()


def _encode(reply: Reply, game: Game) -> bytes:
    if reply.stale:
        fault = orders.Fault("stale", f"{reply.stale}: only the rounds of this batch were taken")
        return msgspec.json.encode(orders.Refusal(fault, rounds=_rounds(reply)))
    return msgspec.json.encode(
        orders.Reply(
            orders=tuple(order(effect, game) for effect in reply.orders),
            rounds=_rounds(reply),
            players=tuple(map(player, reply.summaries)),
            pending=reply.pending,
            reason=None if reply.reason is None else text(reply.reason),
            due_if=due_if(reply.due_if, game),
            cache=UNSET if reply.cache is None else cache(reply.cache),
            want=reply.want,
            enabled=reply.enabled,
            level=reply.level,
            level_reason=reply.level_reason,
            next=float(reply.next),
        )
    )


def _rounds(reply: Reply) -> orders.Rounds:
    return {str(round_id): kept for round_id, kept in reply.rounds.items()}


def _smaller(reply: Reply) -> Reply | None:
    """The reply without its least needed part; None when nothing more can be left out."""
    if reply.cache is not None and reply.cache.splits:
        # The largest size is the one that the script needs first.
        return replace(reply, cache=replace(reply.cache, splits=reply.cache.splits[1:]))
    if reply.summaries:
        return replace(reply, summaries=reply.summaries[: len(reply.summaries) // 2])
    long = [n for n, effect in enumerate(reply.orders) if isinstance(effect, effects.Tell) and effect.lines]
    if not long:
        return None
    # Half of them at a time: a batch may have 256 commands, and each step encodes the whole reply.
    cut = frozenset(long[: (len(long) + 1) // 2])
    return replace(
        reply, orders=tuple(_halved(effect) if n in cut else effect for n, effect in enumerate(reply.orders))
    )


def _halved(each: effects.Order) -> effects.Order:
    assert isinstance(each, effects.Tell)
    return replace(each, lines=each.lines[: len(each.lines) // 2])


def order(each: effects.Order, game: Game) -> orders.AnyOrder:
    """An order, its sides in the game's words."""
    match each:
        case effects.Assign(order_id, reason, split, moment, purpose):
            return orders.Assign(order_id, text(reason), split.a, split.b, split.bench, moment.value, purpose.value)
        case effects.Move(order_id, reason, player, side, deadline, quiet):
            return orders.Move(order_id, text(reason), player, game.word(side), float(deadline), float(quiet))
        case effects.Cancel() | effects.Unlock():
            return each
        case effects.Place(player, side, reason):
            return orders.Place(player, game.word(side), text(reason))
        case effects.Lock(player, side, seconds):
            return orders.Lock(player, game.word(side), 0.0 if seconds is None else float(seconds))
        case effects.OpenVote(order_id, seconds, fraction, question):
            return orders.Vote(order_id, float(seconds), float(fraction), text(question))
        case effects.Say(said):
            return orders.Say(text(said))
        case effects.Tell(player, lines):
            return orders.Tell(player or "", tuple(text(line) for line in lines))
        case _:
            assert_never(each)


def player(summary: PlayerSummary) -> orders.PlayerSummary:
    """A player's rating, and where the rating system distinguishes them the skills by side and as a commander."""
    skills: dict[str, float] | UnsetType = UNSET
    if summary.skills is not None:
        skills = {side: skill.value for side, skill in summary.skills.sides.items()}
        skills["commander"] = summary.skills.commander.value
    deviation = UNSET if summary.deviation is None else summary.deviation
    rating = float(summary.rating)
    return orders.PlayerSummary(summary.id, rating, summary.rounds, summary.visible, deviation, skills)


def text(said: Text) -> orders.Text:
    """A phrase as its key and arguments, which the script translates."""
    return orders.Text(said.phrase.key, tuple(text(arg) if isinstance(arg, Text) else arg for arg in said.args))


def due_if(outcomes: tuple[DueIf, ...], game: Game) -> tuple[str, ...]:
    """Outcomes as words: a side, "none", a side with ":0" for a shutout, "any" for every outcome.

    >>> due_if((DueIf(Side.A, shutout=True), DueIf(None)), TF2)
    ('red:0', 'none')
    """
    if set(outcomes) >= _ANY:
        return ("any",)
    return tuple(game.word(outcome.winner) + (":0" if outcome.shutout else "") for outcome in outcomes)


def cache(kept: SplitCache) -> orders.Cache:
    """All ids once, and per split one letter for each id."""
    return orders.Cache(kept.ids, tuple(_letters(kept.ids, split) for split in kept.splits))


def _letters(ids: tuple[PlayerId, ...], split: Split) -> str:
    letters = dict.fromkeys(split.a, "A") | dict.fromkeys(split.b, "B")
    return "".join([letters.get(player, "-") for player in ids])
