"""Decode what scripts and programs send, and encode the answers, below the size that scripts' HTTP library reads whole.

msgspec checks shapes and ranges in one pass. What one field alone cannot show, such as a player who is listed twice, is
checked when the values of the core are made. A message that does not fit is refused with its JSON path.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar, assert_never
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import UNSET, UnsetType

from equipoise.core import effects
from equipoise.core.events import ScriptEvent
from equipoise.core.model import DueIf, PlayerId, PlayerSummary, RoundId, ServerId, Side, Split, SplitCache
from equipoise.core.phrases import Text
from equipoise.core.rules import Level
from equipoise.errors import ScriptError
from equipoise.wire import batches, orders, scalars
from equipoise.wire.batches import Here, player_id
from equipoise.wire.orders import RoundStatus
from equipoise.wire.scalars import TF2, Game

T = TypeVar("T")

MOST_DIGITS = 400
"""Of an integer. A double ends at 309 digits, and Python reads no integer of more than 4300."""

MOST_FIELDS = 8
"""Of a form."""
MOST_SECRET = 4096
"""Bytes of a form's secret, as it is quoted."""

_PATH = re.compile(r"(.*) - at `(.*)`", re.DOTALL)
"""msgspec's error texts end with the path, unless the error concerns the whole body."""

_EVENT = re.compile(r"\$\.events\[(\d+)\]")
_KIND = re.compile(rb'"kind"\s*:\s*"([\w.-]{1,64})"', re.ASCII)

CHARSETS = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})
"""Names of encodings that a form may declare: UTF-8 reads all of them."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Events of one script in order; batches are numbered within a boot."""

    server: ServerId
    boot: int
    seq: int
    at: float
    """The script's monotonic clock, seconds."""
    events: tuple[ScriptEvent, ...]
    dropped: int = 0
    names: Mapping[PlayerId, str] = field(default_factory=dict)
    """Names of joining players, where the script sent them."""
    plugin: str | None = None
    """The script's version, when the batch holds a hello."""
    unranked: str = ""
    """With a hello: why the game does not rank its rounds; empty: it does, or that is not known."""


def decode_batch(body: bytes) -> Batch:
    """A posted batch. ScriptError 400 when the body is not JSON, 422 with the path when it is not a batch."""
    return batch_of(decode_as(body, batches.Batch))


def batch_of(posted: batches.Batch) -> Batch:
    """The core's values of a well-formed batch. ScriptError where parts of an event contradict each other."""
    server = ServerId(str(posted.server))
    # One script, one version: each hello of a batch says the same.
    hello = next((event for event in posted.events if isinstance(event, batches.Hello)), None)
    return Batch(
        server=server,
        boot=posted.boot,
        seq=posted.seq,
        at=posted.at,
        events=tuple(_fact(event, Here(server, f"$.events[{n}]", posted.at)) for n, event in enumerate(posted.events)),
        dropped=posted.dropped,
        names=dict(_names(posted)),
        plugin=str(hello.plugin) if hello else None,
        unranked=hello.unranked if hello else "",
    )


def _fact(event: batches.AnyEvent, here: Here) -> ScriptEvent:
    if isinstance(event, batches.ScriptEvent):
        return event.fact(here)
    # These events are the core's own structs, which know no batch.
    return event if event.at is not None else msgspec.structs.replace(event, at=here.at)


def _names(posted: batches.Batch) -> Iterator[tuple[PlayerId, str]]:
    for event in posted.events:
        if isinstance(event, batches.PlayerJoined) and event.name:
            yield player_id(event.id), str(event.name)


def kinds_of(posted: batches.Batch) -> list[str]:
    """The kinds of a batch's events, in their order."""
    return [str(type(event).__struct_config__.tag) for event in posted.events]


