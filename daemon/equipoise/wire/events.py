"""The batch as a game script writes it: one struct per kind of event, which makes the event of the core.

Only what a newer script may add is ignored: unknown fields. An unknown kind of event is refused.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, field

from equipoise.core import events as core
from equipoise.core.model import OrderId, RoundId, Split
from equipoise.wire.games import GAMES, SIDES, Facts, GameName, SideWord
from equipoise.wire.people import (
    Here,
    Ids,
    OnSide,
    Players,
    ScriptEvent,
    Stayed,
    player_id,
    refuse_twice,
    roster,
    stayed,
)
from equipoise.wire.rounds import RoundEnded
from equipoise.wire.scalars import Caller, Count, Line, MapName, Ordinal, Player, Seconds, Version, Word

MOST_EVENTS = 256
"""Events of one batch."""

Wanted = SideWord | Literal["any"]

InactiveReason = Literal["", "mvm", "tournament", "training", "mannpower", "hell", "shuffle", "damaged"]
"""What a script finds in the game's own rules, and NS2's also in other mods: `shuffle` is one that shuffles teams
itself, `damaged` that files of the script are cut. Maps by name are the daemon's (`core.rules`)."""


class Hello(ScriptEvent, frozen=True, tag="hello", kw_only=True):
    """A script introduces itself; `plugin` goes beside the event, `slots` is for later use."""

    plugin: Word
    """The script's version."""
    game: GameName
    """Which game it is."""
    map: MapName
    """The map's name."""
    session: Word
    """Names one map on one server."""
    phase: core.Phase
    """The phase of the round."""
    slots: Count = field(default_factory=Count)
    """Places for players on the server."""
    waiting: bool = False
    """Waiting For Players is on."""
    late: bool = False
    """The script was loaded in the middle of a map."""
    due: bool = False
    """Waiting For Players ended while the daemon did not answer, and its scramble was not carried out."""
    inactive_reason: InactiveReason = ""
    """Why the script gives no orders on this map, by the game's own rules; empty: it does."""
    facts: Facts = field(default_factory=Facts)
    """Facts of the map's rules, as the script knows them."""

    def fact(self, here: Here) -> core.Hello:
        return core.Hello(
            at=self.time(here),
            session=str(self.session),
            map=str(self.map),
            mode=GAMES[self.game].mode(self.facts),
            phase=self.phase,
            waiting=self.waiting,
            late=self.late,
            due=self.due,
            inactive_reason=self.inactive_reason,
        )


class RosterSeen(ScriptEvent, frozen=True, tag="roster", kw_only=True):
    """Every connected client; replaces what the daemon knew of the roster."""

    players: Players
    """Every connected client."""
    ends_in: Seconds | None = None
    """Seconds to a known end of the round."""
    moves: Literal["yes", "no"] = "yes"
    """Whether players may be moved in the running round now."""
    moves_reason: Word | None = None
    """Why players may not be moved now: a word of docs/protocol.md."""

    def fact(self, here: Here) -> core.RosterSeen:
        no_moves = str(self.moves_reason or "no") if self.moves == "no" else ""
        return core.RosterSeen(self.time(here), roster(self.players, here), self.ends_in, no_moves)


class PlayerJoined(ScriptEvent, frozen=True, tag="player_joined", kw_only=True):
    """A player is connected and authorised; `name` goes beside the event."""

    id: Player
    name: Line = field(default_factory=Line)
    """The name that the player uses."""

    def fact(self, here: Here) -> core.PlayerJoined:
        return core.PlayerJoined(self.time(here), player_id(self.id))


class PlayerLeft(ScriptEvent, frozen=True, tag="player_left", kw_only=True):
    """A player disconnected from the server."""

    id: Player

    def fact(self, here: Here) -> core.PlayerLeft:
        return core.PlayerLeft(self.time(here), player_id(self.id))


class SideChanged(ScriptEvent, frozen=True, tag="side_changed", kw_only=True):
    """A player changed side, left their side to watch or wait, or became ready."""

    id: Player
    side: OnSide
    """Where they are."""
    waiting: bool = False
    """Wants to play but has no side."""
    ready: bool = True
    """The player has chosen a class, or the script keeps a choice for them."""
    held: Word | None = None
    """Why nobody may move the player: a word of docs/protocol.md."""

    def fact(self, here: Here) -> core.SideChanged:
        id, side = player_id(self.id), SIDES.get(self.side)
        return core.SideChanged(self.time(here), id, side, self.waiting, self.ready, str(self.held or ""))


class SideWanted(ScriptEvent, frozen=True, tag="side_wanted", kw_only=True):
    """A player asks for a side."""

    id: Player
    side: Wanted
    """Which side they ask for; `any`: whichever the daemon says."""

    def fact(self, here: Here) -> core.SideWanted:
        return core.SideWanted(self.time(here), player_id(self.id), SIDES.get(self.side))


class SidesSwitched(ScriptEvent, frozen=True, tag="sides_switched", kw_only=True):
    """The game swapped the sides."""

    def fact(self, here: Here) -> core.SidesSwitched:
        return core.SidesSwitched(self.time(here))


