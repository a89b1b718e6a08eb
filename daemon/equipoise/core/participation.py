"""Which rounds are rated, which players are rated for them, and on which side.

What counts as taking part depends on the mode. In arena no player joins a running round, so the lineup counts, except
for players who left before they fought. In other TF2 modes a player who fought counts, however late they joined. In
NS2 any time on a side counts, on the field or in the chair.
"""

from __future__ import annotations

from collections.abc import Mapping

from equipoise.core.effects import RecordRound
from equipoise.core.model import MOST_PLAYERS, Mode, Participant, PlayerId, Presence, Round, Side, is_bot
from equipoise.core.phrases import Phrase
from equipoise.core.rules import Rules, level_of

END_SECONDS = 0.5
"""Who played until so shortly before a round's end was there: NS2 ends it 0.75 s after a side lost its last player."""


def recorded(game_round: Round, rules: Rules, skill_at_start: Mapping[PlayerId, float] | None = None) -> RecordRound:
    """Return the effect that stores a round: with the players who are rated for it, or why it is not rated."""
    players = participants(game_round)
    reason = _why_unrated(game_round, players, rules)
    return RecordRound(game_round, () if reason else players, reason, skill_at_start)


def participants(game_round: Round) -> tuple[Participant, ...]:
    """The players who took part, in the script's order; bots never do."""
    took_part = _TOOK_PART.get(game_round.mode, _fought)
    lineup = frozenset(player.id for player in game_round.lineup)
    return tuple(
        Participant(
            presence.id, _side(presence), presence.seconds_a, presence.seconds_b, presence.spans, presence.counts
        )
        for presence in game_round.presences
        if not is_bot(presence.id) and took_part(presence, lineup)
    )


def winners(game_round: Round) -> tuple[PlayerId, ...]:
    """The participants of the side that won; in NS2 alone they are needed."""
    if game_round.mode is not Mode.NS2 or game_round.winner is None:
        return ()
    won = tuple(participant.id for participant in participants(game_round) if participant.side is game_round.winner)
    # Kept in the memory, which is written with every round: a script cannot make it large.
    return won[:MOST_PLAYERS]


def _side(presence: Presence) -> Side:
    """The side on which a player spent more time; ties go to the side at the end."""
    if presence.seconds_a == presence.seconds_b:
        return presence.side
    return Side.A if presence.seconds_a > presence.seconds_b else Side.B


def _played_arena(presence: Presence, lineup: frozenset[PlayerId]) -> bool:
    return presence.id in lineup and (presence.fought or not presence.left)


def _fought(presence: Presence, lineup: frozenset[PlayerId]) -> bool:
    return presence.fought


def _was_on_a_side(presence: Presence, lineup: frozenset[PlayerId]) -> bool:
    return presence.seconds_a + presence.seconds_b > 0


_TOOK_PART = {Mode.ARENA: _played_arena, Mode.NS2: _was_on_a_side}


def spoiled(game_round: Round) -> Phrase | None:
    """Why a round that was played to its end says nothing of its players; None: it does."""
    if game_round.cheats:
        return Phrase.UNRATED_CHEATS
    humans = [human for human in game_round.presences if not is_bot(human.id)]
    sides = {span.side for human in humans for span in human.spans if span.end >= game_round.seconds - END_SECONDS}
    # Without the spans of all of them nobody knows who was there at the end.
    has_spans = bool(humans) and all(human.spans for human in humans)
    return Phrase.UNRATED_EMPTIED if has_spans and sides != set(Side) else None


def _why_unrated(game_round: Round, rated: tuple[Participant, ...], rules: Rules) -> str | None:
    # The first reason that holds is the one that is stored: what
    # the operator decided, then what the round is, then who played.
    if (level := level_of(game_round.map, rules.maps)).level == "off":
        return f"maps.{level.reason} is off"
    if game_round.waiting:
        return "inside Waiting For Players"
    if game_round.partial:
        return "not seen going live"
    if game_round.mode is Mode.NS2 and game_round.seconds < rules.ns2_min_seconds:
        return f"shorter than {rules.ns2_min_seconds:g} s"
    if reason := spoiled(game_round):
        return reason.value
    # An empty lineup counts like one of bots: nobody was rated on that side from the start.
    for side in Side:
        if all(is_bot(player) for player in game_round.lineup_of(side)):
            return f"no human in the lineup of side {side.value}"
        if not any(participant.side is side for participant in rated):
            return f"no participant on side {side.value}"
    if len(rated) < (least := rules.least_humans(game_round.mode)):
        return f"{len(rated)} participants, fewer than {least}"
    return None
