"""A finished round as a script reports it: everything that rating it needs, in one event."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from equipoise.core import events as core
from equipoise.core.model import MOST_PLAYERS, Mode, PlayerId, Round, RoundId, is_bot
from equipoise.errors import ScriptError
from equipoise.wire.games import GAMES, SIDES, Facts, GameName
from equipoise.wire.people import (
    Captures,
    Here,
    Ids,
    LineupLine,
    OnSide,
    PresenceLine,
    ScriptEvent,
    player_id,
    refuse_spans,
    refuse_twice,
)
from equipoise.wire.scalars import MapName, Seconds, Word


class RoundEnded(ScriptEvent, frozen=True, tag="round_ended", kw_only=True):
    """A full round with all that rating it needs; the fields are those of docs/protocol.md."""

    round: Word
    session: Word
    """Names one map on one server."""
    map: MapName
    """The map's name."""
    game: GameName
    """Which game it is."""
    facts: Facts = field(default_factory=Facts)
    """Facts of the map's rules, as the script knows them."""
    started_at: Seconds
    """When the round went live, in seconds since the epoch."""
    seconds: Seconds
    """From live to the end."""
    winner: OnSide
    """The side that won; `none`: a stalemate."""
    captures: Captures = field(default_factory=Captures)
    """Captures of each side, over all stages."""
    partial: bool = False
    """The script did not see the round go live."""
    waiting: bool = False
    """It was played inside Waiting For Players."""
    cheats: bool = False
    """They were on at some time while it was played."""
    lineup: Annotated[tuple[LineupLine, ...], Meta(max_length=MOST_PLAYERS)]
    """Who stood on the sides when the round went live."""
    players: Annotated[tuple[PresenceLine, ...], Meta(max_length=MOST_PLAYERS)]
    """Every human who was on a side at any time; in NS2 every bot too."""
    squads: Annotated[tuple[Ids, ...], Meta(max_length=MOST_PLAYERS)] = ()
    """Friends who play together."""

    def fact(self, here: Here) -> core.RoundEnded:
        return core.RoundEnded(self.time(here), self.finished(here))

    def finished(self, here: Here) -> Round:
        """The round.

        ScriptError when a player is twice in its lineup, among its players or in its squads, and for wrong spans.
        """
        refuse_twice((seat.id, f"{here.path}.lineup[{n}].id") for n, seat in enumerate(self.lineup))
        refuse_twice((line.id, f"{here.path}.players[{n}].id") for n, line in enumerate(self.players))
        refuse_twice(
            (id, f"{here.path}.squads[{n}][{m}]") for n, ids in enumerate(self.squads) for m, id in enumerate(ids)
        )
        mode = GAMES[self.game].mode(self.facts)
        for n, line in enumerate(self.players):
            path = f"{here.path}.players[{n}].spans"
            if line.spans and mode is not Mode.NS2:
                raise ScriptError("spans", f"rounds of the game {self.game} have no spans, only seconds", path=path)
            refuse_spans(line.spans, self.seconds, path)
        return Round(
            id=RoundId(str(self.round)),
            server=here.server,
            session=str(self.session),
            map=str(self.map),
            mode=mode,
            started_at=self.started_at,
            seconds=self.seconds,
            winner=SIDES.get(self.winner),
            lineup=tuple(seat.seat() for seat in self.lineup),
            presences=tuple(line.presence() for line in self.players),
            captures_a=int(self.captures.red),
            captures_b=int(self.captures.blu),
            partial=self.partial,
            waiting=self.waiting,
            cheats=self.cheats,
            squads=self._squads(),
            bots=tuple(span.span() for line in self.players if is_bot(player_id(line.id)) for span in line.spans),
        )

    def _squads(self) -> tuple[tuple[PlayerId, ...], ...]:
        """The squads as far as they played: of two humans or more."""
        played = {player_id(line.id) for line in self.players}
        squads = (tuple(id for id in map(player_id, ids) if id in played and not is_bot(id)) for ids in self.squads)
        return tuple(squad for squad in squads if len(squad) > 1)
