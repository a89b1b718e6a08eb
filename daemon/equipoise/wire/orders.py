"""The answer as a game script reads it: one struct per kind of order, and the reply around them.

What an order means is said once, in `core.effects`; orders without sides and texts are the core's own.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from equipoise.core.effects import Cancel, ScriptOrder, Unlock
from equipoise.core.rules import Level

RoundStatus = Literal["stored", "kept"]
"""In the database, or in the ring's file and waiting for the database."""


class Text(msgspec.Struct, frozen=True):
    """A phrase that the script translates.

    An argument `@<id>` is shown as that player's name, one that is a text itself in the reader's language. The phrases
    of older scripts have no place for such an argument, and read well without it.
    """

    phrase: str
    """The key of the text in the translation files."""
    args: tuple[str | Text, ...]
    """Arguments of the phrase, in order; `@<id>` is shown as that player's name."""


class Assign(ScriptOrder, frozen=True, tag="assign"):
    """A whole split, as ids per side; the fields have TF2's side words in both games."""

    order: str
    reason: Text
    """Why, as a text for players."""
    red: tuple[str, ...]
    """Who goes to side A."""
    blu: tuple[str, ...]
    """Who goes to side B."""
    bench: tuple[str, ...]
    """Players who sit out."""
    moment: Literal["freeze", "now"]
    """`freeze`: only before the round goes live; `now`: at once."""
    purpose: Literal["duel", "scramble", "equal_sides", "too_uneven", "shuffle"]
    """Of a scramble or shuffle all players read the reason when it is done; of the others, only those who are moved."""


class Move(ScriptOrder, frozen=True, tag="move"):
    """Move a player when they are next dead; after `deadline` seconds from the reply even alive."""

    order: str
    reason: Text
    """Why, as a text for players."""
    id: str
    side: str
    """Where they go."""
    deadline: float
    """Seconds after which the player is moved even alive."""
    quiet: float
    """Not in the last so many seconds of a round whose end is known."""


class Place(ScriptOrder, frozen=True, tag="place"):
    """The answer to `side_wanted`; side "none": the player waits."""

    id: str
    side: str
    """Where they go; `none`: they wait."""
    reason: Text
    """Why, as a text for players."""


class Lock(ScriptOrder, frozen=True, tag="lock"):
    """Keep a player on a side for `seconds`; 0: until the next scramble."""

    id: str
    side: str
    """Where they stay."""
    seconds: float
    """How long; 0: until the next scramble."""


class Vote(ScriptOrder, frozen=True, tag="vote"):
    """Have the players vote on a scramble for `seconds`."""

    order: str
    seconds: float
    """How long players may vote."""
    fraction: float
    """Part of the votes cast with which it passes, as the game's own panel shows it."""
    text: Text
    """What they are asked."""


class Say(ScriptOrder, frozen=True, tag="say"):
    """A line for every player."""

    text: Text
    """The text."""


class Tell(ScriptOrder, frozen=True, tag="tell"):
    """Lines for one player; an empty id: for the console."""

    id: str
    """The player; empty: the server's console."""
    lines: tuple[Text, ...]
    """Texts, in order."""


AnyOrder = Assign | Move | Cancel | Place | Lock | Unlock | Vote | Say | Tell


class PlayerSummary(msgspec.Struct, frozen=True):
    """A player's rating in the pool, and whether it may be shown."""

    id: str
    rating: float
    """The rating, in points."""
    rounds: int
    """Rated rounds so far."""
    visible: bool
    """The rating may be shown."""
    deviation: float | UnsetType = UNSET
    """The standard deviation of the skill; where the rating system knows it."""
    skills: dict[str, float] | UnsetType = UNSET
    """Points on each side's field by its name, and as `commander`; where the rating system distinguishes them."""


class Cache(msgspec.Struct, frozen=True):
    """The script's fallback: ids strongest first, and per split one of `A`, `B`, `-` for each id."""

    ids: tuple[str, ...]
    """Players, strongest first."""
    splits: tuple[str, ...]
    """Per split one of `A`, `B` and `-` (bench) for each of `ids`."""


Rounds = dict[str, RoundStatus]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a batch, as JSON; `encode.Reply` is its content in the core's types."""

    ok: Literal[True] = True
    """Whether the request was accepted."""
    orders: tuple[AnyOrder, ...]
    """What to do, in order."""
    rounds: Rounds
    """Per round of this batch: `stored`, or `kept` in the daemon's ring."""
    players: tuple[PlayerSummary, ...]
    """Those who joined in this batch or were rated by it."""
    pending: bool
    """Whether a scramble is due and not carried out yet."""
    reason: Text | None
    """Why a scramble is pending; null when none is."""
    due_if: tuple[str, ...]
    """Outcomes of the running round that would make a scramble due."""
    cache: Cache | UnsetType = UNSET
    """Splits to fall back on while the daemon does not answer; only when they changed."""
    want: tuple[Literal["hello", "roster"], ...]
    """Events that the script sends next."""
    enabled: bool
    """False while an admin has switched Equipoise off on this server."""
    level: Level
    """How far to go on this map."""
    level_reason: str
    """The key of [maps] that matched the map; empty when none did."""
    next: float
    """Call again after this many seconds at the latest."""


class Fault(msgspec.Struct, frozen=True):
    """Why a request was refused."""

    code: str
    """The kind of refusal: a word of docs/protocol.md."""
    message: str
    """The reason in words, for people."""
    path: str | UnsetType = UNSET
    """The JSON path of what was refused."""


class Refusal(msgspec.Struct, frozen=True):
    """The answer to a refused request."""

    error: Fault
    """Why it was refused."""
    ok: Literal[False] = False
    """Whether the request was accepted."""
    rounds: Rounds | UnsetType = UNSET
    """What became of the rounds of a stale batch, as in a reply."""