def at_fault(kinds: Sequence[str], path: str | None) -> tuple[str, ...]:
    """Return the kinds of events that may be at fault in a refused batch: the one at the path, else all.

    >>> at_fault(["heartbeat", "roster"], "$.events[1].players"), at_fault(["heartbeat", "roster"], "$.at")
    (('roster',), ('heartbeat', 'roster'))
    """
    place = _EVENT.match(path or "")
    return tuple(kinds[int(place[1]) :][:1] if place else dict.fromkeys(kinds))


def decode_as(body: bytes, kind: type[T]) -> T:
    """A message of any kind of struct. ScriptError 400 when the body is not JSON, 422 with the path otherwise."""
    try:
        return msgspec.json.decode(body, type=kind, dec_hook=scalars.read)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return _read_again(body, kind, error)


def _read_again(body: bytes, kind: type[T], error: Exception) -> T:
    """A message with whole numbers as Lua may write them, 17.0; a ScriptError says what in another does not fit.

    The standard library accepts NaN and Infinity: scripts write them by accident, and their authors are helped by the
    path more than by "not JSON".
    """
    refusal = ScriptError("json", f"this is no JSON as we read it: {error}", status=400)
    try:
        plain = json.loads(body, parse_int=_bounded, parse_float=_number)
        message = msgspec.convert(plain, type=kind, dec_hook=scalars.read)
        # What is no JSON is refused, also where this version reads no field.
        msgspec.json.decode(body)
        return message
    except msgspec.ValidationError as invalid:
        match = _PATH.fullmatch(str(invalid))
        refusal = ScriptError("schema", match[1] if match else str(invalid), path=match[2] if match else "$")
    except (msgspec.DecodeError, UnicodeError):
        pass
    except (ValueError, RecursionError) as malformed:
        refusal = ScriptError("json", f"this is no JSON: {malformed}", status=400)
    if kind is batches.Batch:
        # Only an event has a `kind`; a body that is no JSON shows its own as well as any other.
        refusal.kinds = at_fault([match.decode() for match in _KIND.findall(body)], refusal.path)
    raise refusal from None


def _bounded(digits: str) -> int | float:
    """An integer; infinity for one with too many digits, which is then refused like any number out of its range."""
    return int(digits) if len(digits) < MOST_DIGITS else float(digits)


def _number(digits: str) -> int | float:
    """A number with a point or an exponent; an integer where it is whole and a double counts so far."""
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) <= 2**53 else number


def split_form(body: bytes, charset: str = "utf-8") -> tuple[str, bytes]:
    """The fields `secret` and `data` of a form, the latter still quoted. ScriptError 400 when there are no such fields.

    To unquote 256 KB takes 20 ms, in which no other caller is answered: the secret is checked before.

    >>> split_form(b"secret=s%21&data=%7B%7D")
    ('s!', b'%7B%7D')
    """
    if charset.lower() not in CHARSETS:
        raise ScriptError("charset", "a form is read as UTF-8 only", status=400)
    pairs = [pair.partition(b"=") for pair in body.split(b"&", MOST_FIELDS) if pair]
    fields = {name: value for name, _, value in pairs}
    if len(pairs) > MOST_FIELDS or len(fields) < len(pairs) or not fields.keys() >= {b"secret", b"data"}:
        raise ScriptError("form", "a form needs the fields secret and data, once each", status=400)
    if len(fields[b"secret"]) > MOST_SECRET:
        raise ScriptError("form", f"a secret has at most {MOST_SECRET} bytes", status=400)
    return unquoted(fields[b"secret"]).decode(), fields[b"data"]


def unquoted(value: bytes) -> bytes:
    """The value of a form's field. ScriptError 400 when it is not UTF-8.

    >>> unquoted(b"%7B+%7D")
    b'{ }'
    """
    plain = unquote_to_bytes(value.replace(b"+", b" "))
    try:
        plain.decode()
    except UnicodeDecodeError:
        raise ScriptError("form", "this is no form of UTF-8 text", status=400) from None
    return plain


# Answers.

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