class WaitingEnded(ScriptEvent, frozen=True, tag="waiting_ended", kw_only=True):
    """Waiting For Players is over. Arena never sends it."""

    def fact(self, here: Here) -> core.WaitingEnded:
        return core.WaitingEnded(self.time(here))


class RoundStarted(ScriptEvent, frozen=True, tag="round_started", kw_only=True):
    """Freeze or setup time began."""

    players: Players
    """Every connected client."""

    def fact(self, here: Here) -> core.RoundStarted:
        return core.RoundStarted(self.time(here), roster(self.players, here))


class RoundLive(ScriptEvent, frozen=True, tag="round_live", kw_only=True):
    """The round goes live; `players` holds its lineup."""

    round: Word
    players: Players
    """Every connected client; those on a side are the lineup."""

    def fact(self, here: Here) -> core.RoundLive:
        return core.RoundLive(self.time(here), RoundId(str(self.round)), roster(self.players, here))


class RoundAborted(ScriptEvent, frozen=True, tag="round_aborted", kw_only=True):
    """NS2: what `round_started` began ended without a round."""

    def fact(self, here: Here) -> core.RoundAborted:
        return core.RoundAborted(self.time(here))


class ScrambledAlone(ScriptEvent, frozen=True, tag="scrambled_alone", kw_only=True):
    """A cached split was applied while the daemon did not answer."""

    red: Ids
    """Who went to side A."""
    blu: Ids
    """Who went to side B."""
    bench: Ids = ()
    """Players who sit out."""

    def fact(self, here: Here) -> core.ScrambledAlone:
        parts = {"red": self.red, "blu": self.blu, "bench": self.bench}
        refuse_twice((id, f"{here.path}.{part}[{n}]") for part, ids in parts.items() for n, id in enumerate(ids))
        a, b, bench = (tuple(player_id(id) for id in ids) for ids in parts.values())
        return core.ScrambledAlone(self.time(here), Split(a, b, bench))


class OrderDone(ScriptEvent, frozen=True, tag="order_done", kw_only=True):
    """The script has carried out an order of this id."""

    order: Word
    stayed: Stayed = ()
    """Players whom the order names and who could not be moved."""

    def fact(self, here: Here) -> core.OrderDone:
        return core.OrderDone(self.time(here), OrderId(str(self.order)), stayed(self.stayed, here))


class OrderFailed(ScriptEvent, frozen=True, tag="order_failed", kw_only=True):
    """An order could not be carried out; `reason` is one of the words in docs/protocol.md."""

    order: Word
    reason: Word
    """A short word of docs/protocol.md."""
    stayed: Stayed = ()
    """Players whom the order names and who could not be moved."""

    def fact(self, here: Here) -> core.OrderFailed:
        order = OrderId(str(self.order))
        return core.OrderFailed(self.time(here), order, str(self.reason), stayed(self.stayed, here))


class VoteEnded(ScriptEvent, frozen=True, tag="vote_ended", kw_only=True):
    """A vote is over, with the votes cast."""

    order: Word
    yes: Count
    """Votes for it."""
    no: Count
    """Votes against it."""

    def fact(self, here: Here) -> core.VoteEnded:
        return core.VoteEnded(self.time(here), OrderId(str(self.order)), int(self.yes), int(self.no))


class Commanded(ScriptEvent, frozen=True, tag="command", kw_only=True):
    """A player, or the server's console if `by` is empty, typed a command."""

    words: Annotated[tuple[Line, ...], Meta(min_length=1, max_length=16)]
    """The command and its arguments."""
    by: Caller
    """The player who typed it; empty for the server's console."""
    admin: bool = False
    """The script vouches that this player is an admin."""

    def fact(self, here: Here) -> core.Commanded:
        words = tuple(str(word) for word in self.words)
        return core.Commanded(self.time(here), words, player_id(self.by) if self.by else None, self.admin)


class Heartbeat(ScriptEvent, frozen=True, tag="heartbeat", kw_only=True):
    """The script is alive and nothing happened."""

    def fact(self, here: Here) -> core.Heartbeat:
        return core.Heartbeat(self.time(here))


AnyEvent = (
    Hello
    | RosterSeen
    | PlayerJoined
    | PlayerLeft
    | SideChanged
    | SideWanted
    | SidesSwitched
    | WaitingEnded
    | RoundStarted
    | RoundLive
    | RoundAborted
    | RoundEnded
    | ScrambledAlone
    | OrderDone
    | OrderFailed
    | VoteEnded
    | Commanded
    | Heartbeat
)


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Events of one script in order, with the number of the batch within the boot."""

    v: Version
    """Version of the protocol."""
    server: Word
    boot: Count
    """Names one start of the script: a number that no other start ever had."""
    seq: Ordinal
    """Number of the batch within the boot."""
    at: Seconds
    """When it was made, in seconds of the script's monotonic clock."""
    dropped: Count = field(default_factory=Count)
    """Finished rounds that fell out of the script's full ring since the last answered batch."""
    events: Annotated[tuple[AnyEvent, ...], Meta(max_length=MOST_EVENTS)]
    """The events, in order."""
